import type { ActuatorResults } from './actuator.ts';
import type { Storm } from './reaction.ts';
import { decimals, markdown, mib, pair, ratio, whole } from './table.ts';

/** What is wanted of a quiet machine. Milliseconds and MiB. */
const TARGETS = { written: 25, deciding: 50, private: 150 } as const;

type Row = readonly [title: string, ours?: string | undefined, executor?: string | undefined, target?: string];

const of = <T>(part: T | undefined, show: (part: T) => string): string | undefined =>
  part === undefined ? undefined : show(part);

function wanted(value: number | undefined, most: number, unit: string): string {
  if (value === undefined) return `< ${most} ${unit}`;
  return `< ${most} ${unit}: ${value < most ? 'met' : 'MISSED'}`;
}

const seconds = (ms: number): string => (ms < 1000 ? `${decimals(ms)} ms` : `${decimals(ms / 1000)} s`);
const storm = ({ answered, written }: Storm): string => `${seconds(answered)} / ${seconds(written)}`;

/** Markdown, so that it can stand in the docs as it is printed. */
export function renderActuatorTable(results: ActuatorResults): string {
  const { ours, executor, endurance, deciding, commits, startMs } = results;
  const storms = ours ?? executor;
  const rows: Row[] = [
    ['From the POST of one alert to the file of the card, ms (p50 / p99)'],
    [
      'cap in the file',
      of(ours, (r) => pair(r.written)),
      of(executor, (r) => pair(r.written)),
      wanted(ours?.written.p99, TARGETS.written, 'ms'),
    ],
    ['answer', of(ours, (r) => pair(r.answered)), of(executor, (r) => pair(r.answered))],
    ['cap in the file, actuator / a process an alert, p50', ratio(ours?.written.p50, executor?.written.p50)],
    ['start to ready, ms', of(startMs, (ms) => ms.toFixed(0))],
    [`${of(storms, (r) => whole(r.oneMessage.alerts)) ?? ''} alerts about 8 cards (answered / last card set)`],
    ['in one message', of(ours, (r) => storm(r.oneMessage)), of(executor, (r) => storm(r.oneMessage))],
    ['in as many messages', of(ours, (r) => storm(r.manyMessages)), of(executor, (r) => storm(r.manyMessages))],
    [`Deciding, ms a tick (p50 / p99): ${of(deciding, (d) => `${d.policies} policies on ${d.cards} cards`) ?? ''}`],
    [
      'policies without triggers',
      of(deciding, (d) => pair(d.watching)),
      undefined,
      wanted(deciding?.watching.p99, TARGETS.deciding, 'ms'),
    ],
    [
      'each with an alert about every card',
      of(deciding, (d) => pair(d.alerted)),
      undefined,
      wanted(deciding?.alerted.p99, TARGETS.deciding, 'ms'),
    ],
    ['Ledger'],
    ['a decision to act, ms (p50 / p99)', of(commits, (c) => pair(c.ledger))],
    ['commits a second', of(commits, (c) => whole(Math.round(c.perSecond)))],
    ['durable write of a page, ms (p50 / p99)', of(commits, (c) => pair(c.floor))],
    [
      `Memory of all processes, MiB (private / RSS), ${of(endurance, (e) => `${whole(e.notices)} notices of ${whole(e.episodes)} episodes`) ?? ''}`,
    ],
    ['before', of(endurance, (e) => mib(e.before))],
    ['at half', of(endurance, (e) => mib(e.half))],
    ['after', of(endurance, (e) => mib(e.after)), undefined, wanted(endurance?.after.private, TARGETS.private, 'MiB')],
    ['processes', of(endurance, (e) => String(e.processes))],
    ['notices a second', of(endurance, (e) => whole(Math.round(e.perSecond)))],
  ];
  return markdown([
    ['', 'actuator', 'a process an alert', 'target'],
    ...rows.map(([title, ...cells]) =>
      cells.length === 0 ? [`**${title}**`, '', '', ''] : [title, cells[0] ?? '-', cells[1] ?? '-', cells[2] ?? ''],
    ),
  ]);
}
