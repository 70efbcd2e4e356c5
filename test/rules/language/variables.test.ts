import { describe, expect, it } from 'vitest';
import { Readings } from '../../../amdgpu/readings.ts';
import { THROTTLE_BITS } from '../../../amdgpu/tables/throttle.ts';
import type { Card } from '../../../model/card.ts';
import type { CardFacts, Facts } from '../../../model/facts.ts';
import type { Fact } from '../../../model/policy.ts';
import { apu } from '../../../model/quantities/apu.ts';
import { ALL_QUANTITIES } from '../../../model/quantities/catalogue.ts';
import { media } from '../../../model/quantities/media.ts';
import { partition } from '../../../model/quantities/partition.ts';
import { power } from '../../../model/quantities/power.ts';
import { thermal } from '../../../model/quantities/thermal.ts';
import type { Reading } from '../../../model/reading.ts';
import type { OpenTrigger } from '../../../model/trigger.ts';
import { ALIASES, KNOWN_LABELS } from '../../../rules/language/labels.ts';
import { type ScopeOptions, scopeOf } from '../../../rules/language/variables.ts';
import { buildVocabulary, describeVariables } from '../../../rules/language/vocabulary.ts';
import { thresholds, vocabulary, windows } from './condition-support.ts';

const PCI = '0000:c1:00.0';
/** Wednesday, 15 January 2025, 23:30 in Berlin. */
const WALL = Date.parse('2025-01-15T22:30:00Z');
const AT = 5_000_000;

const card: Card = {
  pci: PCI,
  gpu: 3,
  package: PCI,
  model: { name: 'MI300X', family: 'mi300', deviceId: '0x74a1', gfx: 'gfx942' },
  virtual: false,
  partitions: [{ number: 0 }],
  generation: 1,
};

type ByKey = Record<string, Reading<unknown>>;

function facts(readings: ByKey = {}, more: Partial<CardFacts> = {}, node: ByKey = {}): Facts {
  const one: CardFacts = {
    card,
    health: 'ok',
    readings: new Map(Object.entries(readings)),
    at: AT,
    stamp: '1',
    knobs: new Map(),
    protected: false,
    number: 3,
    numberSince: 0,
    ...more,
  };
  return {
    at: AT,
    wall: WALL,
    node: 'mi300x-07',
    cards: new Map([[PCI, one]]),
    nodeReadings: new Map(Object.entries(node)),
  };
}

function get(path: string, options: Partial<ScopeOptions> = {}): Fact {
  return scopeOf({ facts: facts(), target: { kind: 'gpu', pci: PCI }, rules: { thresholds, windows }, ...options }).get(
    path,
  );
}

const told = (path: string, options?: Partial<ScopeOptions>): unknown => {
  const fact = get(path, options);
  return 'value' in fact ? fact.value : `unknown: ${fact.unknown}`;
};

const reading = (value: unknown, age = 100): Reading<unknown> => ({ at: AT - age, source: 'test', value });
const trigger = (more: Partial<OpenTrigger>): OpenTrigger => ({
  source: 'alert',
  name: 'AmdGpuJunctionHot',
  key: 'f@1',
  phase: 'open',
  since: AT,
  at: AT,
  seenAt: AT - 500,
  values: {},
  trusted: true,
  ...more,
});

describe('variables of a GPU', () => {
  it.each([
    ['a number', 87.5, 87.5],
    ['zero, which is a value', 0, 0],
    ['a big whole number', 12n, 12],
    ['one beyond what a number holds', 2n ** 60n, 'unknown: not_exact'],
    ['not a number', Number.NaN, 'unknown: not_a_number'],
    ['without end', Number.POSITIVE_INFINITY, 'unknown: not_a_number'],
    ['neither number nor text', {}, 'unknown: wrong_type'],
  ])('%s', (_, value, expected) => {
    expect(told('gpu.power', { facts: facts({ power: reading(value) }) })).toBe(expected);
  });

  it('tell when and where they were read', () => {
    expect(get('gpu.power', { facts: facts({ power: reading(5) }) })).toEqual({
      value: 5,
      at: AT - 100,
      source: 'test',
    });
  });

  it('tell why they have no value', () => {
    const absent = { power: { at: AT - 1, source: 'power1_average', absent: 'timeout' } } as const;
    expect(get('gpu.power', { facts: facts(absent) })).toEqual({
      unknown: 'timeout',
      at: AT - 1,
      source: 'power1_average',
    });
    expect(told('gpu.power')).toBe('unknown: no_reading');
    expect(told('gpu.power', { facts: facts({}, { health: 'asleep' }) })).toBe('unknown: asleep');
    expect(told('gpu.power', { target: { kind: 'gpu', pci: 'gone' } })).toBe('unknown: no_card');
    expect(told('gpu.power', { target: { kind: 'node' } })).toBe('unknown: no_gpu');
  });

  it.each([
    ['fresh', 'power', 10_000, 1],
    ['too old', 'power', 10_001, 'unknown: stale'],
    ['ahead of the clock by a little', 'power', -10_000, 1],
    ['far ahead of the clock', 'power', -10_001, 'unknown: stale'],
    ['too old, with a label', 'temperature.junction', 11_000, 'unknown: stale'],
    ['static, which does not age', 'power_cap.max', 1e6, 1],
    ['static, with labels', 'temperature_limit.junction.critical', 1e6, 1],
    ['slow by design', 'vram_size', 1e6, 1],
    ['unknown to the catalogue, which ages', 'new_thing', 11_000, 'unknown: stale'],
  ])('%s', (_, key, age, expected) => {
    expect(told(`gpu.${key}`, { facts: facts({ [key]: reading(1, age) }) })).toBe(expected);
  });

  it('age by the limit that is given', () => {
    const old = { facts: facts({ power: reading(1, 3000) }), maxAgeMs: 2000 };
    expect(get('gpu.power', old)).toEqual({ unknown: 'stale', at: AT - 3000, source: 'test' });
  });

  it('include what we know of the card itself', () => {
    expect(told('gpu.number')).toBe(3);
    expect(told('gpu.model')).toBe('MI300X');
    expect(told('gpu.health', { facts: facts({}, { health: 'silent' }) })).toBe('silent');
    const nameless = { ...card, model: { ...card.model, name: '' } };
    expect(told('gpu.model', { facts: facts({}, { card: nameless }) })).toBe('unknown: absent');
  });

  it('include what became of our settings, on the function that carries them', () => {
    const asked: string[] = [];
    const settings: ScopeOptions['settings'] = (on, knob) => {
      asked.push(`${on} ${knob}`);
      return knob === 'power_cap' ? 'foreign' : undefined;
    };
    const knobs = new Map([['power_cap', { knob: 'power_cap', on: '0000:c0:00.0', adjustable: true }]] as const);
    const options = { settings, facts: facts({}, { knobs }) };
    expect(told('gpu.setting.power_cap', options)).toBe('foreign');
    expect(told('gpu.setting.mem_clock', options)).toBe('none');
    expect(asked).toEqual(['0000:c0:00.0 power_cap', `${PCI} mem_clock`]);
    expect(told('gpu.setting.power_cap')).toBe('unknown: no_settings');
    expect(told('gpu.setting.constructor', options)).toBe('unknown: no_such_variable');
  });
});

describe('variables of a partition', () => {
  const two = { ...card, partitions: [{ number: 0 }, { number: 1 }] };
  const readings = { 'process_isolation.0': reading(0), 'process_isolation.1': reading(1) };

  it('are those of the only one there is', () => {
    expect(told('partition.process_isolation', { facts: facts(readings) })).toBe(0);
  });

  it('are those of the one that the trigger names', () => {
    const named = { facts: facts(readings, { card: two }), trigger: trigger({ values: { partition: '1' } }) };
    expect(told('partition.process_isolation', named)).toBe(1);
    expect(told('partition.process_isolation', { facts: facts(readings, { card: two }) })).toBe(
      'unknown: no_partition',
    );
    const missing = { ...named, trigger: trigger({ values: { partition: '7' } }) };
    expect(told('partition.process_isolation', missing)).toBe('unknown: no_reading');
  });
});

describe('other variables', () => {
  it('of the node', () => {
    const options = { facts: facts({}, {}, { devcoredumps: reading(2) }), target: { kind: 'node' } as const };
    expect(told('node.name', options)).toBe('mi300x-07');
    expect(told('node.gpus', options)).toBe(1);
    expect(told('node.gpus', { facts: facts({}, { health: 'gone' }) })).toBe(0);
    expect(told('node.devcoredumps', options)).toBe(2);
    expect(told('node.ttm_pool_pages', options)).toBe('unknown: no_reading');
  });

  it('of an alert: labels are texts, and nothing else is there', () => {
    const options = { trigger: trigger({ values: { gpu: '3', 'kubernetes.io/hostname': 'a', number: 9 } }) };
    expect(told('alert.name', options)).toBe('AmdGpuJunctionHot');
    expect(told('alert.labels.gpu', options)).toBe('3');
    expect(told('alert.labels.number', options)).toBe('9');
    expect(told('alert.labels.kubernetes.io/hostname', options)).toBe('a');
    expect(told('alert.labels.severity', options)).toBe('unknown: not_sent');
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      expect(told(`alert.labels.${name}`, options)).toBe('unknown: not_sent');
    }
    expect(told('alert.name')).toBe('unknown: no_trigger');
    expect(told('alert.labels.gpu', { trigger: trigger({ source: 'manual' }) })).toBe('unknown: no_trigger');
  });

  it('of a signal', () => {
    const options = { trigger: trigger({ source: 'signal', name: 'burst', values: { value: 0.9, baseline: 0.2 } }) };
    expect(told('signal.value', options)).toBe(0.9);
    expect(told('signal.state.baseline', options)).toBe(0.2);
    expect(told('signal.state.level', options)).toBe('unknown: not_sent');
    expect(told('signal.value', { trigger: trigger({ values: { value: '1' } }) })).toBe('unknown: no_trigger');
  });

  it('of time, in the zone that is named, by the clock on the wall', () => {
    const options = { zone: 'Europe/Berlin' };
    expect(['hour', 'minute', 'weekday', 'day_of_month'].map((part) => told(`time.${part}`, options))).toEqual([
      23, 30, 3, 15,
    ]);
    expect(told('time.hour', { zone: 'Asia/Shanghai' })).toBe(6);
    expect(told('time.day_of_month', { rules: { thresholds, windows, zone: 'Asia/Shanghai' } })).toBe(16);
    expect(told('time.hour')).toBe('unknown: no_zone');
    expect(told('time.year', options)).toBe('unknown: no_such_variable');
  });

  it('of thresholds and windows', () => {
    expect(told('threshold.junction_hot')).toBe(85);
    expect(told('threshold.other')).toBe('unknown: no_such_variable');
    expect(told('window.night')).toBe(true);
    expect(told('window.other')).toBe('unknown: no_such_variable');
    expect(told('other.thing')).toBe('unknown: no_such_variable');
    expect(told('')).toBe('unknown: no_such_variable');
  });
});

describe('the vocabulary', () => {
  const find = (path: string) => vocabulary.find(path);

  it('finds what the table of readings calls so', () => {
    const readings = new Readings();
    readings.begin(AT);
    readings.put(power.capMax, 1, 's');
    readings.put(thermal.temperature, 1, 's', 'junction');
    readings.put(thermal.temperature, 1, 's', 'hbm3');
    readings.put(thermal.limit, 1, 's', 'mem', 'critical');
    readings.put(partition.isolation, 1, 's', '0');
    readings.put(media.busy, 1, 's', 'vcn', '1', '');
    readings.put(media.busy, 1, 's', 'vcn', '1', '0');
    for (const key of readings.toMap().keys())
      expect(find(`gpu.${key}`)).toMatchObject({ variable: { type: 'number' } });
    readings.begin(AT);
    readings.put(apu.socketPower, 1, 's', '0');
    for (const key of readings.toMap().keys())
      expect(find(`node.${key}`)).toMatchObject({ variable: { unit: 'watts' } });
  });

  it.each([
    ['gpu.power', 'number', 'watts'],
    ['gpu.power_cap.default', 'number', 'watts'],
    ['gpu.temperature.a_new_sensor', 'number', 'celsius'],
    ['gpu.perf_level.manual', 'number', undefined],
    ['partition.process_isolation', 'number', undefined],
    ['alert.labels.a.b/c', 'string', undefined],
    ['signal.state.x', 'number', undefined],
    ['window.night', 'boolean', undefined],
    ['time.hour', 'number', undefined],
    ['threshold.junction_hot', 'number', 'celsius'],
    ['gpu.setting.gfx_clock', 'string', undefined],
  ])('knows %s', (path, type, unit) => {
    const found = find(path);
    expect(found).toMatchObject({ variable: { path, type } });
    expect('variable' in found && found.variable.unit).toBe(unit);
  });

  it.each([
    ['gpu.temprature.junction', 'Did you mean gpu.temperature.junction?'],
    ['gpu.temperature.juntion', 'Did you mean gpu.temperature.junction?'],
    ['gpu.temperature.memory', 'Did you mean gpu.temperature.mem?'],
    ['gpu.temperature.hotspot', 'Did you mean gpu.temperature.junction?'],
    ['gpu.clock.sclk', 'Did you mean gpu.clock.gfx?'],
    ['gpu.temperature', 'It goes on: gpu.temperature.SENSOR, with junction'],
    ['gpu.temperature.', 'It goes on: gpu.temperature.SENSOR'],
    ['gpu.temperature_limit.mem', 'It goes on: gpu.temperature_limit.SENSOR.LIMIT'],
    ['gpu.process_isolation', 'gpu.process_isolation.PARTITION, or use partition.process_isolation.'],
    ['gpu.process_isolation.0.1', 'gpu.process_isolation.PARTITION'],
    ['gpu.xcc_busy.3', 'gpu.xcc_busy.XCC.PARTITION, or use partition.xcc_busy.3.'],
    ['gpu.power.now', 'Did you mean gpu.power'],
    ['gpu.power.', 'Did you mean gpu.power'],
    ['gpu.helth', 'Did you mean gpu.health?'],
    ['temperature.junction', 'Did you mean gpu.temperature.junction?'],
    ['power', 'Did you mean gpu.power?'],
    ['node.nmae', 'Did you mean node.name?'],
    ['window.nigth', 'Did you mean window.night?'],
    ['threshold.junction_hto', 'Did you mean threshold.junction_hot?'],
    ['time.hours', 'Did you mean time.hour?'],
    ['alert.labels.', 'Did you mean alert.name?'],
    ['gpu.process_vram.1.python', 'Did you mean gpu.processes_vram?'],
    ['zzzzzzzz', 'docs/policies.md'],
  ])('does not know %s and says what may be meant', (path, hint) => {
    expect(find(path)).toMatchObject({ unknown: path, hint: expect.stringContaining(hint) });
  });

  it.each([
    ['workload.priority', 'gpu.*'],
    ['inference.queue', 'alert'],
    ['workload', 'gpu.*'],
    ['gpu.throttle.ppt', 'throttle_active'],
    ['gpu.accumulation', 'alert'],
  ])('refuses %s by name', (path, hint) => {
    expect(find(path)).toMatchObject({ refused: expect.any(String), hint: expect.stringContaining(hint) });
  });

  it('refuses time without a zone', () => {
    expect(buildVocabulary().find('time.hour')).toMatchObject({ refused: expect.stringContaining('zone') });
    expect(buildVocabulary({ zone: 'UTC' }).find('time.hour')).toMatchObject({ variable: { type: 'number' } });
  });

  it('refuses all keys that two units share', () => {
    const units = new Map<string, Set<string>>();
    for (const { key, unit } of ALL_QUANTITIES) units.set(key, (units.get(key) ?? new Set()).add(unit));
    const shared = [...units].filter(([, found]) => found.size > 1).map(([key]) => key);
    expect(shared).not.toEqual([]);
    for (const key of shared) expect(find(`gpu.${key}.x`)).toHaveProperty('refused');
  });

  it('is described row by row', () => {
    const rows = describeVariables(vocabulary);
    expect(new Set(rows.map(({ path }) => path)).size).toBe(rows.length);
    for (const { meaning } of rows) expect(meaning).toMatch(/\.$/);
    // What find refuses, or does not know, is not offered.
    for (const { path } of rows) expect(vocabulary.find(path.replace('NAME', 'x'))).toHaveProperty('variable');
    expect(rows).toContainEqual({
      path: 'gpu.temperature.SENSOR',
      type: 'number',
      unit: 'celsius',
      meaning: 'Temperature of a sensor.',
    });
    expect(rows.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['threshold.junction_hot', 'alert.labels.NAME', 'time.hour']),
    );
  });

  it('knows labels of quantities that exist, and leads other names to them', () => {
    const keys = new Set(ALL_QUANTITIES.map(({ key }) => key));
    for (const key of KNOWN_LABELS.keys()) expect(keys).toContain(key);
    for (const [key, aliases] of ALIASES) {
      for (const [alias, label] of Object.entries(aliases)) {
        expect(KNOWN_LABELS.get(key)).toContain(label);
        expect(KNOWN_LABELS.get(key)).not.toContain(alias);
      }
    }
    const causes = new Set(Object.values(THROTTLE_BITS).flatMap((map) => [...map.values()]));
    for (const cause of causes) expect(find(`gpu.throttle_active.${cause}`)).toHaveProperty('variable');
  });
});
