import { sleep, systemClock } from '../../base/clock.ts';
import { environmentError } from '../../base/errors.ts';
import { casesOf, type ShownCase, type Status, statusOf } from './answers.ts';
import type { Talk } from './client.ts';
import { knobText, rowText, targetText, valueText } from './words.ts';

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

/** Cases of these that are open yet, and knobs that are not as they were found, once all is back or the time is over. */
export async function untilGivenBack(
  talk: Talk,
  cases: readonly string[],
  everything: boolean,
  ms: number,
): Promise<{ open: ShownCase[]; knobs: Status['knobs'] }> {
  const end = systemClock.monotonic() + ms;
  for (;;) {
    const asked = new Set(cases);
    const open = (await casesOf(talk)).cases.filter(({ id }) => asked.has(id));
    const knobs = everything ? (await statusOf(talk)).knobs : [];
    if ((open.length === 0 && knobs.length === 0) || systemClock.monotonic() >= end) return { open, knobs };
    await sleep(systemClock, LOOK_MS, { keepAlive: true });
  }
}

/** What became of it, a line each; `held` is what was there before. */
export function renderGivenBack(
  { cards }: Status,
  held: readonly ShownCase[],
  left: Awaited<ReturnType<typeof untilGivenBack>>,
): string {
  if (held.length === 0 && left.knobs.length === 0) return 'Nothing was held.\n';
  const open = new Set(left.open.map(({ id }) => id));
  const lines = held.map((one) => {
    const place = `${targetText(one.target, cards)}, ${one.policy}`;
    if (open.has(one.id)) return `NOT BACK YET  ${place}: ${one.held.map(rowText).join('; ') || one.state}`;
    if (one.mode === 'dry_run' || one.held.length === 0) return `ended         ${place}: nothing was written`;
    return `given back    ${place}: ${one.held.map(({ knob, found }) => `${knobText(knob)} ${valueText(knob, found)}`).join(', ')}`;
  });
  const of = new Set(held.flatMap((one) => one.knobs.map(({ on, knob }) => `${on} ${knob}`)));
  for (const row of left.knobs) {
    if (of.has(`${row.on} ${row.knob}`) && left.open.length > 0) continue;
    const place = targetText({ kind: 'gpu', pci: row.on }, cards);
    lines.push(`NOT BACK YET  ${place}: ${knobText(row.knob)}, ${rowText(row)}`);
  }
  return `${lines.join('\n')}\n`;
}
