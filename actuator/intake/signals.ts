import { StringDecoder } from 'node:string_decoder';
import type { Problem } from '../../base/errors.ts';
import type { Instant } from '../../model/instant.ts';
import type { Signal } from '../../model/signal.ts';
import type { OpenTrigger, Trigger } from '../../model/trigger.ts';
import { signalOfWire, signalSchema } from '../../model/wire.ts';
import { checked, type Parsed } from './refusal.ts';

/** A signal is a few hundred bytes. */
const LONGEST_LINE = 65_536;

/** One line of a recording: the signal, or what is wrong with the line. */
export type SignalLine = { signal: Signal } | { problem: Problem };

/** Reads one JSON text of a signal. */
export function parseSignal(text: string): Parsed<Signal> {
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (error) {
    return { refusal: { pointer: '', message: `is not JSON: ${(error as Error).message.slice(0, 120)}` } };
  }
  const parsed = checked(signalSchema, input);
  return 'refusal' in parsed ? parsed : { value: signalOfWire(parsed.value) };
}

/**
 * Reads a recording, a signal a line. A line that cannot be read is a problem with its number, and the rest goes on; empty
 * lines are nothing. `file` is for the problems' places. Memory is bounded by the longest line that is taken.
 */
export async function* readSignals(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  file: string,
): AsyncGenerator<SignalLine> {
  let line = 0;
  for await (const text of linesOf(source)) {
    line += 1;
    if (text === undefined)
      yield { problem: { message: `is longer than ${LONGEST_LINE} characters`, at: { file, line } } };
    else if (text.trim() !== '') yield read(text, { file, line });
  }
}

function read(text: string, at: NonNullable<Problem['at']>): SignalLine {
  const parsed = parseSignal(text);
  if ('value' in parsed) return { signal: parsed.value };
  const { pointer, message } = parsed.refusal;
  return { problem: { message: `${pointer || 'the line'} ${message}`, at } };
}

/** Undefined stands for a line that is too long, of which nothing is kept. */
async function* linesOf(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<string | undefined> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let tooLong = false;
  const cut = (): string | undefined => {
    const whole = tooLong || rest.length > LONGEST_LINE ? undefined : rest;
    rest = '';
    tooLong = false;
    return whole;
  };
  for await (const chunk of source) {
    const parts = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)).split('\n');
    const last = parts.pop() ?? '';
    for (const part of parts) {
      rest += part;
      yield cut();
    }
    rest += last;
    if (rest.length > LONGEST_LINE) {
      tooLong = true;
      rest = '';
    }
  }
  rest += decoder.end();
  if (rest !== '' || tooLong) yield cut();
}

export interface SignalContext {
  /** Steady time. */
  at: Instant;
  /** The exporter was reached in a way that proves it: a Unix socket, or a token. */
  trusted: boolean;
  known: (key: string) => OpenTrigger | undefined;
}

/**
 * The trigger of a signal; undefined where it says what is known: an update of what has ended, a second end. An update of
 * what we did not hear begin opens it: the link to the exporter may come up in the middle.
 */
export function signalTrigger(signal: Signal, { at, trusted, known }: SignalContext): Trigger | undefined {
  const { id, kind, pci, workload, value, state } = signal;
  const row = known(id);
  if (row?.closedAt !== undefined) return undefined;
  return {
    source: 'signal',
    name: kind,
    key: id,
    phase: signal.phase === 'end' ? 'close' : row === undefined ? 'open' : 'renew',
    ...targetOf(pci, workload),
    since: row?.since ?? signal.at,
    at,
    values: { ...state, value, ...(workload === undefined ? {} : { workload }) },
    trusted,
  };
}

/** A signal about a workload on a card is about the card; the workload stays in its values. */
function targetOf(pci: string | undefined, workload: string | undefined): Pick<Trigger, 'target'> {
  if (pci !== undefined) return { target: { kind: 'gpu', pci } };
  return workload === undefined ? {} : { target: { kind: 'workload', id: workload } };
}
