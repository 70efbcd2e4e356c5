import type { ModelSpec } from './models.ts';
import type { Settings } from './node.ts';

/** The highest second cap of MI350 boards, in watts: above the first one, for it bounds shorter spells. */
export const secondCapOf = (spec: ModelSpec): number => Math.round(spec.cap * 1.2);

/** What a chip comes up with when the driver loads. */
export function defaultSettings(spec: ModelSpec): Settings {
  return { ...firmwareDefaults(spec), isolation: [] };
}

/** The settings that live in the chip's firmware, which a reset therefore loses. */
export function firmwareDefaults(spec: ModelSpec): Omit<Settings, 'isolation'> {
  return {
    level: 'auto',
    cap: spec.cap,
    secondCap: secondCapOf(spec),
    ...clockLimits(spec),
    socPstate: 0,
    plpd: 1,
    profile: 0,
  };
}

/** MHz between which the hardware can clock. */
export function clockLimits(spec: ModelSpec): Pick<Settings, 'gfxMin' | 'gfxMax' | 'memMax'> {
  return {
    gfxMin: spec.clocks.gfx[0] as number,
    gfxMax: spec.clocks.gfx.at(-1) as number,
    memMax: spec.clocks.mem.at(-1) as number,
  };
}
