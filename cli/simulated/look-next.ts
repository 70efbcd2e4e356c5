import type { Shown } from '../simulated.ts';

/** What somebody who has just started a simulated node looks at next; they copy it into a second terminal. */
export function lookNext(
  { dir, actuator }: Pick<Shown, 'dir' | 'actuator'>,
  { scenario, watched }: { scenario: string; watched: boolean },
): string {
  const { ledger } = actuator;
  const soon =
    scenario === 'hot-card'
      ? 'GPU 0 gets hot within half a minute, is limited, and is given back when it is cool. Watch it:'
      : 'A card over 85 °C is limited, and given back when it is cool. Watch it:';
  const who = watched
    ? 'An alert of Prometheus starts it, and the own reading of the actuator has to agree.'
    : 'No Prometheus here, so nobody sends alerts: the policies look at the cards themselves, and act on two readings.';
  return `${soon}
  watch -n 1 nightshift cases --ledger ${ledger}
  nightshift explain --ledger ${ledger}
  nightshift trigger quiet-please --gpu 1 --reason "measuring" --ledger ${ledger}
  nightshift sim event ${dir} ambient 40        then "block 3 0.4", "hang 2", "unhang 2", "load 1 0.9"
${who}
`;
}
