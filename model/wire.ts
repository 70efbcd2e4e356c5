import * as z from 'zod';
import { REASONS } from './reading.ts';
import { SIGNAL_KINDS, SIGNAL_OWN_VALUES, SIGNAL_PHASES, type Signal } from './signal.ts';
import { WIRE_VERSION } from './wire-version.ts';

const at = z.number().int().describe('milliseconds since the epoch');
const source = z.string().describe('kernel file or table field');

/** A value that does not fit a JSON number travels as a string of decimal digits. */
export const readingSchema = z.union([
  z.object({ at, source, value: z.union([z.number(), z.string()]) }),
  z.object({ at, source, absent: z.enum(REASONS) }),
]);

export const cardStateSchema = z.object({
  pci: z.string(),
  gpu: z.number().int(),
  package: z.string(),
  model: z.object({ name: z.string(), family: z.string(), deviceId: z.string(), gfx: z.string() }),
  virtual: z.boolean(),
  generation: z.number().int(),
  health: z.enum(['ok', 'silent', 'asleep', 'resetting', 'gone']),
  partitions: z.array(
    z.object({
      number: z.number().int(),
      renderMinor: z.number().int().optional(),
      kfdNode: z.number().int().optional(),
      kfdGpuId: z.number().int().optional(),
    }),
  ),
  readings: z.record(z.string(), readingSchema),
});

export const processSchema = z.object({
  pid: z.number().int(),
  comm: z.string(),
  pci: z.string(),
  gpu: z.number().int().optional(),
  partition: z.string(),
  vramBytes: z.number().optional(),
  source: z.enum(['kfd', 'fdinfo']),
});

/** `GET /v1/state`. */
export const stateSchema = z.object({
  version: z.literal(WIRE_VERSION),
  node: z.string(),
  at,
  cards: z.array(cardStateSchema),
  processes: z.array(processSchema),
});
export type WireState = z.infer<typeof stateSchema>;
export type WireReading = z.infer<typeof readingSchema>;

const stateName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,62}$/)
  .refine((name) => !SIGNAL_OWN_VALUES.includes(name), 'is taken');

/** One event of `GET /v1/signals`, and one line of a recording. */
export const signalSchema = z.object({
  version: z.literal(WIRE_VERSION),
  id: z.string().min(1).max(128),
  at,
  kind: z.enum(SIGNAL_KINDS),
  phase: z.enum(SIGNAL_PHASES),
  pci: z.exactOptional(z.string().regex(/^([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]|kfd-\d+)$/)),
  workload: z.exactOptional(z.string().min(1).max(256)),
  value: z.number(),
  state: z.record(stateName, z.number()),
});
export type WireSignal = z.infer<typeof signalSchema>;

export function wireSignal(signal: Signal): WireSignal {
  return { version: WIRE_VERSION, ...signal };
}

export function signalOfWire({ version: _, ...signal }: WireSignal): Signal {
  return signal;
}
