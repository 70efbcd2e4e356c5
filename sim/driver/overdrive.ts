import { clockLimits } from '../settings.ts';
import { resetLimits, setLimits } from './clock-limits.ts';
import { type Answer, type Control, IGNORED, type Target } from './control.ts';
import { integers } from './number.ts';

/** `pp_od_clk_voltage`: stage, then commit. Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c, swsmu/smu13/{aldebaran,smu_v13_0_6}_ppt.c. */

/** Bytes of one write, its newline included. */
const LONGEST = 127;

/** A letter and numbers behind it. Whatever goes wrong, the answer is EINVAL. */
export const overdrive: Control = (target, text) => {
  const { level } = target.gpu.settings;
  const numbers = integers(text.slice(1));
  if (numbers === undefined || Buffer.byteLength(text) > LONGEST) return 'EINVAL';
  if (level !== 'manual' && level !== 'perf_determinism') return 'EINVAL';
  switch (text[0]) {
    case 's':
      return stageGraphics(target, numbers);
    case 'm':
      return stageMemory(target, numbers);
    case 'c':
      return numbers.length === 0 ? commit(target) : 'EINVAL';
    case 'r':
      return numbers.length === 0 ? resetLimits(target) : 'EINVAL';
    default:
      return 'EINVAL';
  }
};

/** `s 0 MHZ` and `s 1 MHZ`. */
function stageGraphics({ gpu, spec }: Target, numbers: readonly number[]): Answer {
  const [end, mhz] = numbers;
  const { gfxMin, gfxMax } = clockLimits(spec);
  if (numbers.length !== 2 || mhz === undefined || mhz < gfxMin || mhz > gfxMax) return 'EINVAL';
  if (end !== 0 && end !== 1) return 'EINVAL';
  gpu.settings.staged = { ...gpu.settings.staged, [end === 0 ? 'gfxMin' : 'gfxMax']: mhz };
  return IGNORED;
}

/** `m 1 MHZ`, on MI300 and later: the lower end cannot be set, and in determinism nothing of it. */
function stageMemory({ gpu, spec }: Target, numbers: readonly number[]): Answer {
  const [end, mhz] = numbers;
  const settable = spec.family === 'mi300' || spec.family === 'mi350';
  if (!settable || gpu.settings.level !== 'manual' || numbers.length !== 2 || end !== 1) return 'EINVAL';
  const { memMax } = clockLimits(spec);
  if (mhz === undefined || mhz < (spec.clocks.mem[0] as number) || mhz > memMax) return 'EINVAL';
  gpu.settings.staged = { ...gpu.settings.staged, memMax: mhz };
  return IGNORED;
}

/** An end that is not staged keeps its value. The lower end must stay below the upper. */
function commit(target: Target): Answer {
  const { settings } = target.gpu;
  const { spec } = target;
  const { gfxMin, gfxMax, memMax } = { ...settings, ...settings.staged };
  const determinism = settings.level === 'perf_determinism';
  // Determinism has a ceiling and no floor.
  const lower = determinism ? clockLimits(spec).gfxMin : gfxMin;
  if (lower >= gfxMax) return 'EINVAL';
  if (settings.staged?.memMax !== undefined && (determinism || (spec.clocks.mem[0] as number) >= memMax))
    return 'EINVAL';
  delete settings.staged;
  return setLimits(target, { gfxMin: lower, gfxMax, memMax });
}
