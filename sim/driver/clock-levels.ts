import { setLimits } from './clock-limits.ts';
import { type Control, IGNORED } from './control.ts';
import { integer } from './number.ts';

/** `pp_dpm_*`: level numbers between spaces. Source: drivers/gpu/drm/amd/pm/amdgpu_pm.c, swsmu/{smu11,smu13}/*_ppt.c. */

const LARGEST_LEVEL = 31;

/** The lowest and the highest level given become the limits; of none at all, level 0 becomes both. */
export const graphicsLevels: Control = (target, text) => {
  const { gpu, spec } = target;
  const levels = levelNumbers(text);
  if (levels === undefined || gpu.settings.level !== 'manual') return 'EINVAL';
  const table = writableLevels(spec.clocks.gfx, spec.family === 'mi100');
  const [lowest, highest] = levels.length === 0 ? [0, 0] : [Math.min(...levels), Math.max(...levels)];
  const [gfxMin, gfxMax] = [table[lowest], table[highest]];
  return gfxMin === undefined || gfxMax === undefined ? 'EINVAL' : setLimits(target, { gfxMin, gfxMax });
};

/** The file of MI200 and later may show a clock between its two levels: that line has no number for writing. */
function writableLevels(gfx: readonly number[], listed: boolean): readonly number[] {
  return listed ? gfx : [gfx[0] as number, gfx.at(-1) as number];
}

/** Memory, SoC and fabric clocks of MI300 and later: the mode of the file promises what the driver has not. */
export const fixedLevels: Control = () => 'EINVAL';

/** Clocks of the video engines: what reads as a mask is taken, and nothing happens. */
export const videoLevels: Control = (_target, text) => (levelNumbers(text) === undefined ? 'EINVAL' : IGNORED);

/** The list ends at the first empty word, so also at a double space. Undefined where a word is no level number. */
export function levelNumbers(text: string): number[] | undefined {
  const words = text.split(/[ \n]/);
  const end = words.indexOf('');
  const levels = words.slice(0, end < 0 ? undefined : end).map(integer);
  const valid = (level: number | undefined): level is number =>
    level !== undefined && level >= 0 && level <= LARGEST_LEVEL;
  return levels.every(valid) ? levels : undefined;
}
