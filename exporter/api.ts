import type { CardState } from '../model/card.ts';
import type { Reading } from '../model/reading.ts';
import type { WireReading, WireState } from '../model/wire.ts';
import { WIRE_VERSION } from '../model/wire-version.ts';
import type { ListedProcess } from './processes/collector.ts';

/** The newest readings of all cards, as other programs get them. */
export function wireState(
  node: string,
  at: number,
  cards: readonly CardState[],
  processes: readonly ListedProcess[],
): WireState {
  return {
    version: WIRE_VERSION,
    node,
    at,
    cards: cards.map(({ card, health, readings }) => ({
      ...card,
      health,
      partitions: card.partitions.map((one) => ({ ...one })),
      readings: Object.fromEntries([...readings].map(([key, reading]) => [key, wireReading(reading)])),
    })),
    processes: processes.map((one) => ({ ...one })),
  };
}

function wireReading(reading: Reading<unknown>): WireReading {
  const { at, source } = reading;
  if ('absent' in reading) return { at, source, absent: reading.absent };
  const { value } = reading;
  return { at, source, value: typeof value === 'number' ? value : String(value) };
}
