import { pairKey } from '../../model/book.ts';
import type { DecisionReason } from '../../model/decision.ts';
import type { Policy } from '../../model/policy.ts';
import { type Target, targetKey } from '../../model/target.ts';
import type { Sitting } from './sitting.ts';

/** One guard's answer. `detail` holds the numbers it compared. */
export interface Verdict {
  guard: DecisionReason;
  passes: boolean;
  detail: Record<string, unknown>;
}

type Guard = (sitting: Sitting, policy: Policy, target: Target) => Verdict;

/** In the order in which they are asked; the first that does not pass is the reason. None of them stands in the way of release. */
const GUARDS: readonly Guard[] = [frozen, paused, breaker, cooldown, limitGpus, limitPercent, rate];

/** Every guard's answer, for people. */
export function verdicts(sitting: Sitting, policy: Policy, target: Target): Verdict[] {
  return GUARDS.map((guard) => guard(sitting, policy, target));
}

/** The first guard that does not let the policy act. */
export function firstRefusal(sitting: Sitting, policy: Policy, target: Target): Verdict | undefined {
  for (const guard of GUARDS) {
    const verdict = guard(sitting, policy, target);
    if (!verdict.passes) return verdict;
  }
  return undefined;
}

function frozen({ book }: Sitting): Verdict {
  return { guard: 'frozen', passes: !book.options.frozen, detail: {} };
}

function paused({ book, now }: Sitting, policy: Policy): Verdict {
  for (const { id, reason, author, until, policy: only = policy.name } of book.pauses.values()) {
    if (only !== policy.name || (until !== undefined && until <= now)) continue;
    return {
      guard: 'paused',
      passes: false,
      detail: { pause: id, pausedBecause: reason, author, ...(until === undefined ? {} : { until }) },
    };
  }
  return { guard: 'paused', passes: true, detail: {} };
}

function breaker({ book }: Sitting): Verdict {
  const { open, reason, since } = book.breaker;
  return { guard: 'breaker_open', passes: !open, detail: open ? { openedBecause: reason, since } : {} };
}

function cooldown({ book, now }: Sitting, policy: Policy, target: Target): Verdict {
  const until = book.cooldowns.get(pairKey(policy.name, targetKey(target))) ?? 0;
  return { guard: 'cooldown', passes: until <= now, detail: until > now ? { until, leftMs: until - now } : {} };
}

function limitGpus(sitting: Sitting, policy: Policy, target: Target): Verdict {
  const allowed = policy.limits.gpus;
  if (allowed === undefined) return { guard: 'limit_gpus', passes: true, detail: {} };
  const affected = sitting.affectedBy(policy);
  const asks = sitting.sizeOf(target);
  return { guard: 'limit_gpus', passes: affected + asks <= allowed, detail: { affected, asks, allowed } };
}

/** Rounds down, but one is always allowed: a node of one card has no half. */
function limitPercent(sitting: Sitting, policy: Policy, target: Target): Verdict {
  const { percent } = policy.limits;
  if (percent === undefined) return { guard: 'limit_percent', passes: true, detail: {} };
  const { eligible } = sitting;
  const allowed = Math.max(1, Math.floor((percent * eligible) / 100));
  const affected = sitting.affectedBy(policy);
  const asks = sitting.sizeOf(target);
  return {
    guard: 'limit_percent',
    passes: affected + asks <= allowed,
    detail: { affected, asks, allowed, eligible, percent },
  };
}

function rate(sitting: Sitting): Verdict {
  const { acts, perMs } = sitting.book.options.rate;
  const recent = sitting.recentActs;
  return { guard: 'rate', passes: recent < acts, detail: { recent, allowed: acts, perMs } };
}
