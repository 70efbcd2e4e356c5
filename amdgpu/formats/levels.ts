import { decimal } from './scalar.ts';
import { lines } from './text.ts';

/**
 * `pp_dpm_{sclk,mclk,socclk,fclk,vclk,vclk1,dclk,dclk1,dcefclk}`: the clock levels of one domain.
 *
 * Source: `drivers/gpu/drm/amd/pm/amdgpu_pm.c`, `drivers/gpu/drm/amd/pm/swsmu/smu_cmn.c` and the per-chip `*_ppt.c`. The
 * driver prints MHz. A domain that does not exist is one empty line; after a fatal hardware error the text is `unavailable`.
 */

export interface ClockLevel {
  /** `0`, `1`, … or a letter: `S` is the deep-sleep line. Empty where the driver prints none. */
  label: string;
  hertz: number;
  /** Carries a star. */
  current: boolean;
}

export interface ClockLevels {
  /** Every line, in file order: neither sorted nor free of duplicates. */
  levels: ClockLevel[];
  /** The starred line; absent without a star, and with several (the driver then matched one clock to two lines). */
  current?: { hertz: number; label: string };
  /** Several lines carry a star. */
  ambiguous: boolean;
  /** The starred line is `S`: the domain sleeps below its lowest level. */
  deepSleep: boolean;
  /**
   * The settable ends, in hertz, from the first and the last *numbered* line. A fine-grained domain prints its live clock
   * as a third line between them, possibly below the lower end, so the lines between never count, nor does a lettered one.
   * Absent without numbered lines, and where the ends read 0 (a gated domain reports 0 MHz for both).
   */
  min?: number;
  max?: number;
}

const LINE = /^(?:(\d{1,4}|[A-Z]):)?\s*(\d{1,10})\s*[Mm][Hh][Zz]\s*(\*?)$/;
const U32_MAX = 0xffff_ffff;

export function parseLevels(text: string): ClockLevels {
  const levels: ClockLevel[] = [];
  for (const line of lines(text)) {
    const found = LINE.exec(line);
    const megahertz = found ? decimal(found[2]!) : undefined;
    if (!found || megahertz === undefined || megahertz > U32_MAX) continue;
    levels.push({ label: found[1] ?? '', hertz: megahertz * 1e6, current: found[3] === '*' });
  }
  const starred = levels.filter((level) => level.current);
  const only = starred.length === 1 ? starred[0] : undefined;
  return {
    levels,
    ...(only && { current: { hertz: only.hertz, label: only.label } }),
    ambiguous: starred.length > 1,
    deepSleep: only?.label === 'S',
    ...settableEnds(levels),
  };
}

function settableEnds(levels: readonly ClockLevel[]): { min?: number; max?: number } {
  const numbered = levels.filter((level) => level.label !== '' && level.label < 'A');
  const first = numbered[0];
  const last = numbered.at(-1);
  if (!first || !last) return {};
  const max = Math.max(first.hertz, last.hertz);
  if (max === 0) return {};
  // An S line without star has taken the place of line 0, so the first numbered one may be the live clock.
  if (levels.some((level) => level.label === 'S' && !level.current))
    return numbered.length > 1 ? { max: last.hertz } : {};
  return { min: Math.min(first.hertz, last.hertz), max };
}
