import type { OfflineResult } from '../../actuator/settings/offline.ts';
import { printable } from '../../linux/process.ts';
import { knobText, table } from '../talk/words.ts';
import type { OfflineReport } from './offline.ts';

const OUTCOMES: Readonly<Record<OfflineResult['outcome'], string>> = {
  given_back: 'given back',
  overridden: 'left alone',
  kept: 'kept',
  failed: 'FAILED',
  unanswered: 'NO ANSWER',
};

/** Everything that was held is back, and the ledger knows it. */
export function isWhole({ results, untold, lost }: OfflineReport): boolean {
  const back = results.every(({ outcome }) => outcome !== 'failed' && outcome !== 'unanswered');
  return back && untold === undefined && lost === undefined;
}

/** What became of each setting, and of the ledger. */
export function renderOffline(report: OfflineReport): string {
  const { results, numbers, ended, waiting, untold, lost, ledger } = report;
  const lines: string[] = [];
  if (results.length === 0) lines.push('The ledger knows of no setting that is left on a card.');
  lines.push(
    ...table(
      results.map(({ on, knob, outcome, detail }) => {
        const gpu = numbers.find(({ pci }) => pci === on)?.gpu;
        return [OUTCOMES[outcome], `GPU ${gpu ?? '?'} ${printable(on)}`, knobText(knob), printable(detail)];
      }),
    ),
  );
  if (ended.length > 0) lines.push(`Cases that are over: ${ended.map(printable).join(', ')}.`);
  if (waiting.length > 0) {
    lines.push(
      `Cases that wait for their card: ${waiting.map(printable).join(', ')}. Run this again, or start the actuator.`,
    );
  }
  if (lost !== undefined) {
    const rows = lost.complete ? `${lost.damaged} settings in it cannot be read` : 'it cannot be read to its end';
    lines.push(
      `THE LEDGER IS BROKEN, and ${rows}. Compare the caps with their defaults by hand, then move ${printable(ledger)} away.`,
    );
  } else if (untold !== undefined) {
    lines.push(
      `THE LEDGER WAS NOT TOLD (${printable(untold)}). An actuator that starts on it would go on with its cases: free some space, and run this again.`,
    );
  }
  return `${lines.join('\n')}\n`;
}
