import { type Control, IGNORED } from './control.ts';
import { integer } from './number.ts';

/** Files of older drivers that still stand there. Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c. */

const STATES = ['battery', 'balanced', 'performance'];

/** `power_dpm_state`: the words of a time before performance levels. */
export const powerState: Control = (_target, text) =>
  STATES.some((state) => text.startsWith(state)) ? IGNORED : 'EINVAL';

/** `pp_sclk_od`, `pp_mclk_od`: any number is taken, no Instinct chip follows it. */
export const percentOverdrive: Control = (_target, text) => (integer(text) === undefined ? 'EINVAL' : IGNORED);

/** `pp_features`: a simulated chip has the features that it has. */
export const features: Control = () => 'EINVAL';
