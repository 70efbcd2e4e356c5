import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Readings } from '../../amdgpu/readings.ts';
import { wireState } from '../../exporter/api.ts';
import type { Card, CardState } from '../../model/card.ts';
import { xgmi } from '../../model/quantities/xgmi.ts';
import { stateSchema } from '../../model/wire.ts';
import { startExporter, type TestExporter } from '../support/exporter.ts';
import { type WrittenNode, writtenNode } from '../support/nodes.ts';

const card: Card = {
  pci: '0000:03:00.0',
  gpu: 0,
  package: '0000:03:00.0',
  model: { name: 'MI300X', family: 'mi300', deviceId: '0x74a1', gfx: 'gfx942' },
  virtual: false,
  partitions: [{ number: 0, renderMinor: 128 }],
  generation: 1,
};

describe('the state for other programs', () => {
  it('carries values that no JSON number holds as text', () => {
    const readings = new Readings();
    readings.begin(1000);
    readings.put(xgmi.read, 2n ** 63n + 1n, 'gpu_metrics', '0');
    readings.put(xgmi.write, 7, 'gpu_metrics', '0');
    readings.miss(xgmi.linkSpeed, 'busy', 'gpu_metrics');
    const state: CardState = { card, health: 'ok', readings: readings.toMap() };
    const sent = JSON.parse(JSON.stringify(wireState('n', 2000, [state], [])));
    expect(stateSchema.parse(sent)).toEqual(sent);
    expect(sent.cards[0].readings).toEqual({
      'xgmi_read.0': { at: 1000, source: 'gpu_metrics', value: '9223372036854775809' },
      'xgmi_write.0': { at: 1000, source: 'gpu_metrics', value: 7 },
      xgmi_link_speed: { at: 1000, source: 'gpu_metrics', absent: 'busy' },
    });
  });

  it('does not hand out the exporter\u2019s own objects', () => {
    const state: CardState = { card, health: 'ok', readings: new Map() };
    const sent = wireState('n', 1, [state], []);
    (sent.cards[0] as { partitions: unknown[] }).partitions.push({ number: 9 });
    expect(card.partitions).toHaveLength(1);
  });
});

describe.each([
  ['a divided MI300X', { model: 'mi300x', cards: 2, partition: 'cpx' }],
  ['two MI250X', { model: 'mi250x', cards: 2 }],
] as const)('the state of %s', (_name, options) => {
  let written: WrittenNode;
  let running: TestExporter;
  beforeAll(async () => {
    written = writtenNode(options);
    running = await startExporter(written.tree);
    await running.settled();
  });
  afterAll(() => {
    running.close();
    written.remove();
  });

  it('keeps to the schema, and has a card for each GPU', () => {
    const { node } = running.exporter;
    const sent = JSON.parse(JSON.stringify(wireState('n', node.current().at, node.states(), [])));
    const state = stateSchema.parse(sent);
    expect(state.cards.map(({ pci }) => pci)).toEqual(written.node.gpus.map(({ pci }) => pci));
    for (const one of state.cards) {
      expect(one.health).toBe('ok');
      expect(one.readings['temperature.junction']).toMatchObject({ source: 'gpu_metrics' });
      expect(Object.keys(one.readings).length).toBeGreaterThan(100);
    }
  });
});
