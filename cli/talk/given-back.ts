import { sleep, systemClock } from '../../base/clock.ts';
import { environmentError } from '../../base/errors.ts';
import { printable } from '../../linux/process.ts';
import type { CaseState } from '../../model/case.ts';
import type { Knob } from '../../model/claim.ts';
import { casesOf, type ShownCase, type Status, statusOf } from './answers.ts';
import type { Talk } from './client.ts';
import { knobText, rowText, targetText, valueText } from './words.ts';

/** Waiting until the cards have their old values, and telling so. */

/** How often is looked whether it is done. */
const LOOK_MS = 250;

/** Throws ACTUATOR_UNABLE where this actuator gives nothing back, whatever it answers. */
export async function whoGivesBack(talk: Talk): Promise<Status> {
  const status = await statusOf(talk);
  if (status.state === 'acting') return status;
  const [why, hint] =
    status.state === 'frozen'
      ? ['cannot read its ledger, and does not know what it holds', 'Stop it, then: nightshift revert --offline.']
      : ['only observes, because another process acts on these cards', 'Ask that one: its ledger stands in the log.'];
  throw environmentError('ACTUATOR_UNABLE', `the actuator at ${talk.where} ${why}`, hint);
}

/** How it stands once all is back, or the time is over. */
export interface Outcome {
  status: Status;
  /** What was there before. */
  held: readonly ShownCase[];
  /** Those of them that are open yet, and the states of those that are not. */
  open: ReadonlySet<string>;
  ended: ReadonlyMap<string, CaseState>;
  /** Rows of the knobs that must be gone, and are not. */
  left: readonly Knob[];
}

/** `everything`: no row may be left at all, whatever case it was for. */
export async function untilGivenBack(
  talk: Talk,
  held: readonly ShownCase[],
  everything: boolean,
  ms: number,
): Promise<Outcome> {
  const end = systemClock.monotonic() + ms;
  const asked = new Set(held.map(({ id }) => id));
  for (;;) {
    const open = new Set((await casesOf(talk)).cases.map(({ id }) => id).filter((id) => asked.has(id)));
    const status = await statusOf(talk);
    const left = everything ? status.knobs : [];
    if ((open.size === 0 && left.length === 0) || systemClock.monotonic() >= end) {
      const all = (await casesOf(talk, { all: true })).cases;
      return { status, held, open, ended: new Map(all.map(({ id, state }) => [id, state])), left };
    }
    await sleep(systemClock, LOOK_MS, { keepAlive: true });
  }
}

export const isDone = ({ open, left }: Outcome): boolean => open.size === 0 && left.length === 0;

/** A line for each case, and for each knob that no case explains. */
export function renderGivenBack(outcome: Outcome): string {
  const { held, left, open, status } = outcome;
  const lines = held.map((one) => caseLine(one, outcome));
  const told = new Set(held.filter(({ id }) => open.has(id)).flatMap((one) => one.knobs.map(keyOf)));
  for (const row of left.filter((one) => !told.has(keyOf(one)))) {
    const place = targetText({ kind: 'gpu', pci: row.on }, status.cards);
    lines.push(`NOT BACK YET  ${place}: ${knobText(row.knob)}, ${rowText(row)}`);
  }
  return lines.length === 0 ? 'Nothing was held.\n' : `${lines.join('\n')}\n`;
}

const keyOf = ({ on, knob }: Pick<Knob, 'on' | 'knob'>): string => `${on} ${knob}`;

function caseLine(one: ShownCase, { open, ended, status }: Outcome): string {
  const place = `${targetText(one.target, status.cards)}, ${printable(one.policy)}`;
  const rows = status.knobs.filter((row) => one.knobs.some((knob) => keyOf(knob) === keyOf(row)));
  const now = rows.map((row) => `${knobText(row.knob)}, ${rowText(row)}`).join('; ');
  if (open.has(one.id)) return `NOT BACK YET  ${place}: ${now || one.state}`;
  if (one.mode === 'dry_run' || one.knobs.length === 0) return `ended         ${place}: nothing had been written`;
  if (ended.get(one.id) === 'overridden') return `left alone    ${place}: somebody else set another value meanwhile`;
  if (rows.length > 0) return `let go        ${place}: another case still holds it (${now})`;
  const back = one.held.map(({ knob, found }) => `${knobText(knob)} ${valueText(knob, found)}`).join(', ');
  return `given back    ${place}${back === '' ? '' : `: ${back}`}`;
}
