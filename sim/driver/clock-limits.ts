import type { Settings } from '../node.ts';
import { clockLimits } from '../settings.ts';
import type { Answer, Target } from './control.ts';

/** What all ways to limit a clock have in common. */

type Limits = Pick<Settings, 'gfxMin' | 'gfxMax' | 'memMax'>;

/** The files that show the limits. */
export function limitFiles({ device }: Target): string[] {
  return ['pp_dpm_sclk', 'pp_od_clk_voltage'].map((name) => `${device}/${name}`);
}

export function setLimits(target: Target, limits: Partial<Limits>): Answer {
  Object.assign(target.gpu.settings, limits);
  return limitFiles(target);
}

/** The hardware's own limits; what was staged is forgotten. */
export function resetLimits(target: Target): Answer {
  delete target.gpu.settings.staged;
  return setLimits(target, clockLimits(target.spec));
}
