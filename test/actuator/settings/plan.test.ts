import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../actuator/settings/outcome.ts';
import { type CardView, planCard } from '../../../actuator/settings/plan.ts';
import type { KnobStep } from '../../../actuator/settings/steps.ts';
import type { Claim, Knob, KnobFacts, KnobName, Settings } from '../../../model/claim.ts';
import { factsOf } from './fake-card.ts';

const ON = '0000:c1:00.0';
const NOW = 1_000_000;

const claim = (knob: KnobName, atMost: number, id = 'a'): Claim => ({ case: id, on: ON, knob, atMost, safety: false });
const row = (rest: Partial<Knob> = {}): Knob => ({
  on: ON,
  knob: 'power_cap',
  found: 750,
  state: 'settled',
  attempts: 0,
  notBefore: NOW - 5_000,
  at: NOW - 5_000,
  ...rest,
});
const clock = (rest: Partial<Knob> = {}): Knob => row({ knob: 'gfx_clock', found: 2100, foundLevel: 'auto', ...rest });
const OPEN: Settings = { power_cap: 750, gfx_clock: 2100, mem_clock: 1300, level: 'auto' };

function plan(view: Partial<Omit<CardView, 'settings'>> & { settings?: Settings }): readonly KnobStep[] {
  const settings = { ...OPEN, ...view.settings };
  return planCard({ on: ON, claims: [], knobs: [], facts: factsOf(ON), now: NOW, ...view, settings }).steps;
}

function only(view: Parameters<typeof plan>[0]): KnobStep {
  const steps = plan(view);
  expect(steps).toHaveLength(1);
  return steps[0] as KnobStep;
}

describe('a claim on a knob that nobody touched', () => {
  it('is written, with what was there as the way back', () => {
    expect(only({ claims: [claim('power_cap', 500)] })).toMatchObject({
      do: 'write',
      why: 'claim',
      from: 750,
      to: { power_cap: 500 },
      row: { found: 750, writing: 500, state: 'unsettled' },
    });
  });

  it('is held without a write where the card is already more restrictive', () => {
    const step = only({ claims: [claim('power_cap', 500)], settings: { power_cap: 450 } });
    expect(step).toMatchObject({ do: 'hold', row: { found: 450, state: 'settled' } });
    expect(step).not.toHaveProperty('row.writing');
    expect(step).not.toHaveProperty('row.wrote');
  });

  it('takes the lowest of several', () => {
    const claims = [claim('power_cap', 600, 'a'), claim('power_cap', 450, 'b'), claim('power_cap', 500, 'c')];
    expect(only({ claims })).toMatchObject({ target: 450 });
  });

  it.each([
    ['below the floor', 1, 300],
    ['at the floor', 300, 300],
    ['in between, whole watts', 412.7, 412],
  ])('goes no lower than the floor: %s', (_, atMost, target) => {
    expect(only({ claims: [claim('power_cap', atMost)] })).toMatchObject({ do: 'write', target });
  });

  it('is not written where the value, or the level that would be lost, could not be read', () => {
    const { gfx_clock: _, ...blind } = OPEN;
    const view = { on: ON, knobs: [], facts: factsOf(ON), now: NOW };
    expect(planCard({ ...view, claims: [claim('gfx_clock', 1500)], settings: blind }).steps).toMatchObject([
      { do: 'wait' },
    ]);
    const { level: __, ...levelless } = OPEN;
    expect(planCard({ ...view, claims: [claim('gfx_clock', 1500)], settings: levelless }).steps).toMatchObject([
      { do: 'wait' },
    ]);
    expect(planCard({ ...view, claims: [claim('power_cap', 500)], settings: levelless }).steps).toMatchObject([
      { do: 'write' },
    ]);
  });

  it.each([
    ['not on this card', undefined, 'unsupported', 'not known on this card'],
    ['a guest', { adjustable: false, why: 'virtual_function' }, 'unsupported', 'virtual_function'],
    ['another die carries it', { on: '0000:c6:00.0' }, 'unsupported', 'belongs to 0000:c6:00.0'],
    ['asleep, which passes', { adjustable: false, why: 'asleep' }, 'wait', 'asleep'],
    ['in reset, which passes', { adjustable: false, why: 'resetting' }, 'wait', 'resetting'],
  ] as const)('cannot be set: %s', (_, change, doing, detail) => {
    const facts = factsOf(ON, ['power_cap']);
    if (change !== undefined) {
      facts.set('power_cap', { ...(factsOf(ON).get('power_cap') as KnobFacts), ...change });
    }
    expect(only({ claims: [claim('power_cap', 500)], facts })).toMatchObject({ do: doing, detail });
  });

  it('is never written without a floor, for the driver would take 1 W', () => {
    const facts = factsOf(ON);
    const { floor: _, ...rest } = facts.get('power_cap') as KnobFacts;
    facts.set('power_cap', rest);
    expect(only({ claims: [claim('power_cap', 1)], facts })).toMatchObject({ do: 'wait' });
  });
});

describe('a claim on a knob that we wrote', () => {
  const claims = [claim('power_cap', 500)];
  const ours = row({ wrote: 500 });

  it.each([
    ['as we wrote it', ours, 500, { do: 'hold' }],
    [
      'as we were about to, before a crash',
      row({ writing: 500, state: 'unsettled' }),
      500,
      { do: 'hold', row: { wrote: 500, state: 'settled' } },
    ],
    [
      'as it was before a crash',
      row({ writing: 500, state: 'unsettled' }),
      750,
      { do: 'write', why: 'retry', row: { found: 750 } },
    ],
    [
      'between two wishes at a crash',
      row({ wrote: 600, writing: 500, state: 'unsettled' }),
      600,
      { do: 'write', row: { wrote: 600, writing: 500, found: 750 } },
    ],
    ['given back by somebody', ours, 750, { do: 'write', why: 'drift', row: { found: 750 }, paceMs: 1_000 }],
    [
      'at the default, after somebody had it at 700',
      row({ found: 700, wrote: 500 }),
      750,
      { do: 'write', why: 'reset', row: { found: 700 } },
    ],
    [
      'raised by somebody',
      ours,
      650,
      { do: 'write', why: 'foreign', foundBefore: 750, row: { found: 650, writing: 500 } },
    ],
    ['lowered by somebody', ours, 400, { do: 'leave', row: { state: 'foreign', found: 750, wrote: 500 } }],
    ['still lowered by somebody', row({ wrote: 500, state: 'foreign' }), 400, { do: 'leave' }],
    [
      'ours again after somebody lowered it',
      row({ wrote: 500, state: 'foreign' }),
      500,
      { do: 'hold', row: { state: 'settled' } },
    ],
    [
      'refused for good',
      row({ writing: 500, state: 'unsupported', detail: 'EROFS' }),
      750,
      { do: 'unsupported', detail: 'EROFS' },
    ],
  ])('%s', (_, knob, power_cap, expected) => {
    expect(only({ claims, knobs: [knob], settings: { power_cap } })).toMatchObject(expected);
  });

  it('says nothing new about a row that says so already', () => {
    expect(only({ claims, knobs: [ours], settings: { power_cap: 500 } })).not.toHaveProperty('row');
    expect(
      only({ claims, knobs: [row({ wrote: 500, state: 'foreign' })], settings: { power_cap: 400 } }),
    ).not.toHaveProperty('row');
  });

  it('keeps what was found when the card was seen to reset, whatever it showed then', () => {
    const view = { claims, knobs: [row({ found: 700, wrote: 500 })], settings: { power_cap: 740 } };
    expect(only(view)).toMatchObject({ why: 'foreign', row: { found: 740 } });
    expect(only({ ...view, afterReset: { power_cap: 740 } })).toMatchObject({ why: 'reset', row: { found: 700 } });
    expect(only({ ...view, afterReset: { power_cap: 730 } })).toMatchObject({ why: 'foreign', row: { found: 740 } });
  });

  it('is relaxed when the wish is, but not above what was found', () => {
    const view = { claims: [claim('power_cap', 720)], settings: { power_cap: 500 } };
    expect(only({ ...view, knobs: [ours] })).toMatchObject({ do: 'write', target: 720 });
    expect(only({ ...view, knobs: [row({ found: 700, wrote: 500 })] })).toMatchObject({ do: 'write', target: 700 });
  });

  it.each<[string, number, Partial<Knob>]>([
    ['a hand raises it', 650, {}],
    ['it is given back', 750, {}],
    ['a write failed', 750, { attempts: 1, writing: 500, state: 'unsettled' }],
    ['a write of ours to ours failed', 600, { attempts: 2, wrote: 600, writing: 500, state: 'unsettled' }],
  ])('waits for the end of its pause when %s', (_, power_cap, rest) => {
    const knobs = [row({ wrote: 500, notBefore: NOW + 700, at: NOW - 300, ...rest })];
    expect(only({ claims, knobs, settings: { power_cap } })).toMatchObject({ do: 'wait', until: NOW + 700 });
    expect(only({ claims, knobs, settings: { power_cap }, now: NOW + 700 })).toMatchObject({ do: 'write' });
  });

  it('takes a new wish at once', () => {
    const knobs = [row({ wrote: 600, notBefore: NOW + 700, at: NOW - 300 })];
    expect(only({ claims, knobs, settings: { power_cap: 600 } })).toMatchObject({ do: 'write', why: 'claim' });
  });

  it('backs off also where what was found is the wish', () => {
    const knobs = [
      row({ found: 450, wrote: 400, writing: 450, state: 'unsettled', attempts: 3, notBefore: NOW + 4_000 }),
    ];
    expect(only({ claims, knobs, settings: { power_cap: 400 } })).toMatchObject({ do: 'wait' });
  });

  it('does not believe a pause that no pause of ours can be, after a clock that was set back', () => {
    const knobs = [row({ wrote: 500, notBefore: NOW + 86_400_000, at: NOW + 86_400_000 })];
    expect(only({ claims, knobs, settings: { power_cap: 650 } })).toMatchObject({ do: 'write' });
  });

  it.each([
    [0, 0, 1_000],
    [1_000, 10, 2_000],
    [32_000, 10, 60_000],
    [60_000, 10, 60_000],
    [8_000, 60_001, 1_000],
  ])('after a pause of %d ms and %d ms of quiet pauses for %d ms', (last, quiet, pause) => {
    const notBefore = NOW - quiet;
    const knobs = [row({ wrote: 500, notBefore, at: notBefore - last })];
    expect(only({ claims, knobs, settings: { power_cap: 650 } })).toMatchObject({ paceMs: pause });
  });

  it('does not ask a card that rounds down again and again', () => {
    const knobs = [clock({ writing: 1500, wrote: 1472 })];
    const view = { claims: [claim('gfx_clock', 1500)], settings: { gfx_clock: 1472, level: 'manual' } };
    expect(only({ ...view, knobs })).toMatchObject({ do: 'hold', target: 1500 });
    expect(only({ ...view, knobs, claims: [claim('gfx_clock', 1600)] })).toMatchObject({ do: 'write', target: 1600 });
  });
});

describe('a row that nobody claims', () => {
  it.each([
    ['ours', row({ wrote: 500 }), 500, { do: 'restore', to: { power_cap: 750 }, row: { writing: 750, wrote: 500 } }],
    ['what we were about to write', row({ writing: 500 }), 500, { do: 'restore' }],
    ['what we wrote before that', row({ wrote: 600, writing: 500 }), 600, { do: 'restore' }],
    ['as found', row({ wrote: 500 }), 750, { do: 'leave', restored: 'given_back' }],
    ['never written', row(), 600, { do: 'leave', restored: 'given_back' }],
    ['a foreign hand, lower', row({ wrote: 500 }), 400, { do: 'leave', restored: 'overridden' }],
    ['a foreign hand, higher', row({ wrote: 500 }), 650, { do: 'leave', restored: 'overridden' }],
    [
      'refused for good, and nothing happened',
      row({ writing: 500, state: 'unsupported' }),
      750,
      { do: 'leave', restored: 'given_back' },
    ],
    [
      'refused for good, and still ours',
      row({ wrote: 500, writing: 600, state: 'unsupported' }),
      500,
      { do: 'restore' },
    ],
    [
      'failed on the way down: no wait',
      row({ wrote: 600, writing: 500, attempts: 5, notBefore: NOW + 9_000 }),
      600,
      { do: 'restore', row: { attempts: 0 } },
    ],
    ['in the pause of a re-application: no wait', row({ wrote: 500, notBefore: NOW + 9_000 }), 500, { do: 'restore' }],
    [
      'failed on the way back: its pause',
      row({ wrote: 500, writing: 750, attempts: 1, notBefore: NOW + 900 }),
      500,
      { do: 'wait', until: NOW + 900 },
    ],
  ])('%s', (_, knob, power_cap, expected) => {
    expect(only({ knobs: [knob], settings: { power_cap } })).toMatchObject(expected);
  });

  it('needs no facts to be given back', () => {
    expect(only({ knobs: [row({ wrote: 500 })], settings: { power_cap: 500 }, facts: new Map() })).toMatchObject({
      do: 'restore',
    });
  });

  it('waits where the value does not show', () => {
    const { power_cap: _, ...blind } = OPEN;
    const view = { on: ON, claims: [], knobs: [row({ wrote: 500 })], facts: factsOf(ON), now: NOW, settings: blind };
    expect(planCard(view).steps).toMatchObject([{ do: 'wait' }]);
  });
});

describe('the performance level', () => {
  const manual: Settings = { level: 'manual' };
  const mem = (rest: Partial<Knob> = {}): Knob =>
    row({ knob: 'mem_clock', found: 1300, foundLevel: 'auto', wrote: 1000, ...rest });
  const gfx = clock({ wrote: 1500 });
  const limited: Settings = { ...manual, gfx_clock: 1500, mem_clock: 1000 };

  it('is remembered with the first clock, and by the second as the first found it', () => {
    expect(only({ claims: [claim('gfx_clock', 1500)] })).toMatchObject({ row: { foundLevel: 'auto' } });
    const steps = plan({
      claims: [claim('gfx_clock', 1500), claim('mem_clock', 1000)],
      knobs: [gfx],
      settings: { ...manual, gfx_clock: 1500 },
    });
    expect(steps).toMatchObject([{ do: 'hold' }, { do: 'write', row: { knob: 'mem_clock', foundLevel: 'auto' } }]);
  });

  it('is not touched for a cap', () => {
    expect(only({ claims: [claim('power_cap', 500)] })).not.toHaveProperty('row.foundLevel');
    expect(only({ knobs: [row({ wrote: 500 })], settings: { power_cap: 500 } })).toMatchObject({
      to: { power_cap: 750 },
    });
  });

  it('goes with the last clock, for auto would take the other limit away', () => {
    const one = plan({ knobs: [gfx, mem()], claims: [claim('mem_clock', 1000)], settings: limited });
    expect(one.find((step) => step.do === 'restore')).toMatchObject({ to: { gfx_clock: 2100 } });
    expect(one.find((step) => step.do === 'restore')).not.toHaveProperty('to.level');
    expect(only({ knobs: [gfx], settings: { ...limited, mem_clock: 1300 } })).toMatchObject({
      to: { gfx_clock: 2100, level: 'auto' },
    });
  });

  it('stays where somebody has limited the other clock meanwhile', () => {
    const step = only({ knobs: [gfx], settings: { ...limited, mem_clock: 1100 } });
    expect(step).toMatchObject({ do: 'restore', to: { gfx_clock: 2100 } });
    expect(step).not.toHaveProperty('to.level');
  });

  it('is what was found by a clock that somebody limited in the level that we had made', () => {
    const claims = [claim('gfx_clock', 1500), claim('mem_clock', 1000)];
    const steps = plan({ claims, knobs: [gfx], settings: { ...limited, mem_clock: 1102 } });
    expect(steps[1]).toMatchObject({ do: 'write', row: { found: 1102, foundLevel: 'manual' } });
  });

  it('stays for a limit that was found and is back already', () => {
    const knobs = [gfx, mem({ found: 1102, foundLevel: 'manual', wrote: 1102 })];
    const steps = plan({ knobs, settings: { ...limited, mem_clock: 1102 } });
    const restore = steps.find((step) => step.do === 'restore');
    expect(restore).toMatchObject({ to: { gfx_clock: 2100 } });
    expect(restore).not.toHaveProperty('to.level');
  });

  it('is given back where a write that was refused half-way left nothing but it', () => {
    const knob = clock({ writing: 1500, state: 'unsettled', attempts: 1 });
    expect(only({ knobs: [knob], settings: manual })).toMatchObject({
      do: 'restore',
      to: { gfx_clock: 2100, level: 'auto' },
    });
  });

  it('is somebody else’s where it is neither what we found nor what a limit needs', () => {
    expect(only({ knobs: [gfx], settings: { gfx_clock: 1500, level: 'perf_determinism' } })).toMatchObject({
      to: { gfx_clock: 2100, level: 'perf_determinism' },
    });
  });

  it('is manual for all clocks once a hand raised one of them in our manual', () => {
    const steps = plan({
      claims: [claim('gfx_clock', 1500), claim('mem_clock', 1000)],
      knobs: [gfx, mem()],
      settings: { ...limited, gfx_clock: 1801 },
    });
    expect(steps).toMatchObject([
      { do: 'write', why: 'foreign', row: { found: 1801, foundLevel: 'manual' } },
      { do: 'hold', row: { knob: 'mem_clock', foundLevel: 'manual', wrote: 1000 } },
    ]);
  });

  it('vouches for a limit that no file shows (MI100)', () => {
    const { gfx_clock: _, ...hidden } = { ...OPEN, ...manual };
    const view = { on: ON, facts: factsOf(ON), now: NOW, knobs: [gfx] };
    expect(planCard({ ...view, claims: [], settings: hidden }).steps).toMatchObject([
      { do: 'restore', to: { gfx_clock: 2100, level: 'auto' } },
    ]);
    expect(planCard({ ...view, claims: [claim('gfx_clock', 1500)], settings: hidden }).steps).toMatchObject([
      { do: 'write', why: 'unseen', target: 1500 },
    ]);
    const pinned = { ...hidden, level: 'profile_peak' };
    expect(planCard({ ...view, claims: [], settings: pinned }).steps).toMatchObject([
      { do: 'leave', restored: 'overridden' },
    ]);
    const found = [clock({ wrote: 1500, foundLevel: 'manual' })];
    expect(planCard({ ...view, knobs: found, claims: [], settings: hidden }).steps).toMatchObject([{ do: 'wait' }]);
  });
});

describe('the lower graphics limit', () => {
  const found: Settings = { gfx_clock: 2100, gfx_low: 1500, level: 'manual' };
  const ours = clock({ foundLevel: 'manual', foundLow: 1500, wrote: 1200 });
  /** As the process tells it that pushed it down, and as one does that began later. */
  const remembered: Settings = { ...found, gfx_clock: 1200 };
  const pushed: Settings = { ...remembered, gfx_low: 1199 };

  it('is remembered with the first write', () => {
    expect(only({ claims: [claim('gfx_clock', 1200)], settings: found })).toMatchObject({
      do: 'write',
      to: { gfx_clock: 1200 },
      row: { found: 2100, foundLow: 1500, foundLevel: 'manual' },
    });
    expect(only({ claims: [claim('gfx_clock', 1200)] })).not.toHaveProperty('row.foundLow');
  });

  it.each([
    ['who pushed it down knows it', remembered, { gfx_clock: 2100, level: 'manual' }],
    ['another process finds it pushed down', pushed, { gfx_clock: 2100, level: 'manual', gfx_low: 1500 }],
    ['somebody set another', { ...pushed, gfx_low: 800 }, { gfx_clock: 2100, level: 'manual' }],
    ['somebody chose another level', { ...pushed, level: 'auto' }, { gfx_clock: 2100, level: 'auto' }],
  ] as const)('is given back with the upper one: %s', (_, settings, to) => {
    const step = only({ knobs: [ours], settings });
    expect(step).toMatchObject({ do: 'restore' });
    expect(step.do === 'restore' && step.to).toEqual(to);
  });

  it('is given back also where the upper one is back already', () => {
    expect(only({ knobs: [ours], settings: { ...pushed, gfx_clock: 2100 } })).toMatchObject({
      do: 'restore',
      to: { gfx_clock: 2100, gfx_low: 1500 },
    });
    expect(only({ knobs: [ours], settings: found })).toMatchObject({ do: 'leave', restored: 'given_back' });
  });

  it('is kept by the next limit, and by what somebody raised', () => {
    expect(only({ claims: [claim('gfx_clock', 1000)], knobs: [ours], settings: pushed })).toMatchObject({
      do: 'write',
      to: { gfx_clock: 1000, gfx_low: 1500 },
      row: { foundLow: 1500 },
    });
    const raised = { claims: [claim('gfx_clock', 1200)], knobs: [ours] };
    for (const [gfx_low, foundLow] of [
      [1199, 1500],
      [800, 800],
    ] as const) {
      expect(only({ ...raised, settings: { ...pushed, gfx_clock: 1900, gfx_low } })).toMatchObject({
        do: 'write',
        why: 'foreign',
        row: { found: 1900, foundLow },
      });
    }
  });

  it('was not given back where it does not read so', () => {
    const step = only({ knobs: [ours], settings: pushed });
    if (step.do !== 'restore') throw new Error(step.do);
    const met = (gfx_low: number) => outcomeOf(step, { outcome: 'written', settings: { ...found, gfx_low } }, NOW);
    expect(met(1500)).toMatchObject({ report: { restored: 'given_back' } });
    expect(met(1199)).toMatchObject({
      row: { state: 'unsettled' },
      report: { settled: false, detail: 'accepted, but lower limit reads 1199 instead of 1500' },
    });
  });
});

describe('the order', () => {
  it('sets limits before it gives back', () => {
    const steps = plan({
      claims: [claim('mem_clock', 1000)],
      knobs: [row({ wrote: 500 })],
      settings: { power_cap: 500 },
    });
    expect(steps.map((step) => [step.do, step.knob])).toEqual([
      ['write', 'mem_clock'],
      ['restore', 'power_cap'],
    ]);
  });
});
