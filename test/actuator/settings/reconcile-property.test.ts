import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CRASH_POINTS, type CrashPoint } from '../../../actuator/settings/reconcile.ts';
import type { KnobName } from '../../../model/claim.ts';
import { A, Desk } from './desk.ts';
import { CAP, GFX, isKnob, MEM } from './fake-card.ts';

const RUNS = 200;
const RANGE = { power_cap: CAP, gfx_clock: GFX, mem_clock: MEM };
type Settable = keyof typeof RANGE;
const SETTABLE: readonly Settable[] = ['power_cap', 'gfx_clock', 'mem_clock'];

/** Claims are multiples of 4 MHz or W, and other hands' values lie between them: the value says who set it. */
const claimed = fc.integer({ min: 0, max: 600 }).map((n) => 4 * n);
const foreign = (knob: Settable): fc.Arbitrary<number> =>
  fc.integer({ min: Math.ceil(RANGE[knob].min / 4), max: Math.floor(RANGE[knob].max / 4) - 2 }).map((n) => 4 * n + 2);

type Event =
  | { is: 'claim'; id: string; knob: Settable; atMost: number }
  | { is: 'release'; id: string }
  | { is: 'hand'; knob: Settable; value: number }
  | { is: 'reset'; told: boolean }
  | { is: 'fault'; fault: 'EINVAL' | 'EBUSY' | 'EROFS' | 'ignore' | 'hang' | 'broken' }
  | { is: 'answer'; landed: boolean }
  | { is: 'ledger'; full: boolean }
  | { is: 'crash'; at: CrashPoint; skip: number }
  | { is: 'pass'; seconds: number };

const ids = fc.constantFrom('a', 'b', 'c');
const knobs = fc.constantFrom(...SETTABLE);
const events: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 5,
    arbitrary: knobs.chain((knob) =>
      fc.record({ is: fc.constant('claim' as const), id: ids, knob: fc.constant(knob), atMost: claimed }),
    ),
  },
  { weight: 3, arbitrary: fc.record({ is: fc.constant('release' as const), id: ids }) },
  {
    weight: 2,
    arbitrary: knobs.chain((knob) =>
      fc.record({ is: fc.constant('hand' as const), knob: fc.constant(knob), value: foreign(knob) }),
    ),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('reset' as const), told: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constant('fault' as const),
      fault: fc.constantFrom('EINVAL', 'EBUSY', 'EROFS', 'ignore', 'hang', 'broken'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ is: fc.constant('answer' as const), landed: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('ledger' as const), full: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ is: fc.constant('crash' as const), at: fc.constantFrom(...CRASH_POINTS), skip: fc.nat(2) }),
  },
  { weight: 5, arbitrary: fc.record({ is: fc.constant('pass' as const), seconds: fc.integer({ min: 0, max: 90 }) }) },
) as fc.Arbitrary<Event>;

/** The world around one card, and what may be found on it once we have let go: what others set last, or a reset brought. */
class World {
  #crash: { at: CrashPoint; skip: number } | undefined;
  readonly desk: Desk = new Desk({
    crashPoint: (name) => {
      if (this.#crash?.at !== name || this.#crash.skip-- > 0) return;
      this.#crash = undefined;
      // What the dead one would still do reaches neither ledger nor card.
      this.desk.restart();
      throw new Error('killed');
    },
  });
  /** Our writes below the floor; collected, for what a port throws is taken for a card that does not answer. */
  readonly tooLow: string[] = [];
  readonly wanted = new Map<string, Partial<Record<KnobName, number>>>();
  readonly may: Record<Settable, Set<number>>;
  readonly #ever: Record<Settable, Set<number>>;
  readonly mayLevel = new Set<string>(['auto']);

  constructor(start: Record<Settable, number>) {
    const { card } = this.desk;
    Object.assign(card.settings, start);
    if (start.gfx_clock !== GFX.max || start.mem_clock !== MEM.max) {
      card.settings.level = 'manual';
      this.mayLevel.clear();
      this.mayLevel.add('manual');
    }
    this.may = {
      power_cap: new Set([start.power_cap]),
      gfx_clock: new Set([start.gfx_clock]),
      mem_clock: new Set([start.mem_clock]),
    };
    this.#ever = {
      power_cap: new Set(this.may.power_cap),
      gfx_clock: new Set(this.may.gfx_clock),
      mem_clock: new Set(this.may.mem_clock),
    };
    this.desk.port.beforeWrite = (_, to) => {
      for (const [knob, value] of Object.entries(to)) {
        if (!isKnob(knob) || knob === 'dmem' || typeof value !== 'number') continue;
        const isGivenBack = this.may[knob].has(value);
        if (!isGivenBack && value < RANGE[knob].floor) this.tooLow.push(`${knob} ${value}`);
      }
    };
  }

  async meet(event: Event): Promise<void> {
    const { desk } = this;
    const { card } = desk;
    switch (event.is) {
      case 'claim': {
        const claims = { ...this.wanted.get(event.id), [event.knob]: event.atMost };
        this.wanted.set(event.id, claims);
        desk.claim(event.id, claims);
        break;
      }
      case 'release':
        this.wanted.delete(event.id);
        desk.claim(event.id, {});
        break;
      case 'hand':
        if (card.fault.hang === true) return;
        card.settings[event.knob] = event.value;
        this.may[event.knob] = new Set([event.value]);
        this.#ever[event.knob].add(event.value);
        if (event.knob !== 'power_cap') {
          card.settings.level = 'manual';
          this.mayLevel.add('manual');
        }
        break;
      case 'reset':
        card.reset();
        if (event.told) desk.reconciler.poke(A, 'reset');
        // It took somebody's last value too; what we found before that is then as good.
        for (const knob of SETTABLE) this.may[knob] = new Set([...this.#ever[knob], RANGE[knob].max]);
        this.mayLevel.add('auto');
        break;
      case 'fault':
        if (card.fault.hang === true) return;
        card.fault = faultOf(event.fault);
        break;
      case 'answer':
        card.answer(event.landed);
        break;
      case 'ledger':
        desk.isFull = event.full;
        break;
      case 'crash':
        this.#crash = { at: event.at, skip: event.skip };
        break;
      case 'pass':
        await desk.pass(event.seconds, A, 13);
    }
    desk.reconciler.poke(A);
    await desk.run();
  }

  async letGo(): Promise<void> {
    const { desk } = this;
    this.#crash = undefined;
    for (const id of this.wanted.keys()) desk.claim(id, {});
    desk.isFull = false;
    desk.card.answer(true);
    await desk.pass(130, A, 13);
  }
}

function faultOf(name: Extract<Event, { is: 'fault' }>['fault']): {
  refuse?: string;
  ignore?: boolean;
  hang?: boolean;
  broken?: boolean;
} {
  if (name === 'ignore' || name === 'hang' || name === 'broken') return { [name]: true };
  return { refuse: name };
}

const starts = fc.record({
  power_cap: fc.oneof(fc.constant(CAP.max), foreign('power_cap')),
  gfx_clock: fc.oneof({ weight: 3, arbitrary: fc.constant(GFX.max) }, foreign('gfx_clock')),
  mem_clock: fc.oneof({ weight: 3, arbitrary: fc.constant(MEM.max) }, foreign('mem_clock')),
});

describe('whatever happens', () => {
  it('no limit goes below the floor, no two writes are at once, and all that is ours is given back exactly', async () => {
    await fc.assert(
      fc.asyncProperty(starts, fc.array(events, { minLength: 1, maxLength: 25 }), async (start, happening) => {
        const world = new World(start);
        for (const event of happening) await world.meet(event);
        await world.letGo();
        const { desk } = world;
        expect(world.tooLow).toEqual([]);
        expect(desk.port.mostWritesAtOnce).toBeLessThanOrEqual(1);
        expect(desk.rows.knobs.size, 'rows left').toBe(0);
        for (const knob of SETTABLE) expect([...world.may[knob]], knob).toContain(desk.card.settings[knob]);
        expect([...world.mayLevel]).toContain(desk.card.settings.level);
      }),
      {
        numRuns: RUNS,
        examples: [
          [
            // A hand after a reset, in the pause that follows a refusal.
            { power_cap: 700, gfx_clock: GFX.max, mem_clock: MEM.max },
            [
              { is: 'fault', fault: 'EINVAL' },
              { is: 'claim', id: 'a', knob: 'mem_clock', atMost: 0 },
              { is: 'reset', told: true },
              { is: 'hand', knob: 'mem_clock', value: 906 },
              { is: 'pass', seconds: 1 },
            ],
          ],
        ],
      },
    );
  }, 60_000);

  it('a card that answers is at its limit a minute later, while nobody else has a hand in it', async () => {
    const calm = events.filter((event) => event.is !== 'hand' && event.is !== 'reset');
    await fc.assert(
      fc.asyncProperty(fc.array(calm, { maxLength: 12 }), claimed, async (happening, atMost) => {
        const world = new World({ power_cap: CAP.max, gfx_clock: GFX.max, mem_clock: MEM.max });
        for (const event of happening) await world.meet(event);
        await world.letGo();
        await world.meet({ is: 'claim', id: 'a', knob: 'power_cap', atMost });
        await world.meet({ is: 'pass', seconds: 60 });
        const wish = Math.max(CAP.floor, Math.min(CAP.max, world.wanted.get('a')?.power_cap ?? CAP.max));
        expect(world.desk.card.settings.power_cap).toBeLessThanOrEqual(wish);
      }),
      { numRuns: RUNS / 4 },
    );
  }, 60_000);
});
