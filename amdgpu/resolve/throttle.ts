import type { Family } from '../../model/card.ts';
import { throttle } from '../../model/quantities/throttle.ts';
import { THROTTLE_BITS, type ThrottleMap } from '../tables/throttle.ts';
import type { Context } from './context.ts';

/** Families whose own throttle word is documented, for tables without the word that is the same on every chip. */
const OWN_WORD: Partial<Record<Family, ThrottleMap>> = {
  mi200: 'mi200',
  mi100: 'mi100',
  navi2: 'rx6000',
  navi3: 'rx7000',
};

/** Throttle bits. MI300's tables have none that says anything (1.4 and 1.5 hold a constant 0): residency counters serve there. */
export function resolveThrottleBits({ card, table, out }: Context): void {
  if (table === undefined || card.model.family === 'mi300' || card.model.family === 'mi350') return;
  const common = table.big('indep_throttle_status');
  const own = OWN_WORD[card.model.family];
  const [word, map] =
    common !== undefined
      ? ([common, THROTTLE_BITS.indep] as const)
      : ([own === undefined ? undefined : table.big('throttle_status'), THROTTLE_BITS[own ?? 'indep']] as const);
  if (word === undefined) return;
  for (const [bit, cause] of map) {
    out.put(throttle.active, Number((word >> BigInt(bit)) & 1n), 'gpu_metrics', cause);
  }
}
