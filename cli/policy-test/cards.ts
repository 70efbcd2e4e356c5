import { clockFloor, powerFloor } from '../../amdgpu/knobs/envelope.ts';
import type { KnobPort, SettingsRead, WriteResult } from '../../amdgpu/knobs/port.ts';
import type { KnobFacts, KnobName, Settings } from '../../model/claim.ts';
import type { BenchCard } from '../../rules/language/testing/bench.ts';
import type { Writes } from '../../rules/language/testing/schema.ts';

/** Cards of a policy test: they take what they are told, unless the test says what writes meet. */
export class TestCards implements KnobPort {
  readonly #cards = new Map<string, TestCard>();

  constructor(cards: readonly BenchCard[]) {
    for (const { pci, settings } of cards) {
      this.#cards.set(pci, { facts: factsOf(pci, settings), settings: { ...settings }, meets: 'taken', writes: 0 });
    }
  }

  facts(pci: string): ReadonlyMap<KnobName, KnobFacts> {
    return this.#cards.get(pci)?.facts ?? new Map();
  }

  settings(pci: string): Settings {
    return this.#cards.get(pci)?.settings ?? {};
  }

  writes(pci: string): number {
    return this.#cards.get(pci)?.writes ?? 0;
  }

  meet(pci: string, meets: Writes): void {
    this.#change(pci, { meets });
  }

  setByHand(pci: string, settings: Settings): void {
    this.#change(pci, { settings: { ...this.settings(pci), ...settings } });
  }

  async read(on: string): Promise<SettingsRead> {
    const card = this.#cards.get(on);
    if (card === undefined || card.meets === 'unanswered') return { ok: false, reason: 'timeout' };
    return { ok: true, settings: { ...card.settings } };
  }

  async write(on: string, _from: Settings, to: Settings): Promise<WriteResult> {
    const card = this.#cards.get(on);
    if (card === undefined) return { outcome: 'unanswered', reason: 'gone' };
    card.writes += 1;
    switch (card.meets) {
      case 'unanswered':
        return { outcome: 'unanswered', reason: 'timeout' };
      case 'refused':
        return { outcome: 'refused', file: 'power1_cap', text: JSON.stringify(to), errno: 'EINVAL' };
      case 'ignored':
        return { outcome: 'written', settings: { ...card.settings } };
      case 'taken':
        card.settings = { ...card.settings, ...to };
        return { outcome: 'written', settings: { ...card.settings } };
    }
  }

  #change(pci: string, change: Partial<TestCard>): void {
    const card = this.#cards.get(pci);
    if (card !== undefined) Object.assign(card, change);
  }
}

interface TestCard {
  facts: ReadonlyMap<KnobName, KnobFacts>;
  settings: Settings;
  meets: Writes;
  writes: number;
}

/** Ranges as on a card whose default is its highest, with the floors that hold on real ones. */
function factsOf(on: string, { power_cap, gfx_clock, mem_clock }: Settings): ReadonlyMap<KnobName, KnobFacts> {
  const facts = new Map<KnobName, KnobFacts>();
  const range = (knob: KnobName, max: number | undefined, floorOf: (max: number) => number): void => {
    if (max === undefined) facts.set(knob, { knob, on, adjustable: false, why: 'no_file' });
    else facts.set(knob, { knob, on, adjustable: true, min: 0, max, default: max, floor: floorOf(max) });
  };
  range('power_cap', power_cap, (max) => powerFloor({ max, default: max }));
  range('gfx_clock', gfx_clock, (max) => clockFloor({ max }));
  range('mem_clock', mem_clock, (max) => clockFloor({ max }));
  return facts;
}
