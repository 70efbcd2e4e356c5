import type { KnobPort, SettingsRead, WriteResult } from '../../../amdgpu/knobs/port.ts';
import { KNOBS, type KnobFacts, type KnobName, type Settings } from '../../../model/claim.ts';

/** A card's limits as its driver keeps them (MI300: `auto` resets every clock limit, a limit needs `manual`). */
export const CAP = { min: 0, max: 750, default: 750, floor: 300 };
export const GFX = { min: 132, max: 2100, default: 2100, floor: 840 };
export const MEM = { min: 900, max: 1300, default: 1300, floor: 904 };

export function factsOf(on: string, without: readonly KnobName[] = []): Map<KnobName, KnobFacts> {
  const all: KnobFacts[] = [
    { knob: 'power_cap', on, adjustable: true, ...CAP },
    { knob: 'gfx_clock', on, adjustable: true, ...GFX },
    { knob: 'mem_clock', on, adjustable: true, ...MEM },
  ];
  return new Map(all.filter(({ knob }) => !without.includes(knob)).map((facts) => [facts.knob, facts]));
}

export interface Fault {
  /** Refuses every write with this errno. */
  refuse?: string;
  /** Accepts every write and does nothing. */
  ignore?: boolean;
  /** Neither reads nor writes answer; a write that was begun may take place or not. */
  hang?: boolean;
  /** Throws, as no port should. */
  broken?: boolean;
}

export class FakeCard {
  settings: Required<Omit<Settings, 'gfx_low'>> & Pick<Settings, 'gfx_low'> = {
    power_cap: 750,
    gfx_clock: 2100,
    mem_clock: 1300,
    level: 'auto',
  };
  fault: Fault = {};
  /** Which writes the fault is for; all where absent. */
  faulty: KnobName | undefined;
  /** MI100: no file tells the graphics limit in `manual`. */
  hidesClock = false;
  facts: Map<KnobName, KnobFacts>;
  readonly writes: Settings[] = [];
  reads = 0;
  #pending: Settings | undefined;

  constructor(on: string) {
    this.facts = factsOf(on);
  }

  shown(): Settings {
    const { gfx_clock: _, ...rest } = this.settings;
    return this.hidesClock && this.settings.level === 'manual' ? rest : { ...this.settings };
  }

  set(to: Settings): void {
    if (to.power_cap !== undefined && to.power_cap >= 1) this.settings.power_cap = Math.floor(to.power_cap);
    for (const knob of ['gfx_clock', 'mem_clock'] as const) {
      const value = to[knob];
      if (value === undefined) continue;
      this.settings.level = 'manual';
      this.settings[knob] = value;
    }
    if (to.gfx_low !== undefined) this.settings.gfx_low = to.gfx_low;
    if (to.level !== undefined) this.settings.level = to.level;
    if (to.level === 'auto') Object.assign(this.settings, { gfx_clock: GFX.max, mem_clock: MEM.max });
  }

  reset(): void {
    this.#pending = undefined;
    this.settings = { power_cap: CAP.default, gfx_clock: GFX.max, mem_clock: MEM.max, level: 'auto' };
  }

  /** The card answers again; the write that hung took place or did not. */
  answer(landed: boolean): void {
    this.fault = {};
    if (landed && this.#pending !== undefined) this.set(this.#pending);
    this.#pending = undefined;
  }

  write(to: Settings): WriteResult {
    this.writes.push(to);
    const meant = this.faulty === undefined || to[this.faulty as 'power_cap'] !== undefined;
    const { hang, refuse, ignore, broken } = meant ? this.fault : {};
    if (broken === true) throw new Error('lane lost');
    if (hang === true) {
      this.#pending = to;
      return { outcome: 'unanswered', reason: 'timeout' };
    }
    const text = JSON.stringify(to);
    if (refuse !== undefined) return { outcome: 'refused', file: 'hwmon/power1_cap', text, errno: refuse };
    if (ignore !== true) this.set(to);
    return { outcome: 'written', settings: this.shown() };
  }
}

/** Cards behind a port; counts what must never be two at a time. */
export class FakePort implements KnobPort {
  readonly cards = new Map<string, FakeCard>();
  /** Asked before a write ends, so that a test can hold it or look around. */
  beforeWrite: (on: string, to: Settings) => Promise<void> | void = () => {};
  mostWritesAtOnce = 0;
  readonly #inFlight = new Map<string, number>();

  constructor(...ons: string[]) {
    for (const on of ons) this.cards.set(on, new FakeCard(on));
  }

  card(on: string): FakeCard {
    const card = this.cards.get(on);
    if (card === undefined) throw new Error(`no card ${on}`);
    return card;
  }

  facts(on: string): ReadonlyMap<KnobName, KnobFacts> {
    return this.card(on).facts;
  }

  async read(on: string): Promise<SettingsRead> {
    const card = this.card(on);
    card.reads += 1;
    await Promise.resolve();
    if (card.fault.broken === true) throw new Error('lane lost');
    if (card.fault.hang === true) return { ok: false, reason: 'timeout' };
    return { ok: true, settings: card.shown() };
  }

  async write(on: string, _from: Settings, to: Settings): Promise<WriteResult> {
    const now = (this.#inFlight.get(on) ?? 0) + 1;
    this.#inFlight.set(on, now);
    this.mostWritesAtOnce = Math.max(this.mostWritesAtOnce, now);
    try {
      await this.beforeWrite(on, to);
      return this.card(on).write(to);
    } finally {
      this.#inFlight.set(on, now - 1);
    }
  }
}

export const isKnob = (name: string): name is KnobName => KNOBS.some((knob) => knob === name);
