import fc from 'fast-check';
import { Counter, Gauge, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { Readings } from '../../amdgpu/readings.ts';
import {
  escapeHelp,
  labelText,
  renderFamily,
  SteadyBodies,
  type Table,
  TextWriter,
  writeFamily,
} from '../../exporter/exposition.ts';
import { helpText, metricName, type Quantity } from '../../model/quantities/quantity.ts';
import type { Value } from '../../model/reading.ts';
import { parseScrape } from '../support/scrape.ts';

const gauge: Quantity = {
  key: 'test',
  labels: ['sensor', 'limit'],
  unit: 'celsius',
  kind: 'gauge',
  rows: ['T1'],
  cadence: 'fast',
  sources: ['a', 'b\\c'],
  help: 'What it is,\nin "two" lines with \\ in them.',
  group: 'thermal',
};
const counter: Quantity = {
  ...gauge,
  key: 'test_counted',
  labels: [],
  unit: 'bytes',
  kind: 'counter',
  partitioned: true,
};

interface Row {
  gpu: string;
  value: Value;
  labels: string[];
}

function ours(quantity: Quantity, rows: readonly Row[]): string {
  const tables = new Map<string, Readings>();
  for (const { gpu, value, labels } of rows) {
    let readings = tables.get(gpu);
    if (readings === undefined) {
      readings = new Readings();
      readings.begin(1);
      tables.set(gpu, readings);
    }
    readings.put(quantity, value, 'test', ...labels);
  }
  return renderFamily(
    quantity,
    [...tables].map(([gpu, readings]): Table => ({ gpu, readings })),
  );
}

async function theirs(quantity: Quantity, rows: readonly Row[]): Promise<string> {
  const registers = [new Registry()];
  const labelNames = ['gpu', ...quantity.labels, ...(quantity.partitioned === true ? ['partition'] : [])];
  const config = { name: metricName(quantity), help: helpText(quantity), labelNames, registers };
  const metric = quantity.kind === 'counter' ? new Counter(config) : new Gauge(config);
  for (const { gpu, value, labels } of rows) {
    const pairs = labelNames.map((name, i) => [name, i === 0 ? gpu : (labels[i - 1] as string)] as const);
    metric.inc(Object.fromEntries(pairs.filter(([, label]) => label !== '')), Number(value));
  }
  return (registers[0] as Registry).metrics();
}

async function same(quantity: Quantity, rows: readonly Row[]): Promise<void> {
  const text = ours(quantity, rows);
  expect(text).toBe(`${(await theirs(quantity, rows)).trimEnd()}\n\n`);
  expect(
    parseScrape(text)
      .get(metricName(quantity))
      ?.samples.map(({ labels }) => labels.gpu),
  ).toEqual(rows.map(({ gpu }) => gpu));
}

describe('the bytes of a family are those of prom-client', () => {
  const row = (value: Value, ...labels: string[]): Row => ({ gpu: '0', value, labels });

  it('for labels with quotes, backslashes and line feeds', async () => {
    await same(gauge, [row(1, 'a"b', 'c\\d'), row(2, 'e\nf', '\\n'), row(3, '"', '\\'), row(4, 'ä µ 漢', '{},=')]);
  });

  it('for a HELP with backslashes and line feeds', async () => {
    const text = ours(gauge, [row(1, 'a', 'b')]);
    expect(parseScrape(text).get(metricName(gauge))?.help).toBe(helpText(gauge));
    await same(gauge, [row(1, 'a', 'b')]);
  });

  it.each([0, -1, 0.1, 1 / 3, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 2 ** 53, -273.15, 123456789012])(
    'for the number %d',
    async (value) => {
      await same(gauge, [row(value, 'a', 'b')]);
    },
  );

  it('for labels that are empty, which are left out', async () => {
    await same(gauge, [row(1, 'a', ''), row(2, '', 'b')]);
    expect(ours(gauge, [row(1, '', '')])).toContain('amdgpu_test_celsius{gpu="0"} 1\n');
  });

  it('for counters of several cards with partitions', async () => {
    await same(counter, [
      { gpu: '0', value: 5, labels: ['0'] },
      { gpu: '0', value: 6, labels: ['1'] },
      { gpu: '7', value: 7, labels: ['0'] },
    ]);
    expect(ours(counter, [{ gpu: '0', value: 5, labels: ['0'] }])).toContain(
      '# TYPE amdgpu_test_counted_bytes_total counter\n',
    );
  });

  it('for any labels and values', async () => {
    const label = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', ' ', '}', ',', 'ä') });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(label, label, fc.double({ noNaN: true, noDefaultInfinity: true })), {
          selector: ([a, b]) => JSON.stringify([a, b]),
          minLength: 1,
        }),
        async (rows) => {
          // -0 is 0 to Prometheus, and prom-client adds to 0.
          const all = rows.map(([a, b, value]) => row(value + 0, a, b));
          await same(gauge, all);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('beyond what prom-client can do', () => {
  it('64-bit values keep every digit', () => {
    const text = ours(counter, [{ gpu: '0', value: 2n ** 63n + 1n, labels: ['0'] }]);
    expect(text).toContain('{gpu="0",partition="0"} 9223372036854775809\n');
  });

  it('no NaN and no infinity is ever written', () => {
    const text = ours(gauge, [
      { gpu: '0', value: Number.NaN, labels: ['a', 'b'] },
      { gpu: '0', value: Number.POSITIVE_INFINITY, labels: ['c', 'd'] },
    ]);
    expect(text).toBe('');
  });
});

describe('what was written before', () => {
  it('is kept for tables that change seldom, and does not stay when a series is gone from a new pass', () => {
    const readings = new Readings();
    const table: Table = { gpu: '0', readings };
    const steady = new SteadyBodies();
    const written = (): string => {
      steady.use([table]);
      const writer = new TextWriter();
      writeFamily(writer, gauge, [], steady);
      return writer.copy().toString();
    };
    readings.begin(1);
    readings.put(gauge, 1, 'test', 'a', 'b');
    expect(written()).toContain('sensor="a"');
    expect(written()).toBe(renderFamily(gauge, [table]));
    readings.begin(2);
    expect(written()).toBe('');
    readings.begin(3);
    readings.put(gauge, 5, 'test', 'a', 'b');
    expect(written()).toMatch(/ 5\n\n$/);
    steady.use([]);
    const writer = new TextWriter();
    writeFamily(writer, gauge, [], steady);
    expect(writer.length).toBe(0);
  });

  it('belongs to its own card', () => {
    const [a, b] = [new Readings(), new Readings()] as const;
    for (const readings of [a, b]) {
      readings.begin(1);
      readings.put(gauge, 1, 'test', 'x', 'y');
    }
    const text = renderFamily(gauge, [
      { gpu: '0', readings: a },
      { gpu: '1', readings: b },
    ]);
    expect(text.match(/gpu="(\d)"/g)).toEqual(['gpu="0"', 'gpu="1"']);
  });
});

it('values of the node carry no card', () => {
  const readings = new Readings();
  readings.begin(1);
  const quantity: Quantity = { ...counter, partitioned: false, node: true };
  readings.put(quantity, 3, 'test');
  expect(renderFamily(quantity, [{ gpu: undefined, readings }])).toMatch(/^amdgpu_test_counted_bytes_total 3$/m);
});

it('escaping leaves ordinary text alone', () => {
  expect(labelText([['a', 'b c']])).toBe('{a="b c"}');
  expect(labelText([])).toBe('');
  expect(escapeHelp('a "b"')).toBe('a "b"');
});
