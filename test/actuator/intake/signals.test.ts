import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSignal, readSignals, type SignalLine, signalTrigger } from '../../../actuator/intake/signals.ts';
import { take } from '../../../actuator/intake/take.ts';
import { SIGNAL_KINDS, type Signal } from '../../../model/signal.ts';
import type { OpenTrigger } from '../../../model/trigger.ts';
import { signalOfWire, signalSchema, wireSignal } from '../../../model/wire.ts';

const burst: Signal = {
  id: 'burst-17',
  at: 1_700_000_000_000,
  kind: 'burst',
  phase: 'start',
  pci: '0000:c1:00.0',
  value: 0.72,
  state: { baseline: 0.1, samples: 12 },
};
const wire = (change: object = {}) => JSON.stringify({ ...wireSignal(burst), ...change });

describe('a signal on the wire', () => {
  it('comes back as it was sent, every kind of it', () => {
    for (const kind of SIGNAL_KINDS) {
      const sent = { ...burst, kind };
      expect(signalOfWire(signalSchema.parse(JSON.parse(JSON.stringify(wireSignal(sent)))))).toStrictEqual(sent);
    }
  });

  it.each([
    ['a later version', wire({ version: 2 }), '/version'],
    ['no version', wire({ version: undefined }), '/version'],
    ['an unknown kind', wire({ kind: 'flood' }), '/kind'],
    ['another phase', wire({ phase: 'begin' }), '/phase'],
    ['no id', wire({ id: '' }), '/id'],
    ['a time that is a text', wire({ at: '2026' }), '/at'],
    ['an address in capitals', wire({ pci: '0000:C1:00.0' }), '/pci'],
    ['no value', wire({ value: null }), '/value'],
    ['state that is a text', wire({ state: { a: 'b' } }), '/state/a'],
    ['state by the name of the value', wire({ state: { value: 1 } }), '/state/value'],
    ['a list', '[]', ''],
    ['half of it', wire().slice(0, 20), ''],
  ])('is refused with %s', (_why, text, pointer) => {
    expect(parseSignal(text)).toMatchObject({ refusal: { pointer } });
  });
});

describe('a recording', () => {
  async function read(...chunks: (string | Uint8Array)[]): Promise<SignalLine[]> {
    const found: SignalLine[] = [];
    const bytes = chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
    for await (const one of readSignals(bytes, 'night.jsonl')) found.push(one);
    return found;
  }
  const lineOf = (one: SignalLine) => ('problem' in one ? one.problem.at?.line : one.signal.id);

  it('goes on behind lines that cannot be read, and says which they are', async () => {
    const text = [
      wire({ id: 'a' }),
      '',
      '{"version":1',
      wire({ id: 'b' }),
      wire({ kind: 'x' }),
      wire({ id: 'c' }),
    ].join('\n');
    const found = await read(text);
    expect(found.map(lineOf)).toEqual(['a', 3, 'b', 5, 'c']);
    expect(found[3]).toEqual({
      problem: { message: expect.stringMatching(/^\/kind /), at: { file: 'night.jsonl', line: 5 } },
    });
  });

  it('bounds its lines', async () => {
    const long = 'x'.repeat(200_000);
    expect(
      (await read(`${wire({ id: 'a' })}\n${long}`, long, `${long}\n${wire({ id: 'b' })}\n`, long)).map(lineOf),
    ).toEqual(['a', 2, 'b', 4]);
  });

  it('has a last line that was cut within a character', async () => {
    expect((await read(Buffer.from([0xf0, 0x9f]))).map(lineOf)).toEqual([1]);
  });

  it('reads the same however it is cut into pieces', async () => {
    const text = Buffer.from(`${wire({ id: 'Z\u00fcrich' })}\r\nbad \u{1F9CA}\n\n${wire({ id: 'b' })}`);
    const whole = await read(text);
    expect(whole.map(lineOf)).toEqual(['Z\u00fcrich', 2, 'b']);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(text.length), { maxLength: 8 }), async (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), text.length];
        const pieces = at.slice(1).map((end, i) => text.subarray(at[i], end));
        expect(await read(...pieces)).toEqual(whole);
      }),
    );
  });
});

describe('the trigger of a signal', () => {
  const context = (rows: OpenTrigger[] = [], trusted = true) => {
    const book = new Map(rows.map((one) => [one.key, one]));
    return { at: 50, trusted, known: (key: string) => book.get(key) };
  };
  const started = signalTrigger(burst, context())!;
  const row = take(started, undefined);
  const ended = take(signalTrigger({ ...burst, phase: 'end' }, context([row]))!, row);

  it('carries its value beside its state', () => {
    expect(started).toEqual({
      source: 'signal',
      name: 'burst',
      key: 'burst-17',
      phase: 'open',
      target: { kind: 'gpu', pci: '0000:c1:00.0' },
      since: burst.at,
      at: 50,
      values: { value: 0.72, baseline: 0.1, samples: 12 },
      trusted: true,
    });
  });

  it.each([
    ['start', [], 'open'],
    ['start', [row], 'renew'],
    ['start', [ended], undefined],
    ['update', [row], 'renew'],
    ['update', [], 'open'],
    ['update', [ended], undefined],
    ['end', [row], 'close'],
    ['end', [], 'close'],
    ['end', [ended], undefined],
  ] as const)('of a %s, with %j in the book, is %s', (phase, rows, expected) => {
    expect(signalTrigger({ ...burst, phase }, context([...rows]))?.phase).toBe(expected);
  });

  it('brings new values, and keeps its beginning', () => {
    const update = signalTrigger({ ...burst, phase: 'update', at: burst.at + 500, value: 0.9 }, context([row]))!;
    expect(take(update, row)).toMatchObject({ since: burst.at, values: { value: 0.9 } });
  });

  it.each([
    ['a card', { pci: '0000:c1:00.0' }, { kind: 'gpu', pci: '0000:c1:00.0' }],
    ['a workload', { workload: 'slurm/4711' }, { kind: 'workload', id: 'slurm/4711' }],
    ['a workload on a card', { pci: '0000:c1:00.0', workload: 'slurm/4711' }, { kind: 'gpu', pci: '0000:c1:00.0' }],
    ['the node', {}, undefined],
  ])('is about %s', (_why, about, target) => {
    const { pci: _, ...rest } = burst;
    const made = signalTrigger({ ...rest, ...about }, context())!;
    expect(made.target).toEqual(target);
    expect(made.values.workload).toBe((about as { workload?: string }).workload);
  });
});
