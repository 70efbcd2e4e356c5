import type { Clock } from '../../base/clock.ts';
import { type Batch, Lane, type LaneFace } from './lane.ts';
import type { Answer, Item, Work, WriteAnswer, WriteItem } from './protocol.ts';

/** Work on one card (or on `node`, or on the process files): who it belongs to decides which lane does it. */
export interface Task {
  /** PCI address, or a name of our own for what belongs to no card. */
  owner: string;
  item: Item;
}

/** `timeout`: no answer before the deadline. `lost`: the lane process ended. */
export type Outcome = Answer | NoAnswer;
/** `timeout` or `lost` of a write: nobody knows how much of it was done. */
export type WriteOutcome = WriteAnswer | NoAnswer;
type NoAnswer = { op: 'timeout' } | { op: 'lost' };

export interface PoolOptions {
  clock: Clock;
  /**
   * How long one item on the shared lane is waited for, ms. At half of it the lane is left with the item, so that the others
   * go on beside it.
   */
  itemDeadline: number;
  makeLane?: () => LaneFace;
  /** Owners that always get a lane of their own, because their work is long by nature. */
  apart?: readonly string[];
  /**
   * Lanes may write. Such a pool is impatient (a card that hangs must not keep another from being throttled): it leaves a lane
   * with its card after 50 ms, and keeps a spare lane started for the others.
   */
  writable?: boolean;
}

export interface PoolStats {
  lanes: number;
  /** Owners whose lane did not answer in time and is still silent. */
  stuck: string[];
  /** Times a lane was left with its card. */
  splits: number;
}

/** Owners whose work is long by nature: the process files, and a file whose read takes a second. */
export const APART: readonly string[] = ['proc', 'pcie_bw'];

/** Answers in a row, each within half of the time after which a lane is left, upon which a card goes back to the shared lane. */
const QUICK_ANSWERS = 5;

const GRACE_MS = 20;
/** How long one item holds up the cards behind it where lanes write, ms. */
const IMPATIENT_MS = 50;

/** A lane process that ends at an item gets one more try with it. */
const TRIES = 2;

interface Own {
  lane: LaneFace;
  quick: number;
  /** Its last work was given up; while the lane is still at it, nothing more is asked of this owner. */
  overdue: boolean;
}

interface AnyTask {
  owner: string;
  item: Work;
}
type Settle = (index: number, outcome: Outcome | WriteAnswer) => void;
/**
 * `stuck`: the item at work has not answered; `over` resolves when it does, or when its lane ends. `late`: not even begun in
 * time. `moved`: the lane was left with another item.
 */
type Ended =
  | { kind: 'done' | 'late' | 'moved' }
  | { kind: 'lost'; at: number }
  | { kind: 'stuck'; at: number; over: Promise<void> };

/**
 * Hands work to lanes so that a card that hangs costs the others nothing.
 *
 * One lane serves all healthy owners. When an item is slow, the lane is left with that owner and a fresh one takes the others
 * at once; what the slow one still says before its deadline is taken. Beyond the deadline nothing more is started on the owner
 * until its lane answers. After that it keeps a lane of its own until it has been quick for a while.
 */
export class LanePool {
  readonly #options: PoolOptions;
  readonly #own = new Map<string, Own>();
  readonly #makeLane: () => LaneFace;
  /** Item time on the shared lane after which it is left. */
  readonly #slowMs: number;
  #shared: LaneFace | undefined;
  #spare: LaneFace | undefined;
  #splits = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { writable = false, itemDeadline } = options;
    this.#makeLane = options.makeLane ?? (() => new Lane({ writable }));
    this.#slowMs = Math.min(itemDeadline / 2, writable ? IMPATIENT_MS : Number.POSITIVE_INFINITY);
  }

  get stats(): PoolStats {
    const stuck = [...this.#own].filter(([, own]) => isStuck(own)).map(([owner]) => owner);
    return { lanes: this.#lanes().length, stuck, splits: this.#splits };
  }

  pids(): number[] {
    return this.#lanes()
      .map((lane) => lane.pid)
      .filter((pid) => pid !== undefined);
  }

  #lanes(): LaneFace[] {
    const owned = [...this.#own.values()].map((own) => own.lane);
    return [...owned, this.#shared, this.#spare].filter((lane) => lane !== undefined);
  }

  /** Starts the shared lane before it is needed, and the spare one where there is one. */
  warm(): void {
    if (this.#closed) return;
    this.#sharedLane();
    if (this.#options.writable && this.#spare === undefined) this.#spare = this.#makeLane();
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
    const settle: Settle = (index, outcome) => {
      if (outcomes[index] !== undefined || outcome.op === 'write') return;
      outcomes[index] = outcome;
      onOutcome?.(index, outcome);
    };
    const shared: number[] = [];
    const apart = new Map<string, number[]>();
    for (let i = 0; i < tasks.length; i++) {
      const owner = (tasks[i] as Task).owner;
      if (!this.#hasOwn(owner)) shared.push(i);
      else if (apart.has(owner)) apart.get(owner)?.push(i);
      else apart.set(owner, [i]);
    }
    const end = this.#options.clock.monotonic() + deadline;
    const runs = [...apart].map(([owner, indices]) => this.#runApart(owner, tasks, indices, end, settle));
    if (shared.length > 0) runs.push(this.#runShared(tasks, shared, end, settle));
    await Promise.all(runs);
    return outcomes as Outcome[];
  }

  /**
   * Does one write, in order with all other work on this owner, and resolves within `deadline` ms. It is sent once: a lane that
   * ends at it is not replaced for it, and no step of it is begun after the deadline. Where its owner's lane is stuck, nothing is
   * sent at all.
   */
  async write(owner: string, item: WriteItem, deadline: number): Promise<WriteOutcome> {
    const end = this.#options.clock.monotonic() + deadline;
    const answer: { known?: WriteAnswer } = {};
    const settle: Settle = (_, outcome) => {
      if (outcome.op === 'write') answer.known = outcome;
    };
    while (!this.#closed) {
      const own = this.#hasOwn(owner) ? this.#ownLane(owner) : undefined;
      if (own !== undefined && isStuck(own)) break;
      const lane = own?.lane ?? this.#sharedLane();
      const perItem = own === undefined ? this.#patience(end) : Number.POSITIVE_INFINITY;
      const left = await this.#attempt(lane, [{ owner, item }], [0], end, perItem, settle);
      // Handed back unsent, because the lane was left with another card.
      if (left.kind === 'moved') continue;
      if (left.kind === 'lost') return { op: 'lost' };
      if (left.kind === 'stuck') {
        if (own === undefined) this.#leave(lane, owner, left.over);
        else {
          giveUp(own, left.over);
          lane.leaveWith(owner);
        }
        await this.#isOver(left.over, end);
      }
      break;
    }
    return answer.known ?? { op: 'timeout' };
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
    for (const lane of this.#lanes()) lane.kill();
    this.#own.clear();
    this.#shared = undefined;
    this.#spare = undefined;
  }

  #hasOwn(owner: string): boolean {
    return this.#own.has(owner) || this.#isApart(owner);
  }

  #isApart(owner: string): boolean {
    return this.#options.apart?.includes(owner) ?? false;
  }

  #sharedLane(): LaneFace {
    if (this.#shared !== undefined && !this.#shared.lost) return this.#shared;
    const spare = this.#spare;
    this.#spare = undefined;
    this.#shared = spare === undefined || spare.lost ? this.#makeLane() : spare;
    return this.#shared;
  }

  #ownLane(owner: string): Own {
    const known = this.#own.get(owner);
    if (known !== undefined && !known.lane.lost) return known;
    const own = { lane: this.#makeLane(), quick: 0, overdue: false };
    this.#own.set(owner, own);
    return own;
  }

  /** Little of the time that is left for one item: a fresh lane has to start, and the others want some of it. */
  #patience(end: number): number {
    return Math.min(this.#slowMs, (end - this.#options.clock.monotonic()) / 4);
  }

  /** Goes through the shared items; at each one that is slow, leaves the lane with its owner and goes on with a fresh lane. */
  async #runShared(tasks: readonly Task[], indices: readonly number[], end: number, settle: Settle): Promise<void> {
    const { clock, itemDeadline } = this.#options;
    const beside: Promise<void>[] = [];
    const ownerOf = (i: number): string => (tasks[i] as Task).owner;
    let rest = indices;
    let losses = 0;
    while (rest.length > 0 && !this.#closed) {
      const lane = this.#sharedLane();
      const perItem = this.#patience(end);
      const left = await this.#attempt(lane, tasks, rest, end, perItem, settle);
      if (left.kind === 'done') {
        rest = [];
        break;
      }
      if (left.kind === 'late') break;
      if (left.kind === 'lost') {
        losses += 1;
        rest = rest.slice(left.at);
        if (losses < TRIES) continue;
        // No process can be started at all, or this item ends each: then it is reported and the others go on.
        const blamed = lane.started ? 1 : rest.length;
        for (const i of rest.slice(0, blamed)) settle(i, { op: 'lost' });
        rest = rest.slice(blamed);
        losses = 0;
      } else if (left.kind === 'stuck') {
        const owner = ownerOf(rest[left.at] as number);
        this.#leave(lane, owner, left.over);
        const its = rest.slice(left.at).filter((i) => ownerOf(i) === owner);
        const until = Math.min(end, clock.monotonic() + itemDeadline - perItem);
        beside.push(this.#waitFor(owner, left.over, until, tasks, its, end, settle));
        rest = rest.slice(left.at).filter((i) => ownerOf(i) !== owner);
      }
      // Another run may have left a lane with one of ours meanwhile: it is not tried on a second lane.
      for (const i of rest) if (this.#hasOwn(ownerOf(i))) settle(i, { op: 'timeout' });
      rest = rest.filter((i) => !this.#hasOwn(ownerOf(i)));
    }
    for (const i of rest) settle(i, { op: 'timeout' });
    await Promise.all(beside);
  }

  /** A lane was left with this item: if it still answers in time, what else there is for its owner is done behind it. */
  async #waitFor(
    owner: string,
    over: Promise<void>,
    until: number,
    tasks: readonly Task[],
    indices: readonly number[],
    end: number,
    settle: Settle,
  ): Promise<void> {
    const isOver = await this.#isOver(over, until);
    const rest = indices.slice(1);
    if (isOver && rest.length > 0) await this.#runApart(owner, tasks, rest, end, settle);
    for (const i of indices) settle(i, { op: 'timeout' });
  }

  /** False where it is not over until then. */
  #isOver(over: Promise<void>, until: number): Promise<boolean> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const timer = clock.timer(Math.max(0, until - clock.monotonic()), () => resolve(false));
      void over.then(() => {
        timer.stop();
        resolve(true);
      });
    });
  }

  #leave(lane: LaneFace, owner: string, over: Promise<void>): void {
    this.#splits += 1;
    const own: Own = { lane, quick: 0, overdue: false };
    giveUp(own, over);
    this.#own.set(owner, own);
    if (this.#shared === lane) this.#shared = undefined;
    this.warm();
    lane.leaveWith(owner);
  }

  async #runApart(
    owner: string,
    tasks: readonly Task[],
    indices: readonly number[],
    end: number,
    settle: Settle,
  ): Promise<void> {
    const { clock } = this.#options;
    let rest = indices;
    for (let tries = 0; tries < TRIES && rest.length > 0 && !this.#closed; tries++) {
      const own = this.#ownLane(owner);
      if (isStuck(own)) break;
      own.overdue = false;
      const start = clock.monotonic();
      const left = await this.#attempt(own.lane, tasks, rest, end, Number.POSITIVE_INFINITY, settle);
      if (left.kind === 'lost') {
        rest = rest.slice(left.at);
        if (tries + 1 === TRIES) for (const i of rest) settle(i, { op: 'lost' });
        continue;
      }
      own.overdue = left.kind !== 'done';
      if (left.kind === 'stuck') {
        giveUp(own, left.over);
        own.lane.leaveWith(owner);
      }
      own.quick = left.kind === 'done' && clock.monotonic() - start < this.#slowMs / 2 ? own.quick + 1 : 0;
      if (own.quick >= QUICK_ANSWERS && !own.lane.busy && !this.#isApart(owner)) this.dismiss(owner);
      break;
    }
    for (const i of rest) settle(i, { op: 'timeout' });
  }

  /** Submits one batch and waits until it is done, until one item takes too long, or until the end. */
  #attempt(
    lane: LaneFace,
    tasks: readonly AnyTask[],
    indices: readonly number[],
    end: number,
    itemDeadline: number,
    settle: Settle,
  ): Promise<Ended> {
    const clock = this.#options.clock;
    return new Promise((resolve) => {
      let answered = 0;
      let deadline: { stop(): void } | undefined;
      let ended = false;
      let isOver: () => void = () => {};
      const over = new Promise<void>((done) => {
        isOver = done;
      });
      const finish = (result: Ended): void => {
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
            if (lane.isAt(batch)) finish({ kind: 'stuck', at: answered, over });
            else arm();
          });
        });
      };
      // Out of time altogether: the item at work is the one to blame, unless the lane is still at somebody else's batch.
      const overall = clock.timer(Math.max(0, end - clock.monotonic()), () => {
        const begun = lane.isAt(batch);
        lane.withdraw(batch);
        finish(begun ? { kind: 'stuck', at: answered, over } : { kind: 'late' });
      });
      const batch: Batch = {
        items: indices.map((i) => (tasks[i] as AnyTask).item),
        left: () => end - clock.monotonic(),
        onAnswer: (index, answer) => {
          answered = index + 1;
          settle(indices[index] as number, answer);
          arm();
        },
        onDone: () => {
          finish({ kind: 'done' });
          isOver();
        },
        onLost: () => {
          finish({ kind: 'lost', at: answered });
          isOver();
        },
        onMoved: () => finish({ kind: 'moved' }),
      };
      arm();
      lane.submit(batch);
    });
  }
}

/** Until it is over: whatever the lane is at afterwards has nothing to do with it. */
function giveUp(own: Own, over: Promise<void>): void {
  own.overdue = true;
  void over.then(() => {
    own.overdue = false;
  });
}

function isStuck(own: Own): boolean {
  return own.overdue && own.lane.busy && !own.lane.lost;
}
