import type { Explanation } from '../../actuator/decide/explain.ts';
import type { HistoryLine } from '../../actuator/ledger/look.ts';
import type { Case } from '../../model/case.ts';
import type { Claim, Knob, KnobFacts } from '../../model/claim.ts';
import type { Breaker, Pause } from '../../model/decision.ts';
import type { TriggerPattern } from '../../model/policy.ts';
import type { Talk } from './client.ts';

/** What the actuator's API answers, as far as the commands read it. */

export interface Status {
  node: string;
  version: string;
  state: 'acting' | 'observing' | 'frozen';
  frozenBecause?: string;
  /** `ready`, or why not. */
  ready: string;
  enforce: boolean;
  pauses: Pause[];
  breaker: Breaker;
  knobs: Knob[];
  cards: { gpu: number; pci: string; model: string; health: string; protected: boolean; knobs: KnobFacts[] }[];
}

/** `held`: what is known of the knobs that it claimed. */
export type ShownCase = Case & { claims: Claim[]; held: Knob[] };
export interface Cases {
  /** Time of the actuator. */
  now: number;
  cases: ShownCase[];
}
export interface History {
  history: HistoryLine[];
}
export interface Explained {
  at: number;
  explanations: Explanation[];
  history?: HistoryLine[];
}
export interface Policies {
  policies: { name: string; mode: string; acts: boolean; on: TriggerPattern[] }[];
}

/** More than any node has open. */
export const MOST = 1_000;

export const statusOf = (talk: Talk): Promise<Status> => talk.get<Status>('/v1/status', 'cards');
export const casesOf = (talk: Talk, query: Parameters<Talk['get']>[2] = {}): Promise<Cases> =>
  talk.get<Cases>('/v1/cases', 'cases', { limit: MOST, ...query });
