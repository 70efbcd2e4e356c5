import * as z from 'zod';
import { REASONS } from './reading.ts';
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
