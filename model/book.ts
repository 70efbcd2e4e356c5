import type { Case } from './case.ts';
import type { Claim, Knob } from './claim.ts';
import type { Breaker, Pause } from './decision.ts';
import type { Instant } from './instant.ts';
import type { Policy, RuleSet } from './policy.ts';
import type { OpenTrigger } from './trigger.ts';

/** What one (policy, target) was last found to be, so that a standing suppression is told once. Not kept across restarts. */
export interface Considered {
  reason: string;
  /** The occurrence that it was about: of the next one it is told again. */
  trigger?: string;
}

/** Everything that is decided upon: the ledger's rows in memory. Changed only by applying committed changes. */
export interface Book {
  rules: RuleSet;
  /** Versions that open cases still hold, by name and version. */
  versions: Map<string, Map<string, Policy>>;
  /** By key; those that have ended are kept for a while without their values. */
  triggers: Map<string, OpenTrigger>;
  /** Those that are open, by `source name`. */
  open: Map<string, Map<string, OpenTrigger>>;
  /** Open cases by id. */
  cases: Map<string, Case>;
  /** Open cases by policy and target. */
  caseOf: Map<string, Map<string, Case>>;
  claims: Map<string, readonly Claim[]>;
  knobs: Map<string, Knob>;
  /** By `policy target`: no new act before. */
  cooldowns: Map<string, Instant>;
  /** Recent acts, oldest first, for the rate. */
  acts: { policy: string; target: string; at: Instant }[];
  pauses: Map<string, Pause>;
  breaker: Breaker;
  numbers: Map<number, { pci: string; since: Instant }>;
  /** By policy and target. */
  considered: Map<string, Map<string, Considered>>;
  /** Settings of this process. */
  options: BookOptions;
}

export interface BookOptions {
  /** False: every policy is a dry run. */
  enforce: boolean;
  /** The ledger could not be read: nothing new is begun. */
  frozen: boolean;
  /** Acts of all policies together in a span. */
  rate: { acts: number; perMs: number };
  /** Failed acts within a span that open the breaker. */
  breaker: { failures: number; perMs: number };
  /** How long a thermal case may be blind before it goes to the floor, ms. */
  blindMs: number;
}

export const openKey = (source: string, name: string): string => `${source} ${name}`;
export const pairKey = (policy: string, target: string): string => `${policy} ${target}`;

/** Puts into a map of maps. */
export function putIn<V>(map: Map<string, Map<string, V>>, first: string, second: string, value: V): void {
  const inner = map.get(first);
  if (inner === undefined) map.set(first, new Map([[second, value]]));
  else inner.set(second, value);
}

/** Takes out of a map of maps, and the inner map with its last entry. */
export function dropFrom<V>(map: Map<string, Map<string, V>>, first: string, second: string): void {
  const inner = map.get(first);
  inner?.delete(second);
  if (inner?.size === 0) map.delete(first);
}
