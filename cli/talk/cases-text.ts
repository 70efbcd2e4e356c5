import { printable } from '../../linux/process.ts';
import type { Cases, ShownCase, Status } from './answers.ts';
import { claimText, clockText, knobText, lasting, reasonText, rowText, table, targetCell, valueText } from './words.ts';

/** Cases as a table, and above it whatever keeps the actuator from beginning anything. */
export function renderCases({ cases, now }: Cases, status: Status, all: boolean): string {
  const lines = standing(status, now);
  if (cases.length === 0 && status.state === 'frozen')
    lines.push('What is held is not known: the ledger cannot be read.');
  else if (cases.length === 0) lines.push(all ? 'No case is known.' : 'Nothing is held, and nothing is about to be.');
  else {
    // What is really held first, then what a dry run would hold, then what is over; each the newest first.
    const sorted = [...cases].sort((a, b) => rank(a) - rank(b));
    const head = ['POLICY', 'GPU', 'STATE', 'SINCE', 'LEASE LEFT', 'LIMIT', 'WHY', 'CASE'];
    lines.push(...table([head, ...sorted.map((one) => row(one, now, status))]));
  }
  const loose = looseKnobs(cases, status);
  if (loose.length > 0 && !all) lines.push('', 'Set by us, and held by no case any more: being given back.', ...loose);
  return `${lines.join('\n')}\n`;
}

const rank = ({ closedAt, mode }: ShownCase): number => (closedAt !== undefined ? 2 : mode === 'enforce' ? 0 : 1);

/** Why nothing is begun, a line each; nothing where all is well. */
export function standing(status: Status, now: number): string[] {
  const lines: string[] = [];
  if (status.state === 'frozen')
    lines.push(`FROZEN, nothing is begun: ${printable(status.frozenBecause ?? status.ready)}`);
  if (status.state === 'observing')
    lines.push('OBSERVING: another process acts on these cards; this one writes nothing.');
  if (status.state === 'acting' && status.ready !== 'ready') lines.push(`NOT READY: ${printable(status.ready)}`);
  if (!status.enforce && status.state === 'acting')
    lines.push('DRY RUN (--enforce=false): nothing is written to any card.');
  const { breaker } = status;
  if (breaker.open) {
    lines.push(
      `BREAKER OPEN for ${lasting(now - breaker.since)}: ${printable(breaker.reason)}. Once it is understood: nightshift resume --breaker`,
    );
  }
  for (const { id, reason, author, since, until, policy } of status.pauses) {
    if (until !== undefined && until <= now) continue;
    const end = until === undefined ? 'until a person resumes it' : `for ${lasting(until - now)} more`;
    const what = policy === undefined ? 'PAUSED' : `PAUSED ${printable(policy)}`;
    const who = `by ${printable(author)} at ${clockText(since)}: ${printable(reason)}`;
    lines.push(`${what} ${end}, ${who}. To end it: nightshift resume ${printable(id)}`);
  }
  return lines.length === 0 ? lines : [...lines, ''];
}

function row(one: ShownCase, now: number, { cards }: Status): string[] {
  const { policy, target, state, mode, openedAt, closedAt, id } = one;
  return [
    printable(policy),
    targetCell(target, cards),
    mode === 'dry_run' ? `${state}, dry run` : state,
    closedAt === undefined ? lasting(now - openedAt) : clockText(openedAt),
    leaseText(one, now),
    limitText(one),
    reasonText(one.reason),
    printable(id),
  ];
}

function leaseText({ closedAt, deadline, blind, state, openedAt }: ShownCase, now: number): string {
  if (closedAt !== undefined) return `ended after ${lasting(closedAt - openedAt)}`;
  if (state === 'releasing' || state === 'pending') return '-';
  return blind === true ? 'held: blind' : lasting(deadline - now);
}

function limitText(one: ShownCase): string {
  const { claims, held, knobs, mode, state } = one;
  if (state === 'releasing') {
    return held
      .map((row) => `${knobText(row.knob)} back to ${valueText(row.knob, row.found)} (${rowText(row)})`)
      .join('; ');
  }
  if (claims.length > 0) {
    const rowOf = (on: string, knob: string) => held.find((known) => known.on === on && known.knob === knob);
    const would = mode === 'dry_run' ? 'would: ' : '';
    return claims
      .map((claim) => `${would}${claimText(claim, mode === 'dry_run' ? undefined : rowOf(claim.on, claim.knob))}`)
      .join('; ');
  }
  return knobs.map(({ knob }) => knobText(knob)).join(', ') || '-';
}

/** Rows that no open case claims: their case is over, and the card has not taken its old value yet. */
function looseKnobs(cases: readonly ShownCase[], { knobs, cards }: Status): string[] {
  const claimed = new Set(cases.flatMap((one) => one.knobs.map(({ on, knob }) => `${on} ${knob}`)));
  return knobs
    .filter(({ on, knob }) => !claimed.has(`${on} ${knob}`))
    .map(
      (known) => `  ${targetCell({ kind: 'gpu', pci: known.on }, cards)}  ${knobText(known.knob)}: ${rowText(known)}`,
    );
}
