import type { Book } from '../../model/book.ts';
import { pairKey } from '../../model/book.ts';
import type { Case } from '../../model/case.ts';
import { type Claim, type Knob, knobKey } from '../../model/claim.ts';
import type { Breaker, Pause } from '../../model/decision.ts';
import type { Instant } from '../../model/instant.ts';
import type { OpenTrigger } from '../../model/trigger.ts';
import { SEALED } from './seal.ts';
import { open, type Shelf, shelf } from './shelf.ts';
import type { Sql } from './sql.ts';

/** A policy version as it was loaded when a case began. */
export interface PolicySource {
  name: string;
  version: string;
  source: string;
}

type Act = Book['acts'][number];

/** What the ledger knows when it is opened: the rows of the book, under the book's keys. */
export interface LedgerState
  extends Pick<Book, 'triggers' | 'cases' | 'claims' | 'knobs' | 'cooldowns' | 'acts' | 'pauses' | 'numbers'> {
  /** Absent: none was ever kept. */
  breaker?: Breaker;
  /** Of the versions that open cases hold, those that were kept. */
  policies: PolicySource[];
}

export interface Cooldown {
  policy: string;
  target: string;
  until: Instant;
}
export interface NumberOfCard {
  gpu: number;
  pci: string;
  since: Instant;
}
export interface ClaimsOfCase {
  case: string;
  claims: readonly Claim[];
}
/** `at`: when it was put last; what no case needs any more is forgotten some time after. */
export type KeptPolicy = PolicySource & { at: Instant };

export interface Shelves {
  triggers: Shelf<OpenTrigger>;
  cases: Shelf<Case>;
  claims: Shelf<ClaimsOfCase>;
  knobs: Shelf<Knob>;
  cooldowns: Shelf<Cooldown>;
  pauses: Shelf<Pause>;
  breaker: Shelf<Breaker>;
  policies: Shelf<KeptPolicy>;
  numbers: Shelf<NumberOfCard>;
}

export const policyKey = (name: string, version: string): string => `${name}@${version}`;

export function shelves(sql: Sql, file: string): Shelves {
  return {
    triggers: shelf(sql, file, 'triggers'),
    cases: shelf(sql, file, 'cases'),
    claims: shelf(sql, file, 'claims'),
    knobs: shelf(sql, file, 'knobs'),
    cooldowns: shelf(sql, file, 'cooldowns'),
    pauses: shelf(sql, file, 'pauses'),
    breaker: shelf(sql, file, 'breaker'),
    policies: shelf(sql, file, 'policies'),
    numbers: shelf(sql, file, 'numbers'),
  };
}

/** Throws LEDGER_BROKEN where a row is not what was written. */
export function loadState(sql: Sql, file: string, kept: Shelves): LedgerState {
  const cases = kept.cases.all();
  const versions = new Set(cases.map(({ policy, version }) => policyKey(policy, version)));
  const policies = [...versions].flatMap((key) => kept.policies.get(key) ?? []);
  const acts = sql
    .all(`SELECT ${SEALED} FROM acts ORDER BY id`)
    .map((row) => open<Act>(file, 'acts', '', row))
    .sort((a, b) => a.at - b.at);
  const breaker = kept.breaker.get('breaker');
  return {
    triggers: byKey(kept.triggers.all(), ({ key }) => key),
    cases: byKey(cases, ({ id }) => id),
    claims: new Map(kept.claims.all().map((row) => [row.case, row.claims])),
    knobs: byKey(kept.knobs.all(), ({ on, knob }) => knobKey(on, knob)),
    cooldowns: new Map(kept.cooldowns.all().map(({ policy, target, until }) => [pairKey(policy, target), until])),
    acts,
    pauses: byKey(kept.pauses.all(), ({ id }) => id),
    numbers: new Map(kept.numbers.all().map(({ gpu, pci, since }) => [gpu, { pci, since }])),
    ...(breaker && { breaker }),
    policies: policies.map(({ name, version, source }) => ({ name, version, source })),
  };
}

const byKey = <T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T> =>
  new Map(values.map((value) => [keyOf(value), value]));
