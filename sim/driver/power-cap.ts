import { secondCapOf } from '../settings.ts';
import { type Answer, type Control, IGNORED, type Target } from './control.ts';
import { unsigned } from './number.ts';

/** `power1_cap` and `power2_cap`, in µW. Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c, swsmu/amdgpu_smu.c. */

/** The secondary die of an MI250X has the file and no power to limit. */
export const powerCap: Control = (target, text) =>
  target.gpu.die === 'secondary' ? 'EINVAL' : setCap(target, text, 'cap', target.spec.cap);

export const secondPowerCap: Control = (target, text) => setCap(target, text, 'secondCap', secondCapOf(target.spec));

/** The lowest cap is 0 W on all Instinct chips, so that 1 W passes; and 0 W stands for "as it is". */
function setCap({ gpu, hwmon }: Target, text: string, key: 'cap' | 'secondCap', most: number): Answer {
  const microwatts = unsigned(text);
  if (microwatts === undefined) return 'EINVAL';
  const watts = Math.floor(microwatts / 1e6);
  if (watts > most) return 'EINVAL';
  if (watts === 0) return IGNORED;
  gpu.settings[key] = watts;
  return [`${hwmon}/${key === 'cap' ? 'power1_cap' : 'power2_cap'}`];
}
