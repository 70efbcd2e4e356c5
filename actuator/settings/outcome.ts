import type { WriteResult } from '../../amdgpu/knobs/port.ts';
import type { Knob, Settings } from '../../model/claim.ts';
import type { Instant } from '../../model/instant.ts';
import type { KnobReport } from './report.ts';
import type { RestoreStep, TouchingStep, WriteStep } from './steps.ts';
import { backoffMs, isClock, isSame, MAX_ATTEMPTS } from './values.ts';

/** What a write came to. Without `row` the row is dropped. */
export interface StepOutcome {
  row?: Knob;
  report: KnobReport;
}

/** Refusals that no repetition helps: the mount, the right or the function is not there (EROFS, EACCES, EOPNOTSUPP). */
const FOR_GOOD = new Set(['EROFS', 'EACCES', 'EOPNOTSUPP', 'ENOTSUP', 'unsupported', 'level_unsupported']);

/** Judges by what was read back after the write, never by the write having been accepted. */
export function outcomeOf(step: TouchingStep, result: WriteResult, now: Instant): StepOutcome {
  if (result.outcome === 'unanswered') {
    return untaken(step, now, `the card does not answer (${result.reason})`, { counts: true });
  }
  if (result.outcome === 'refused') {
    const { errno, file, text } = result;
    const met = file === '' ? `no way to set it (${errno})` : `${errno} from ${file} for "${text.trim()}"`;
    const forGood = FOR_GOOD.has(errno);
    const value = step.knob === 'dmem' ? undefined : result.settings?.[step.knob];
    const told = value === undefined ? {} : { value };
    return untaken(step, now, met, { counts: errno !== 'EBUSY', forGood, ...told });
  }
  const value = step.knob === 'dmem' ? undefined : result.settings[step.knob];
  if (value === undefined) return untaken(step, now, 'written, but could not be read back', { counts: true });
  if (step.do === 'restore') return restored(step, value, result.settings, now);
  return applied(step, value, now);
}

function applied(step: WriteStep, value: number, now: Instant): StepOutcome {
  const { knob, target, from, row } = step;
  const done: Knob = { ...row, wrote: value, state: 'settled', attempts: 0, at: now, notBefore: now + step.paceMs };
  if (isSame(knob, value, target)) {
    const { writing: _, ...rest } = done;
    return { row: rest, report: report(step, { state: 'settled', settled: true, detail: 'read back', value }) };
  }
  // A part that knows clock levels only takes the next lower one; `writing` stays, so that it is not asked again and again.
  if (isClock(knob) && value < target && !isSame(knob, value, from)) {
    return {
      row: done,
      report: report(step, { state: 'settled', settled: true, detail: `rounded to ${value}`, value }),
    };
  }
  if (value < target && !isSame(knob, value, from)) {
    const left: Knob = { ...row, state: 'foreign', attempts: 0, at: now, notBefore: now };
    const detail = `somebody else set it to ${value} at the same time`;
    return { row: left, report: report(step, { state: 'foreign', settled: true, detail, value }) };
  }
  return untaken(step, now, `accepted, but reads ${value} instead of ${target}`, { counts: true, value });
}

function restored(step: RestoreStep, value: number, { level, gfx_low: low }: Settings, now: Instant): StepOutcome {
  const { knob, target, from, to } = step;
  const leveled = to.level === undefined || to.level === level;
  const lowered = to.gfx_low === undefined || to.gfx_low === low;
  if (isSame(knob, value, target) && leveled && lowered) {
    const given = {
      state: 'settled',
      settled: true,
      restored: 'given_back',
      detail: `given back, ${value}`,
      value,
    } as const;
    return { report: report(step, given) };
  }
  if (!isSame(knob, value, target) && !isSame(knob, value, from) && !isSame(knob, value, step.row.wrote)) {
    const detail = `somebody else set it to ${value} at the same time`;
    return { report: report(step, { state: 'foreign', settled: true, restored: 'overridden', detail, value }) };
  }
  let met = `reads ${value} instead of ${target}`;
  if (!lowered) met = `lower limit reads ${low} instead of ${to.gfx_low}`;
  if (!leveled) met = `level reads ${level} instead of ${to.level}`;
  return untaken(step, now, `accepted, but ${met}`, { counts: true, value });
}

/**
 * It did not take, or nobody knows. `writing` stays in the row: what the write did after all is found by reading. What
 * cannot be given back is tried for as long as it is ours.
 */
function untaken(
  step: TouchingStep,
  now: Instant,
  detail: string,
  how: { counts: boolean; forGood?: boolean; value?: number },
): StepOutcome {
  const forGood = how.forGood === true;
  const before = step.row.attempts === 0 ? 0 : (step.row.refusals ?? 0);
  const refusals = before + (how.counts ? 1 : 0);
  const attempts = step.row.attempts + 1;
  const state = forGood && step.do === 'write' ? 'unsupported' : 'unsettled';
  const row: Knob = { ...step.row, state, attempts, refusals, at: now, notBefore: now + backoffMs(attempts), detail };
  const failed = forGood || (how.counts && refusals >= MAX_ATTEMPTS);
  const told = how.value === undefined ? {} : { value: how.value };
  return { row, report: { ...report(step, { state, settled: false, detail, ...told }), failed } };
}

function report(
  { on, knob, target }: TouchingStep,
  rest: Omit<KnobReport, 'on' | 'knob' | 'target' | 'failed'>,
): KnobReport {
  return { on, knob, target, failed: false, ...rest };
}
