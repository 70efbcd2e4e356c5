import express, { type Request, type Response, type Router } from 'express';
import type { Book } from '../../model/book.ts';
import { CASE_STATES, type Case, OPEN_STATES } from '../../model/case.ts';
import { knobKey } from '../../model/claim.ts';
import type { HistoryEntry } from '../../model/decision.ts';
import type { Facts } from '../../model/facts.ts';
import { explain, type Question } from '../decide/explain.ts';
import type { CaseQuery, HistoryLine, HistoryQuery } from '../ledger/look.ts';

export interface ReadsOptions {
  book(): Book;
  /** Reads the cards, now: an explanation is of this moment. */
  look(): Promise<Facts>;
  known(): Facts;
  history(query: HistoryQuery): HistoryLine[];
  cases(query: CaseQuery): Case[];
  status(): Record<string, unknown>;
}

const MOST = 1_000;

/** What may be asked and changes nothing. */
export function reads(options: ReadsOptions): Router {
  const router = express.Router();
  router.get('/v1/status', (_request, response) => {
    response.json(options.status());
  });
  router.get('/v1/policies', (_request, response) => {
    response.json({ policies: policiesOf(options.book()) });
  });
  router.get('/v1/cases', (request, response) => {
    const query = caseQuery(request, response, options.known());
    if (query === undefined) return;
    const { claims, knobs } = options.book();
    const cases = options.cases(query).map((one) => ({
      ...one,
      claims: claims.get(one.id) ?? [],
      held: one.knobs.map(({ on, knob }) => knobs.get(knobKey(on, knob))).filter((row) => row !== undefined),
    }));
    response.json({ now: options.known().at, cases });
  });
  router.get('/v1/history', (request, response) => {
    const query = historyQuery(request, response, options.known());
    if (query !== undefined) response.json({ history: options.history(query) });
  });
  router.get('/v1/explain', async (request, response) => {
    const pci = cardAsked(request, response, options.known());
    if (pci === null) return;
    const question: Question = {
      ...(pci === undefined ? {} : { pci }),
      ...text(request, 'policy'),
      ...text(request, 'case'),
    };
    const facts = await options.look();
    const explanations = explain(options.book(), facts, question);
    const past =
      explanations.length === 0 && question.case !== undefined ? options.history({ case: question.case }) : [];
    if (explanations.length === 0 && past.length === 0) {
      refuse(response, 404, 'NOTHING_TO_EXPLAIN', 'no such case, policy or GPU here');
      return;
    }
    response.json({ at: facts.at, explanations, ...(past.length === 0 ? {} : { history: past }) });
  });
  return router;
}

function policiesOf(book: Book): unknown[] {
  return book.rules.policies.map((policy) => {
    const open = [...book.cases.values()].filter((one) => one.policy === policy.name);
    return {
      name: policy.name,
      description: policy.description,
      mode: policy.mode,
      acts: policy.mode === 'enforce' && book.options.enforce,
      target: policy.target,
      on: policy.on,
      when: policy.when?.source,
      until: policy.until?.source,
      do: policy.do,
      version: policy.version,
      file: policy.at.file,
      line: policy.at.line,
      cases: open.map((one) => one.id),
    };
  });
}

function caseQuery(request: Request, response: Response, facts: Facts): CaseQuery | undefined {
  if (refusesNumbers(request, response, 'limit')) return undefined;
  const pci = cardAsked(request, response, facts);
  if (pci === null) return undefined;
  const { state } = request.query;
  const states = typeof state === 'string' ? state.split(',') : undefined;
  const unknown = states?.find((one) => !(CASE_STATES as readonly string[]).includes(one));
  if (unknown !== undefined) {
    refuse(response, 400, 'QUERY_INVALID', `state=${unknown}: must be one of ${CASE_STATES.join(', ')}`);
    return undefined;
  }
  const wanted =
    (states as Case['state'][] | undefined) ?? (request.query.all === undefined ? [...OPEN_STATES] : undefined);
  return {
    ...(wanted === undefined ? {} : { state: wanted }),
    ...text(request, 'policy'),
    ...(pci === undefined ? {} : { target: { kind: 'gpu', pci } as const }),
    limit: limitOf(request),
  };
}

function historyQuery(request: Request, response: Response, facts: Facts): HistoryQuery | undefined {
  if (refusesNumbers(request, response, 'limit', 'before', 'since')) return undefined;
  const pci = cardAsked(request, response, facts);
  if (pci === null) return undefined;
  const { before, since } = request.query;
  const outcome = request.query.outcome;
  return {
    ...text(request, 'policy'),
    ...text(request, 'case'),
    ...(typeof outcome === 'string' ? { outcome: outcome as HistoryEntry['outcome'] } : {}),
    ...(before === undefined ? {} : { before: Number(before) }),
    ...(since === undefined ? {} : { since: Number(since) }),
    ...(pci === undefined ? {} : { target: { kind: 'gpu', pci } as const }),
    limit: limitOf(request),
  };
}

/** The address of the GPU that was asked for by number or address; null where there is none such, and that was answered. */
export function cardAsked(request: Request, response: Response, facts: Facts): string | undefined | null {
  const { gpu } = request.query;
  if (typeof gpu !== 'string') return undefined;
  const pci = cardOf(gpu, facts);
  if (pci !== undefined) return pci;
  const known = [...facts.cards.values()].map(({ card, number }) => `${number} (${card.pci})`).join(', ');
  refuse(response, 404, 'GPU_UNKNOWN', `no GPU ${gpu} here; there is ${known || 'none'}`);
  return null;
}

export function cardOf(name: string, facts: Facts): string | undefined {
  const wanted = name.toLowerCase();
  for (const { card, number } of facts.cards.values()) {
    if (String(number) === wanted || card.pci === wanted || card.pci === `0000:${wanted}`) return card.pci;
  }
  return undefined;
}

export function refuse(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ code, message });
}

function text<K extends string>(request: Request, name: K): Partial<Record<K, string>> {
  const value = request.query[name];
  return typeof value === 'string' && value !== '' ? ({ [name]: value } as Partial<Record<K, string>>) : {};
}

function limitOf(request: Request): number {
  return Math.min(Number(request.query.limit ?? 100), MOST);
}

/** Answers, and is true, where one of these is there and is no whole number above 0. */
function refusesNumbers(request: Request, response: Response, ...names: string[]): boolean {
  const wrong = names.find((name) => request.query[name] !== undefined && !isPositive(request.query[name]));
  if (wrong === undefined) return false;
  refuse(response, 400, 'QUERY_INVALID', `${wrong}=${String(request.query[wrong])}: must be a whole number above 0`);
  return true;
}

function isPositive(value: unknown): boolean {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) && Number(value) > 0;
}
