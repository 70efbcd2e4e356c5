import type { Instant } from './instant.ts';
import type { TargetKind } from './target.ts';
import type { TriggerSource } from './trigger.ts';

export const POLICY_MODES = ['off', 'dry_run', 'enforce'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** Of three values: what cannot be known neither acts nor undoes. */
export type Truth = boolean | 'unknown';

/** The value of a variable at a moment, or why there is none. */
export type Fact =
  | { value: number | string | boolean; at: Instant; source: string }
  | { unknown: string; at?: Instant; source?: string };

/** Answers variables (`gpu.temperature.junction`) for one target at one moment. */
export interface Scope {
  readonly now: Instant;
  get(path: string): Fact;
}

/** One step of an evaluation, for people: which operator saw which values, how old, and what came out. */
export interface TraceEntry {
  /** JSON pointer into the condition. */
  pointer: string;
  operator: string;
  operands: readonly {
    text: string;
    value?: number | string | boolean | null;
    unknown?: string;
    ageMs?: number;
    source?: string;
  }[];
  result: Truth | number | string;
}

/** A condition that was checked when it was loaded. Evaluation has no clock, no randomness and no I/O. */
export interface Condition {
  /** The JSON Logic as written, named conditions put in. */
  readonly source: unknown;
  readonly variables: readonly string[];
  /** A reading is compared with what a trigger carries: its sender decides what is true. */
  readonly senderSetsBounds: boolean;
  evaluate(scope: Scope, trace?: TraceEntry[]): Truth;
}

/** A power cap in W, or as share (0…1] of the card's default. */
export type PowerWish = { watts: number } | { share: number };

/** Limits of one card. Clocks in MHz. */
export interface Wish {
  powerCap?: PowerWish;
  clockMax?: number;
  memClockMax?: number;
}

export interface Rung extends Wish {
  /** The rung is taken at this value of the ladder's variable, and left below it minus the hysteresis. */
  at: number;
}

export type Action =
  | ({ kind: 'throttle' } & Wish)
  /** A named operating point of `modes.yaml`; `byModel` where a model (`MI210`) has its own, `any` for all others. */
  | { kind: 'mode'; mode: string; any?: Wish; byModel: Readonly<Record<string, Wish>> }
  | { kind: 'ladder'; variable: string; rungs: readonly Rung[]; hysteresis: number }
  | { kind: 'notify'; text: string };

/** One entry of `on`. */
export interface TriggerPattern {
  source: TriggerSource;
  /** Alert name, kind of signal, window, or name that a person calls. */
  name: string;
  /** Labels that an alert must carry with exactly these values. */
  labels?: Readonly<Record<string, string>>;
}

/** One policy as loaded: defaults applied, units converted, conditions compiled. Durations in ms. */
export interface Policy {
  name: string;
  description: string;
  /** Fingerprint of all that decides: its text with defaults, conditions, modes and thresholds put in. */
  version: string;
  mode: PolicyMode;
  /** Empty: looked at on every tick, and acts on two readings of different firmware time at the least. */
  on: readonly TriggerPattern[];
  target: TargetKind;
  when?: Condition;
  forMs: number;
  do: readonly Action[];
  until?: Condition;
  /** How long the release condition must hold; `manual`: only a person releases. */
  dwellMs: number | 'manual';
  leaseMs: number;
  cooldownMs: number;
  limits: { gpus?: number; percent?: number };
  notify: readonly Moment[];
  /** A condition of it reads a temperature: its claims are safety claims. */
  thermal: boolean;
  at: { file: string; line: number };
}

/** When a case tells people. */
export const MOMENTS = ['acted', 'released', 'failed', 'blind', 'suppressed'] as const;
export type Moment = (typeof MOMENTS)[number];

/** A span of local time that recurs; `22:00` to `06:00` belongs to the day it starts on. */
export interface Window {
  name: string;
  /** IANA zone. */
  zone: string;
  /** Minutes after local midnight, start inclusive, end exclusive; end below start: ends the next day. */
  start: number;
  end: number;
  /** 1 Monday … 7 Sunday; the days it starts on. */
  days: readonly number[];
}

export interface Threshold {
  name: string;
  /** In the base unit of the quantity it is compared with. */
  value: number;
  unit: string;
  description: string;
}

/** All that the files of one rules folder say. */
export interface RuleSet {
  /** Fingerprint of the whole. */
  version: string;
  policies: readonly Policy[];
  windows: ReadonlyMap<string, Window>;
  thresholds: ReadonlyMap<string, Threshold>;
  /** IANA zone of `time.*`, where the files name one. */
  zone?: string;
}
