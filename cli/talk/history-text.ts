import type { HistoryLine } from '../../actuator/ledger/look.ts';
import { printable } from '../../linux/process.ts';
import type { Status } from './answers.ts';
import { clockText, table, targetCell } from './words.ts';

/** Lines of the audit, the oldest first: it is read downwards. */
export function renderHistory(history: readonly HistoryLine[], cards: Status['cards']): string {
  if (history.length === 0) return 'Nothing has happened yet.\n';
  const rows = [...history].reverse().map((line) => row(line, cards));
  return `${table([['TIME', 'WHAT', 'WHY', 'POLICY', 'GPU', 'DETAIL'], ...rows]).join('\n')}\n`;
}

function row(
  { at, outcome, reason, policy = '', target, mode, detail }: HistoryLine,
  cards: Status['cards'],
): string[] {
  return [
    clockText(at),
    mode === 'dry_run' ? `${outcome}, dry run` : outcome,
    printable(reason),
    printable(policy),
    targetCell(target, cards),
    detailText(detail),
  ];
}

export function detailText(detail: Readonly<Record<string, unknown>>): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) => `${printable(name)}=${printable(typeof value === 'string' ? value : JSON.stringify(value))}`,
    )
    .join(' ');
}
