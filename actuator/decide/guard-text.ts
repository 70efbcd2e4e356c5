import { formatDuration } from '../../base/durations.ts';
import type { Instant } from '../../model/instant.ts';
import type { Verdict } from './guards.ts';

/** What a guard that does not let a policy act says, as a sentence with its numbers. */
export function guardText({ guard, detail }: Pick<Verdict, 'guard' | 'detail'>, now: Instant): string {
  const number = (name: string): number => Number(detail[name]);
  switch (guard) {
    case 'frozen':
      return 'The ledger could not be read, so nothing is begun.';
    case 'paused': {
      const end =
        detail.until === undefined ? 'until a person resumes it' : `for ${lasting(number('until') - now)} more`;
      return `It is paused by ${detail.author} ${end}: ${detail.pausedBecause} (nightshift resume ${detail.pause}).`;
    }
    case 'breaker_open':
      return `The breaker is open for ${lasting(now - number('since'))}: ${detail.openedBecause} (nightshift resume --breaker).`;
    case 'cooldown':
      return `It acted here a short while ago, and does not again for ${lasting(number('leftMs'))}.`;
    case 'limit_gpus':
      return `${holding(detail)}, and may hold ${detail.allowed}.`;
    case 'limit_percent':
      return `${holding(detail)}, and may hold ${detail.allowed}: ${detail.percent} % of ${detail.eligible}.`;
    case 'rate':
      return `There were ${detail.recent} acts within ${lasting(number('perMs'))}, and no more than ${detail.allowed} are allowed.`;
    default:
      return `The guard ${guard} does not let it act.`;
  }
}

function holding({ affected, asks }: Record<string, unknown>): string {
  return Number(asks) > 1 ? `It holds ${affected} GPUs, would limit ${asks} at once` : `It holds ${affected} GPUs`;
}

/** Whole seconds: nobody waits for a part of one. */
export function lasting(ms: number): string {
  return formatDuration(Math.max(0, Math.ceil(ms / 1000)) * 1000);
}
