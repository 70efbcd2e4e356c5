import { describe, expect, it } from 'vitest';
import { claimsOf } from '../../../actuator/settings/claims.ts';
import type { Case } from '../../../model/case.ts';
import type { KnobFacts, KnobName } from '../../../model/claim.ts';
import type { CardFacts } from '../../../model/facts.ts';
import type { Action } from '../../../model/policy.ts';
import { factsOf } from './fake-card.ts';

const ON = '0000:c1:00.0';

function card(pci: string, name: string, knobs: ReadonlyMap<KnobName, KnobFacts>): CardFacts {
  return {
    card: {
      pci,
      gpu: 0,
      package: pci,
      model: { name, family: 'mi300', deviceId: '', gfx: '' },
      virtual: false,
      partitions: [],
      generation: 0,
    },
    health: 'ok',
    readings: new Map(),
    at: 0,
    stamp: '0',
    knobs,
    protected: false,
    number: 0,
    numberSince: 0,
  };
}

const MI300X = card(ON, 'MI300X', factsOf(ON));
const LADDER: Action = {
  kind: 'ladder',
  variable: 'gpu.temperature.junction',
  hysteresis: 3,
  rungs: [
    { at: 90, powerCap: { share: 0.8 } },
    { at: 95, powerCap: { share: 0.6 }, clockMax: 1500 },
  ],
};
const MODE: Action = {
  kind: 'mode',
  mode: 'quiet',
  any: { powerCap: { watts: 400 } },
  byModel: { MI300X: { powerCap: { watts: 450 }, memClockMax: 1000 } },
};

function wishes(actions: Action[], one: Partial<Case> = {}, cards: readonly CardFacts[] = [MI300X]): string[] {
  const { claims } = claimsOf({ do: actions, thermal: true }, { id: 'case', ...one }, cards);
  return claims.map(({ on, knob, atMost }) => `${on === ON ? '' : `${on} `}${knob} ${atMost}`);
}

describe('the claims of an action', () => {
  it.each<[string, Action[], Partial<Case>, string[]]>([
    ['watts', [{ kind: 'throttle', powerCap: { watts: 450 } }], {}, ['power_cap 450']],
    ['a share of the default', [{ kind: 'throttle', powerCap: { share: 0.75 } }], {}, ['power_cap 562']],
    [
      'a share that is whole but for the arithmetic',
      [{ kind: 'throttle', powerCap: { share: 0.58 } }],
      {},
      ['power_cap 435'],
    ],
    ['clocks', [{ kind: 'throttle', clockMax: 1500, memClockMax: 1000 }], {}, ['gfx_clock 1500', 'mem_clock 1000']],
    [
      'what lies below the floor, as it was wished',
      [{ kind: 'throttle', powerCap: { watts: 1 } }],
      {},
      ['power_cap 1'],
    ],
    ['a mode by its model', [MODE], {}, ['power_cap 450', 'mem_clock 1000']],
    ['no rung', [LADDER], { rungs: { 0: -1 } }, []],
    ['a ladder that was not climbed yet', [LADDER], {}, []],
    ['the first rung', [LADDER], { rungs: { 0: 0 } }, ['power_cap 600']],
    ['the second rung', [LADDER], { rungs: { 0: 1 } }, ['power_cap 450', 'gfx_clock 1500']],
    ['a rung that the ladder no longer has', [LADDER], { rungs: { 0: 9 } }, []],
    ['words', [{ kind: 'notify', text: 'hot' }], {}, []],
    [
      'the lowest of two actions',
      [MODE, { kind: 'throttle', powerCap: { watts: 430 } }],
      {},
      ['power_cap 430', 'mem_clock 1000'],
    ],
    ['by the index of the action', [MODE, LADDER], { rungs: { 1: 0 } }, ['power_cap 450', 'mem_clock 1000']],
    [
      'blind: the floor of all that could be claimed',
      [LADDER],
      { blind: true, rungs: { 0: -1 } },
      ['power_cap 300', 'gfx_clock 840'],
    ],
  ])('are %s', (_, actions, one, expected) => {
    expect(wishes(actions, one)).toEqual(expected);
  });

  it('carry their case, and whether they are for safety', () => {
    const actions: Action[] = [{ kind: 'throttle', powerCap: { watts: 450 } }];
    const { claims } = claimsOf({ do: actions, thermal: false }, { id: 'case' }, [MI300X]);
    expect(claims).toEqual([{ case: 'case', on: ON, knob: 'power_cap', atMost: 450, safety: false }]);
  });

  it('are for every model that a mode has for any', () => {
    expect(wishes([MODE], {}, [card(ON, 'MI210', factsOf(ON))])).toEqual(['power_cap 400']);
    expect(wishes([MODE], {}, [card(ON, 'constructor', factsOf(ON))])).toEqual(['power_cap 400']);
  });

  it('on a package go to the die that carries the knob, once', () => {
    const second = '0000:c6:00.0';
    const knobs = factsOf(second);
    knobs.set('power_cap', factsOf(ON).get('power_cap') as KnobFacts);
    const dies = [MI300X, card(second, 'MI250X', knobs)];
    const actions: Action[] = [{ kind: 'throttle', powerCap: { watts: 450 }, clockMax: 1500 }];
    expect(wishes(actions, {}, dies)).toEqual(['power_cap 450', 'gfx_clock 1500', `${second} gfx_clock 1500`]);
  });
});

describe('what cannot be claimed', () => {
  const fact = (rest: Partial<KnobFacts>): Map<KnobName, KnobFacts> =>
    new Map([['power_cap', { knob: 'power_cap', on: ON, adjustable: true, ...rest }]]);
  const half: Action = { kind: 'throttle', powerCap: { share: 0.5 } };

  it.each<[string, Action, Partial<Case>, Map<KnobName, KnobFacts>, object]>([
    [
      'a guest',
      half,
      {},
      fact({ adjustable: false, why: 'virtual_function' }),
      { knob: 'power_cap', why: 'virtual_function' },
    ],
    ['nothing known', half, {}, new Map(), { knob: 'power_cap', why: 'unknown' }],
    ['a share of nothing known', half, {}, fact({ floor: 300 }), { knob: 'power_cap', why: 'no_default' }],
    [
      'a floor that is not known',
      half,
      { blind: true },
      fact({ default: 750 }),
      { knob: 'power_cap', why: 'no_floor' },
    ],
    [
      'a mode without this model',
      { kind: 'mode', mode: 'quiet', byModel: {} },
      {},
      fact({}),
      { why: 'no_mode_for_model' },
    ],
  ])('is named with its reason: %s', (_, action, one, knobs, expected) => {
    const found = claimsOf({ do: [action], thermal: true }, { id: 'case', ...one }, [card(ON, 'MI300X', knobs)]);
    expect(found).toEqual({ claims: [], notAdjustable: [{ pci: ON, ...expected }] });
  });

  it('is named once, and takes nothing from the rest', () => {
    const found = claimsOf({ do: [LADDER], thermal: true }, { id: 'case', blind: true }, [
      card(ON, 'MI300X', factsOf(ON, ['power_cap'])),
    ]);
    expect(found.notAdjustable).toEqual([{ pci: ON, knob: 'power_cap', why: 'unknown' }]);
    expect(found.claims).toMatchObject([{ knob: 'gfx_clock', atMost: 840 }]);
  });
});
