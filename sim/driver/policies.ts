import { PLPD, SOC_PSTATES } from '../files/clocks.ts';
import type { Control, Target } from './control.ts';
import { integer } from './number.ts';

/** `pm_policy/*`: the number of a line. Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c. */

export const socPstate: Control = (target, text) => select(target, text, 'socPstate', SOC_PSTATES.length);
export const xgmiPlpd: Control = (target, text) => select(target, text, 'plpd', PLPD.length);

const FILES = { socPstate: 'soc_pstate', plpd: 'xgmi_plpd' } as const;

function select({ gpu, device }: Target, text: string, key: keyof typeof FILES, lines: number) {
  const number = integer(text);
  if (number === undefined || number < 0 || number >= lines) return 'EINVAL';
  gpu.settings[key] = number;
  return [`${device}/pm_policy/${FILES[key]}`];
}
