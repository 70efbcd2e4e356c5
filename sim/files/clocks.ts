import { since } from '../driver.ts';
import { MODELS, type ModelSpec } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { type Directory, WRITABLE } from './entry.ts';

/** Clock levels, performance level and limits. Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c, swsmu/{smu11,smu13}/*_ppt.c. */

export function clockFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const spec = MODELS[node.model];
  const { clock, link } = gpu.live;
  const modern = spec.family === 'mi300' || spec.family === 'mi350';
  const mode = modern ? WRITABLE : undefined;
  dir.raw('pp_dpm_sclk', gfxLevels(spec, gpu, modern), WRITABLE);
  dir.raw('pp_dpm_mclk', levelTable(spec.clocks.mem, clock.mem), mode);
  dir.raw('pp_dpm_socclk', levelTable(spec.clocks.soc, clock.soc, modern), mode);
  dir.raw('pp_dpm_fclk', levelTable(spec.clocks.fabric, clock.fabric), mode);
  if (spec.video) {
    dir.raw('pp_dpm_vclk', levelTable(spec.video.vclk, clock.vclk), mode);
    dir.raw('pp_dpm_dclk', levelTable(spec.video.dclk, clock.dclk), mode);
  }
  if (spec.family === 'mi100') {
    dir.raw('pp_dpm_pcie', `0: ${link.speed.toFixed(1)}GT/s, x${link.width} 619Mhz *\n`);
    dir.raw('pp_power_profile_mode', profileTable(gpu.settings.profile), WRITABLE);
  }
  dir.line('power_dpm_state', 'performance', WRITABLE);
  dir.line('power_dpm_force_performance_level', gpu.settings.level, WRITABLE);
  if (!modern) {
    dir.line('pp_sclk_od', 0, WRITABLE);
    dir.line('pp_mclk_od', 0, WRITABLE);
  }
  if (spec.family !== 'mi100') dir.raw('pp_od_clk_voltage', overdrive(node, spec, gpu), WRITABLE);
  dir.raw('pp_features', modern ? FEATURES.modern : FEATURES.older, WRITABLE);
  policyFiles(gpu, dir, modern, since(node.driver, 'linux-6.12') && spec.family !== 'mi100');
}

/** Below this the driver calls the clock a deep-sleep one. */
const DEEP_SLEEP_MHZ = 140;

/**
 * Lines `0: 500Mhz *`. A clock between two levels is starred on a line of its own, which moves the numbers behind it; a clock in deep
 * sleep comes first under the label `S`.
 */
export function levelTable(levels: readonly number[], current: number, sleeps = false): string {
  const rows = levels.map((mhz) => ({ mhz, star: mhz === current }));
  const asleep = sleeps && current < DEEP_SLEEP_MHZ;
  if (!asleep && !rows.some((row) => row.star))
    rows.splice(levels.length > 2 ? nearest(levels, current) : 1, 0, { mhz: current, star: true });
  const lines = rows.map((row, index) => `${index}: ${row.mhz}Mhz ${row.star ? '*' : ''}`);
  if (asleep) lines.unshift(`S: ${current}Mhz *`);
  return lines.map((line) => `${line}\n`).join('');
}

/** Where in an ascending list a clock between two levels belongs. */
function nearest(levels: readonly number[], current: number): number {
  const index = levels.findIndex((mhz) => mhz > current);
  return index < 0 ? levels.length : index;
}

/** MI200 and later show only the range that is set, with the clock of the first die between its ends. */
function gfxLevels(spec: ModelSpec, gpu: Gpu, modern: boolean): string {
  const current = gpu.live.clock.gfx[0] ?? 0;
  const fine = spec.family !== 'mi100';
  return levelTable(fine ? [gpu.settings.gfxMin, gpu.settings.gfxMax] : spec.clocks.gfx, current, modern);
}

/** Before 6.7 the MI200 printed its level lists here, under the names of the clocks. */
function overdrive(node: NodeDescription, spec: ModelSpec, gpu: Gpu): string {
  if (!since(node.driver, 'linux-6.12'))
    return `GFXCLK:\n${gfxLevels(spec, gpu, false)}MCLK:\n${levelTable(spec.clocks.mem, gpu.live.clock.mem)}`;
  const { gfxMin, gfxMax, memMax } = gpu.settings;
  return `OD_SCLK:\n0: ${gfxMin}Mhz\n1: ${gfxMax}Mhz\nOD_MCLK:\n0: ${spec.clocks.mem[0]}Mhz\n1: ${memMax}Mhz\n`;
}

export const SOC_PSTATES = ['soc_pstate_default', 'soc_pstate_0', 'soc_pstate_1', 'soc_pstate_2'];
export const PLPD = ['plpd_disallow', 'plpd_default', 'plpd_optimized'];

function policyFiles(gpu: Gpu, dir: Directory, modern: boolean, shown: boolean): void {
  if (!shown) return;
  const list = (names: readonly string[], current: number): string =>
    names.map((name, index) => `${index} : ${name}${index === current ? '*' : ''}\n`).join('');
  if (modern) dir.raw('pm_policy/soc_pstate', list(SOC_PSTATES, gpu.settings.socPstate), WRITABLE);
  dir.raw('pm_policy/xgmi_plpd', list(PLPD, gpu.settings.plpd), WRITABLE);
}

export const PROFILES: [number, string][] = [
  [0, 'BOOTUP_DEFAULT'],
  [2, 'POWER_SAVING'],
  [3, 'VIDEO'],
  [5, 'COMPUTE'],
  [6, 'CUSTOM'],
];

function profileTable(current: number): string {
  const head = 'PROFILE_INDEX(NAME) CLOCK_TYPE(NAME) FPS USE_RLC_BUSY MIN_ACTIVE_LEVEL';
  const rows = PROFILES.map(([index, name]) => {
    const title = `${String(index).padStart(2)} ${name.padStart(14)}${index === current ? '*' : ' '}:`;
    return `${title}\n                    0(       GFXCLK)       0       0       1\n                    2(         UCLK)       0       0       1`;
  });
  return `${[head, ...rows].join('\n')}\n`;
}

const FEATURES_MI200 = [
  ...[
    'DATA_READ',
    'DPM_GFXCLK',
    'DPM_UCLK',
    'DPM_SOCCLK',
    'DPM_FCLK',
    'DPM_LCLK',
    'DPM_XGMI',
    'DS_GFXCLK',
    'DS_SOCCLK',
  ],
  ...[
    'DS_LCLK',
    'DS_FCLK',
    'DS_UCLK',
    'GFX_SS',
    'DPM_VCN',
    'RSMU_SMN_CG',
    'WAFL_CG',
    'PPT',
    'TDC',
    'APCC_PLUS',
    'FAN_CONTROL',
  ],
];
const FEATURES_MI300 = [
  ...[
    'DATA_CALCULATION',
    'DPM_FCLK',
    'DPM_GFXCLK',
    'DPM_LCLK',
    'DPM_SOCCLK',
    'DPM_UCLK',
    'DPM_VCN',
    'DPM_XGMI',
    'DS_FCLK',
  ],
  ...[
    'DS_GFXCLK',
    'DS_LCLK',
    'DS_MP0CLK',
    'DS_MP1CLK',
    'DS_MPIOCLK',
    'DS_SOCCLK',
    'DS_VCN',
    'PPT',
    'THERMAL',
    'SOC_PCC',
  ],
];

/** None of these chips drives a fan: that one is off. */
function features(names: readonly string[]): string {
  const on = (name: string): boolean => name !== 'FAN_CONTROL';
  const mask = names.reduce((bits, name, bit) => (on(name) ? bits + 2 ** bit : bits), 0);
  const rows = names.map((name, bit) => {
    const number = String(bit).padStart(2, '0');
    return `${number}. ${name.padEnd(20)} (${String(bit).padStart(2)}) : ${on(name) ? 'enabled' : 'disabled'}`;
  });
  return [
    `features high: 0x00000000 low: 0x${mask.toString(16).padStart(8, '0')}`,
    'No. Feature               Bit : State',
    ...rows,
    '',
  ].join('\n');
}

const FEATURES = { modern: features(FEATURES_MI300), older: features(FEATURES_MI200) };
