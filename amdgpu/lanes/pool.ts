import type { Clock } from '../../base/clock.ts';
import { type Batch, Lane } from './lane.ts';
import type { Answer, Item } from './protocol.ts';

/** Work on one card (or on `node`, or on the process files): who it belongs to decides which lane does it. */
export interface Task {
  /** PCI address, or a name of our own for what belongs to no card. */
  owner: string;
  item: Item;
}

/** `timeout`: no answer before the deadline. `lost`: the lane process ended. */
export type Outcome = Answer | { op: 'timeout' } | { op: 'lost' };

export interface PoolOptions {
  clock: Clock;
  /** How long one item may take on the shared lane before the lane is left with it, ms. */
  itemDeadline: number;
  makeLane?: () => Lane;
  /** Owners that always get a lane of their own, because their work is long by nature. */
  apart?: readonly string[];
}

export interface PoolStats {
  lanes: number;
  /** Owners whose lane has not answered. */
  stuck: string[];
  /** Times a lane was left with its card. */
  splits: number;
}

/** Answers in a row, each within half the deadline, after which a card goes back to the shared lane. */
const QUICK_ANSWERS = 5;

const GRACE_MS = 20;

interface Own {
  lane: Lane;
  quick: number;
}

/**
 * Hands work to lanes so that a card that hangs costs the others nothing.
 *
 * One lane serves all healthy owners. When an item passes its deadline, the lane is left with that owner and a fresh one takes
 * the others; nothing more is started on the owner until its lane answers. After that it keeps a lane of its own until it has
 * been quick for a while.
 */
export class LanePool {
  readonly #options: PoolOptions;
  readonly #own = new Map<string, Own>();
  readonly #makeLane: () => Lane;
  #shared: Lane | undefined;
  #splits = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#makeLane = options.makeLane ?? (() => new Lane());
  }

  get stats(): PoolStats {
    const stuck = [...this.#own].filter(([, own]) => own.lane.busy).map(([owner]) => owner);
    return { lanes: this.#own.size + (this.#shared === undefined ? 0 : 1), stuck, splits: this.#splits };
  }

  pids(): number[] {
    const lanes = [...this.#own.values()].map((own) => own.lane);
    if (this.#shared !== undefined) lanes.push(this.#shared);
    return lanes.map((lane) => lane.pid).filter((pid) => pid !== undefined);
  }

  /** Starts the shared lane before it is needed. */
  warm(): void {
    this.#sharedLane();
  }

  /**
   * Does all tasks and resolves with an outcome for each, in order, within `deadline` ms whatever hangs.
   * `onOutcome` is called as each is known, so that the caller can work while the lane reads on.
   */
  async run(
    tasks: readonly Task[],
    deadline: number,
    onOutcome?: (index: number, outcome: Outcome) => void,
  ): Promise<Outcome[]> {
    const outcomes: (Outcome | undefined)[] = new Array(tasks.length).fill(undefined);
    const settle = (index: number, outcome: Outcome): void => {
      if (outcomes[index] !== undefined) return;
      outcomes[index] = outcome;
      onOutcome?.(index, outcome);
    };
    const shared: number[] = [];
    const apart = new Map<string, number[]>();
    for (let i = 0; i < tasks.length; i++) {
      const owner = (tasks[i] as Task).owner;
      if (!this.#own.has(owner) && !this.#options.apart?.includes(owner)) shared.push(i);
      else if (apart.has(owner)) apart.get(owner)?.push(i);
      else apart.set(owner, [i]);
    }
    const end = this.#options.clock.monotonic() + deadline;
    const runs = [...apart].map(([owner, indices]) => this.#runApart(owner, tasks, indices, end, settle));
    if (shared.length > 0) runs.push(this.#runShared(tasks, shared, end, settle));
    await Promise.all(runs);
    return outcomes as Outcome[];
  }

  /** Drops a plan everywhere, so that its descriptors are closed. */
  forget(plan: string): void {
    this.#shared?.forget(plan);
    for (const own of this.#own.values()) own.lane.forget(plan);
  }

  /** Ends the lane that a vanished owner may have to itself. */
  dismiss(owner: string): void {
    this.#own.get(owner)?.lane.kill();
    this.#own.delete(owner);
  }

  close(): void {
    this.#closed = true;
    this.#shared?.kill();
    for (const own of this.#own.values()) own.lane.kill();
    this.#own.clear();
    this.#shared = undefined;
  }

  #sharedLane(): Lane {
    if (this.#shared === undefined || this.#shared.lost) this.#shared = this.#makeLane();
    return this.#shared;
  }

  #ownLane(owner: string): Own {
    const known = this.#own.get(owner);
    if (known !== undefined && !known.lane.lost) return known;
    const own = { lane: this.#makeLane(), quick: 0 };
    this.#own.set(owner, own);
    return own;
  }

  /** Goes through the shared items; at each one that hangs, leaves the lane with its owner and goes on with a fresh lane. */
  async #runShared(
    tasks: readonly Task[],
    indices: readonly number[],
    end: number,
    settle: (index: number, outcome: Outcome) => void,
  ): Promise<void> {
    let rest = indices;
    let losses = 0;
    while (rest.length > 0 && !this.#closed) {
      const lane = this.#sharedLane();
      const left = await this.#attempt(lane, tasks, rest, end, this.#options.itemDeadline, settle);
      if (left.kind === 'done') return;
      if (left.kind === 'late') break;
      const at = left.at;
      if (left.kind === 'lost') {
        // The item may have ended the process: it gets one more try, then it is reported.
        losses += 1;
        if (losses > 1) {
          settle(rest[at] as number, { op: 'lost' });
          rest = rest.slice(at + 1);
          losses = 0;
        } else rest = rest.slice(at);
        continue;
      }
      const owner = (tasks[rest[at] as number] as Task).owner;
      this.#splits += 1;
      this.#own.set(owner, { lane, quick: 0 });
      lane.keepPlansOf(owner);
      this.#shared = undefined;
      for (const i of rest.slice(at)) if ((tasks[i] as Task).owner === owner) settle(i, { op: 'timeout' });
      rest = rest.slice(at).filter((i) => (tasks[i] as Task).owner !== owner);
    }
    for (const i of rest) settle(i, { op: 'timeout' });
  }

  async #runApart(
    owner: string,
    tasks: readonly Task[],
    indices: readonly number[],
    end: number,
    settle: (index: number, outcome: Outcome) => void,
  ): Promise<void> {
    const own = this.#ownLane(owner);
    if (own.lane.busy) {
      for (const i of indices) settle(i, { op: 'timeout' });
      return;
    }
    const start = this.#options.clock.monotonic();
    const left = await this.#attempt(own.lane, tasks, indices, end, Number.POSITIVE_INFINITY, settle);
    const took = this.#options.clock.monotonic() - start;
    for (const i of indices) settle(i, { op: left.kind === 'lost' ? 'lost' : 'timeout' });
    own.quick = left.kind === 'done' && took < this.#options.itemDeadline / 2 ? own.quick + 1 : 0;
    if (own.quick < QUICK_ANSWERS || this.#options.apart?.includes(owner)) return;
    this.#own.delete(owner);
    own.lane.kill();
  }

  /** Submits one batch and waits until it is done, until one item takes too long, or until the end. */
  #attempt(
    lane: Lane,
    tasks: readonly Task[],
    indices: readonly number[],
    end: number,
    itemDeadline: number,
    settle: (index: number, outcome: Outcome) => void,
  ): Promise<{ kind: 'done' } | { kind: 'late' } | { kind: 'stuck' | 'lost'; at: number }> {
    const clock = this.#options.clock;
    return new Promise((resolve) => {
      let answered = 0;
      let deadline: { stop(): void } | undefined;
      let ended = false;
      const finish = (result: Parameters<typeof resolve>[0]): void => {
        if (ended) return;
        ended = true;
        deadline?.stop();
        overall.stop();
        resolve(result);
      };
      // A lane that is starting, or serves somebody else first, has not begun on us: our item's time runs from when it does.
      const arm = (): void => {
        if (itemDeadline === Number.POSITIVE_INFINITY || ended) return;
        deadline?.stop();
        deadline = clock.timer(itemDeadline, () => {
          // When this process was the slow one, the answer waits in the pipe: it gets one turn to arrive.
          deadline = clock.timer(GRACE_MS, () => {
            if (lane.isAt(batch)) finish({ kind: 'stuck', at: answered });
            else arm();
          });
        });
      };
      // Out of time altogether: the item at work is the one to blame, unless the lane is still at somebody else's batch.
      const overall = clock.timer(Math.max(0, end - clock.monotonic()), () =>
        finish(lane.isAt(batch) ? { kind: 'stuck', at: answered } : { kind: 'late' }),
      );
      const batch: Batch = {
        items: indices.map((i) => withoutKnownFiles(lane, (tasks[i] as Task).item)),
        onAnswer: (index, answer) => {
          answered = index + 1;
          settle(indices[index] as number, answer);
          arm();
        },
        onDone: () => finish({ kind: 'done' }),
        onLost: () => finish({ kind: 'lost', at: answered }),
      };
      arm();
      lane.submit(batch);
    });
  }
}

/** A lane that has a plan already is told its name only. */
function withoutKnownFiles(lane: Lane, item: Item): Item {
  if (item.op === 'list' || item.plan === undefined || !lane.knows(item.plan)) return item;
  const { files: _, ...rest } = item;
  return rest;
}
