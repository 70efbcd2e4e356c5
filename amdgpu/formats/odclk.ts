import { linesAcrossGaps } from './text.ts';

/**
 * `pp_od_clk_voltage`: the clock range asked for, and within which bounds it may be set. Present on MI200, MI300 and MI350
 * whatever the overdrive option says. The driver prints MHz; hertz here.
 *
 * Only the graphics (`OD_SCLK`) and memory (`OD_MCLK`) sections and their two rows of `OD_RANGE` are read. Voltage curves,
 * offsets and CPU core ranges of other chips are passed over. Some drivers leave runs of NUL bytes between the sections.
 *
 * Source: `drivers/gpu/drm/amd/pm/amdgpu_pm.c`, `drivers/gpu/drm/amd/pm/swsmu/smu13/smu_v13_0_6_ppt.c`, `aldebaran_ppt.c`.
 */

/** Hertz. An end that the driver does not print is absent: some chips allow only the upper memory clock to be set. */
export interface ClockRange {
  min?: number;
  max?: number;
}

export interface OverdriveClocks {
  /** In force or staged: level 0 is the lower end, the highest level the upper one. */
  sclk?: ClockRange;
  mclk?: ClockRange;
  /** What may be written, where the driver says so. */
  limits: { sclk?: ClockRange; mclk?: ClockRange };
}

const LEVEL = /^(\d{1,3}):\s*(\d{1,7})\s*[Mm][Hh][Zz](?:\s|$)/;
const BOUNDS = /^(SCLK|MCLK):\s*(\d{1,7})\s*[Mm][Hh][Zz]\s+(\d{1,7})\s*[Mm][Hh][Zz]$/;
const SECTIONS: ReadonlyMap<string, 'sclk' | 'mclk'> = new Map([
  ['OD_SCLK:', 'sclk'],
  ['OD_MCLK:', 'mclk'],
]);

export function parseOverdriveClocks(text: string): OverdriveClocks | undefined {
  const result: OverdriveClocks = { limits: {} };
  let section: 'sclk' | 'mclk' | 'range' | undefined;
  for (const line of linesAcrossGaps(text)) {
    if (line.endsWith(':')) section = line === 'OD_RANGE:' ? 'range' : SECTIONS.get(line);
    else if (section === 'range') readBounds(line, result);
    else if (section) readLevel(line, section, result);
  }
  const { sclk, mclk, limits } = result;
  return sclk || mclk || limits.sclk || limits.mclk ? result : undefined;
}

function readLevel(line: string, domain: 'sclk' | 'mclk', result: OverdriveClocks): void {
  const found = LEVEL.exec(line);
  if (!found) return;
  const hertz = Number(found[2]) * 1e6;
  result[domain] = { ...result[domain], ...(Number(found[1]) === 0 ? { min: hertz } : { max: hertz }) };
}

function readBounds(line: string, result: OverdriveClocks): void {
  const found = BOUNDS.exec(line);
  if (!found) return;
  const range = { min: Number(found[2]) * 1e6, max: Number(found[3]) * 1e6 };
  if (found[1] === 'SCLK') result.limits.sclk = range;
  else result.limits.mclk = range;
}
