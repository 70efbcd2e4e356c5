import type { Change, HistoryEntry } from '../../model/decision.ts';
import type { Instant } from '../../model/instant.ts';
import type { StepOutcome } from './outcome.ts';
import type { LeaveStep, TouchingStep } from './steps.ts';

/** The audit of what was done to cards: the intent with its reason, and what came of it. */

export function intended(step: TouchingStep, cases: readonly string[], now: Instant): Change[] {
  const { on, knob, from } = step;
  const why = step.do === 'restore' ? 'restore' : step.why;
  const changes: Change[] = [];
  if (step.do === 'write' && step.why === 'foreign') {
    const detail = { knob, raised_to: from, was_to_give_back: step.foundBefore };
    changes.push(entry(on, 'foreign', 'raised', detail, now));
  }
  changes.push(entry(on, 'write', why, { knob, from, to: step.to, ...(cases.length > 0 ? { cases } : {}) }, now));
  changes.push({ put: 'knob', knob: step.row });
  return changes;
}

export function ended(step: TouchingStep, { row, report }: StepOutcome, now: Instant): Change[] {
  const { on, knob } = step;
  const { restored, settled, detail: met, value } = report;
  const reason = restored ?? (settled ? report.state : report.failed ? 'failed' : 'unsettled');
  const detail = { knob, target: step.target, read: value ?? null, met };
  return [
    entry(on, restored === 'overridden' || report.state === 'foreign' ? 'foreign' : 'write', reason, detail, now),
    row === undefined ? { drop: 'knob', on, knob } : { put: 'knob', knob: row },
  ];
}

/** A value that is left alone: somebody else's, or already as it was found. */
export function left({ on, knob, current, restored, row, detail: met }: LeaveStep, now: Instant): Change[] {
  if (restored === undefined && row === undefined) return [];
  const foreign = restored !== 'given_back';
  const told = entry(
    on,
    foreign ? 'foreign' : 'write',
    restored ?? 'lowered',
    { knob, read: current ?? null, met },
    now,
  );
  return [told, row === undefined ? { drop: 'knob', on, knob } : { put: 'knob', knob: row }];
}

function entry(
  on: string,
  outcome: HistoryEntry['outcome'],
  reason: string,
  detail: Record<string, unknown>,
  at: Instant,
): Change {
  return { add: 'history', entry: { at, outcome, reason, target: { kind: 'gpu', pci: on }, detail } };
}
