import { since } from '../driver.ts';
import { MODELS, type TemperatureLimit } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import { secondCapOf } from '../settings.ts';
import { type Directory, WRITABLE } from './entry.ts';
import { devicePath, HWMON_CLASS } from './paths.ts';

/** Sensors in m°C, µW, Hz and mV. Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c. */

export function hwmonFiles(node: NodeDescription, gpu: Gpu, dir: Directory): void {
  const spec = MODELS[node.model];
  const { temperature, clock, voltage } = gpu.live;
  const modern = spec.family === 'mi300' || spec.family === 'mi350';
  dir.line('name', 'amdgpu');
  dir.link('device', devicePath(gpu));
  dir.link('subsystem', HWMON_CLASS);
  dir.raw('uevent', '', WRITABLE);
  if (spec.limits.edge) temperatureFiles(dir, 1, 'edge', temperature.edge, spec.limits.edge);
  temperatureFiles(dir, 2, 'junction', temperature.junction, spec.limits.junction);
  temperatureFiles(dir, 3, 'mem', temperature.mem, spec.limits.mem);
  powerFiles(node, gpu, dir, modern);
  frequency(dir, 1, 'sclk', clock.gfx[0] ?? 0);
  frequency(dir, 2, 'mclk', clock.mem);
  if (!modern) {
    dir.line('in0_input', voltage.gfx);
    dir.line('in0_label', 'vddgfx');
  }
  if (spec.family === 'mi350' && since(node.driver, 'linux-6.16')) {
    dir.line('in2_input', voltage.board);
    dir.line('in2_label', 'vddboard');
  }
}

/** What the driver prints where a sensor has no hysteresis: absolute zero. */
const NO_HYSTERESIS = -273_150;

function temperatureFiles(
  dir: Directory,
  number: number,
  label: string,
  celsius: number,
  limit: TemperatureLimit,
): void {
  dir.line(`temp${number}_input`, celsius * 1000);
  dir.line(`temp${number}_label`, label);
  dir.line(`temp${number}_crit`, limit.crit * 1000);
  dir.line(`temp${number}_crit_hyst`, NO_HYSTERESIS);
  dir.line(`temp${number}_emergency`, limit.emergency * 1000);
}

const microwatts = (watts: number): number => Math.round(watts * 1e6);

/** The secondary die has no power reading, and a cap of 0 that cannot be set. */
function powerFiles(node: NodeDescription, gpu: Gpu, dir: Directory, modern: boolean): void {
  const spec = MODELS[node.model];
  const secondary = gpu.die === 'secondary';
  // The firmware gives whole watts.
  if (!secondary) dir.line(modern ? 'power1_input' : 'power1_average', microwatts(Math.round(gpu.live.power)));
  const cap = (channel: number, present: number, standard: number, label: string): void => {
    dir.line(`power${channel}_cap`, microwatts(present), WRITABLE);
    dir.line(`power${channel}_cap_min`, 0);
    dir.line(`power${channel}_cap_max`, microwatts(standard));
    dir.line(`power${channel}_cap_default`, microwatts(standard));
    dir.line(`power${channel}_label`, label);
  };
  cap(1, secondary ? 0 : gpu.settings.cap, secondary ? 0 : spec.cap, 'PPT');
  if (spec.family === 'mi350' && since(node.driver, 'linux-6.19'))
    cap(2, gpu.settings.secondCap, secondCapOf(spec), 'PPT1');
}

function frequency(dir: Directory, number: number, label: string, mhz: number): void {
  dir.line(`freq${number}_input`, mhz * 1_000_000);
  dir.line(`freq${number}_label`, label);
}
