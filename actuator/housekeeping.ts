import type { Clock, Stoppable } from '../base/clock.ts';
import { describe } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Change } from '../model/decision.ts';
import { dropTrigger } from './decide/apply.ts';
import type { Ledger } from './ledger/ledger.ts';
import { DEFAULT_KEEP, PRUNE_BATCH } from './ledger/prune.ts';
import type { Store } from './store.ts';

export interface HousekeepingOptions {
  store: Store;
  ledger: Ledger | undefined;
  now: () => number;
  log: Log;
}

const EVERY_MS = 60_000;
const AGAIN_MS = 1_000;

/** What is over is forgotten, in the ledger and in memory alike; pauses that ended by themselves are told. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  start(clock: Clock): Stoppable {
    let rest: Stoppable | undefined;
    // One batch at a time: what must be done now does not wait for what is only to be forgotten.
    const go = (): void => {
      rest?.stop();
      if (this.tidy()) rest = clock.timer(AGAIN_MS, go);
    };
    const every = clock.every(EVERY_MS, go);
    return {
      stop() {
        every.stop();
        rest?.stop();
      },
    };
  }

  /** True where there is more to forget than one batch. */
  tidy(): boolean {
    const { store, ledger, now, log } = this.#options;
    const { book } = store;
    const at = now();
    let more = false;
    try {
      const unheard = unheardTriggers(store, at);
      more = unheard.length >= PRUNE_BATCH;
      store.commit([...endedPauses(store, at), ...unheard]);
      more = (ledger?.prune(at) ?? 0) >= PRUNE_BATCH || more;
    } catch (error) {
      log.warn(`what is over could not be cleared away: ${describe(error)}`);
    }
    for (const { key, closedAt } of book.triggers.values()) {
      if (closedAt !== undefined && closedAt < at - DEFAULT_KEEP.triggersMs) dropTrigger(book, key);
    }
    for (const [pair, until] of book.cooldowns) if (until < at) book.cooldowns.delete(pair);
    return more;
  }
}

/**
 * Open triggers whose end nobody will tell any more: a silence swallows it, a restart of the sender forgets it, and a person's ends by
 * itself. No lease is longer than this, so that none of them holds anything.
 */
function unheardTriggers({ book }: Store, at: number): Change[] {
  const before = at - DEFAULT_KEEP.triggersMs;
  const unheard: Change[] = [];
  for (const { key, closedAt, seenAt, until = seenAt } of book.triggers.values()) {
    if (closedAt === undefined && Math.max(seenAt, until) < before) unheard.push({ drop: 'trigger', key });
    if (unheard.length >= PRUNE_BATCH) break;
  }
  return unheard;
}

function endedPauses({ book }: Store, at: number): Change[] {
  return [...book.pauses.values()]
    .filter(({ until }) => until !== undefined && until <= at)
    .flatMap(({ id, reason, author }): Change[] => [
      { drop: 'pause', id },
      {
        add: 'history',
        entry: { at, outcome: 'resume', reason: 'expired', detail: { pause: id, because: reason, author } },
      },
    ]);
}
