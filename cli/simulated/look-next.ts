import { basename, relative } from 'node:path';
import type { Shown } from '../simulated.ts';

/** How this program was called, so that the lines below can be copied: it is on the PATH only where it was installed. */
export function called(script: string | undefined, cwd: string): string {
  if (script === undefined || basename(script) === 'nightshift') return 'nightshift';
  const near = relative(cwd, script);
  return `node ${near.startsWith('..') ? script : near}`;
}

/** What somebody who has just started a simulated node looks at next; they copy it into a second terminal. */
export function lookNext(
  { dir, actuator }: Pick<Shown, 'dir' | 'actuator'>,
  { scenario, watched, gpus }: { scenario: string; watched: boolean; gpus: number },
): string {
  const { ledger } = actuator;
  const us = called(process.argv[1], process.cwd());
  const gpu = (wanted: number): number => Math.min(wanted, gpus - 1);
  const soon =
    scenario === 'hot-card'
      ? 'GPU 0 gets hot within half a minute, is limited, and is given back when it is cool. Watch it:'
      : 'A card over 85 °C is limited, and given back when it is cool. Watch it:';
  const who = watched
    ? 'An alert of Prometheus starts it, and the own reading of the actuator has to agree.'
    : 'No Prometheus here, so nobody sends alerts: the policies look at the cards themselves, and act on two readings.';
  return `${soon}
  watch -n 1 ${us} cases --ledger ${ledger}
  ${us} explain --ledger ${ledger}
  ${us} trigger quiet-please --gpu ${gpu(1)} --reason "measuring" --ledger ${ledger}
  ${us} sim event ${dir} ambient 40        then "block ${gpu(3)} 0.4", "hang ${gpu(2)}", "unhang ${gpu(2)}", "load ${gpu(1)} 0.9"
${who}
`;
}
