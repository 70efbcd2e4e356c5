import type { Book } from '../../model/book.ts';
import type { Case } from '../../model/case.ts';
import { knobKey } from '../../model/claim.ts';
import type { Breaker, Decision } from '../../model/decision.ts';
import type { Policy } from '../../model/policy.ts';
import { isMet } from '../settings/met.ts';
import type { KnobReport } from '../settings/report.ts';
import { isWithin } from '../settings/values.ts';
import { decision, matterOf } from './act.ts';
import { close, endOf, isGivenBack, release } from './release.ts';
import type { Sitting } from './sitting.ts';

/** What the cards say of a case's claims: verified, or given back. Undefined while neither is so. */
export function settle(sitting: Sitting, policy: Policy, one: Case): Decision | undefined {
  const { book, now } = sitting;
  if (one.state === 'applying' && areSettled(sitting, one)) {
    const active: Case = { ...one, state: 'active', verified: true, attempts: 0, reason: 'settled' };
    return decision(matterOf(policy, one), 'verified', 'settled', now, settingsOf(book, one), [
      { put: 'case', case: active },
    ]);
  }
  if (one.state !== 'releasing') return undefined;
  // A card that is gone has lost its settings; should it come back with them, the knob's row is still there.
  if (one.target.kind === 'gpu' && sitting.isGone(one.target.pci)) {
    return close(sitting, policy, one, endOf(one, false), 'card_gone');
  }
  if (!isGivenBack(sitting, one)) return undefined;
  const overridden = one.reason === 'overridden';
  return close(sitting, policy, one, endOf(one, overridden), overridden ? 'overridden' : 'given_back');
}

/** A report about a knob: every case that claims it, or still gives it back, hears of it. */
export function hear(sitting: Sitting, policyOf: (one: Case) => Policy | undefined, report: KnobReport): Decision[] {
  const decisions: Decision[] = [];
  for (const one of sitting.book.cases.values()) {
    const policy = policyOf(one);
    if (policy === undefined || one.mode === 'dry_run') continue;
    if (!one.knobs.some(({ on, knob }) => on === report.on && knob === report.knob)) continue;
    const made = hearOne(sitting, policy, one, report);
    if (made !== undefined) decisions.push(made);
  }
  return decisions;
}

function hearOne(sitting: Sitting, policy: Policy, one: Case, report: KnobReport): Decision | undefined {
  if (one.state === 'releasing') {
    const seen: Case = report.restored === 'overridden' ? { ...one, reason: 'overridden' } : one;
    return settle(sitting, policy, seen);
  }
  if (!report.failed) return settle(sitting, policy, one);
  const { on, knob, value, detail: met } = report;
  const claim = sitting.book.claims.get(one.id)?.find((other) => other.on === on && other.knob === knob);
  // It may be another case that wants it lower.
  if (claim === undefined || (value !== undefined && isWithin(knob, value, claim.atMost))) return undefined;
  // Told once; the reconciler goes on trying.
  if (one.verified === true && one.reason === 'write_failed') return undefined;
  const fail = one.verified === true ? stay : release;
  const made = fail(sitting, policy, one, 'write_failed', { knob, on, met });
  return { ...made, changes: [...made.changes, { put: 'breaker', breaker: breakerAfter(sitting, policy) }] };
}

/** A limit that holds is not given back because the card refuses another one: it may be hot, or nobody may see that it is. */
function stay(
  { now }: Sitting,
  policy: Policy,
  one: Case,
  reason: 'write_failed',
  detail: Record<string, unknown>,
): Decision {
  const next: Case = { ...one, state: 'applying', reason };
  return decision(matterOf(policy, one), 'failed', reason, now, detail, [{ put: 'case', case: next }]);
}

/** The breaker after one more failed act: so many within its span, and it stays open until a person closes it. */
function breakerAfter({ book, now }: Sitting, policy: Policy): Breaker {
  const { failures: allowed, perMs } = book.options.breaker;
  const failures = [...book.breaker.failures.filter((at) => at > now - perMs), now];
  if (book.breaker.open || failures.length < allowed) return { ...book.breaker, failures };
  return { open: true, since: now, failures, reason: `${failures.length} failed acts, the last one of ${policy.name}` };
}

function areSettled({ book, facts }: Sitting, one: Case): boolean {
  const claims = book.claims.get(one.id) ?? [];
  return claims.every((claim) => {
    const { on, knob } = claim;
    return isMet(claim, book.knobs.get(knobKey(on, knob)), facts.cards.get(on)?.knobs.get(knob));
  });
}

function settingsOf(book: Book, one: Case): Record<string, unknown> {
  const detail: Record<string, unknown> = {};
  for (const { on, knob } of book.claims.get(one.id) ?? []) {
    const row = book.knobs.get(knobKey(on, knob));
    if (row !== undefined) detail[`${on} ${knob}`] = { found: row.found, wrote: row.wrote, state: row.state };
  }
  return detail;
}
