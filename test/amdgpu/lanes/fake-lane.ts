import type { Batch, LaneFace } from '../../../amdgpu/lanes/lane.ts';
import type { Answer, Item, Work, WriteAnswer, WriteItem } from '../../../amdgpu/lanes/protocol.ts';
import type { Clock } from '../../../base/clock.ts';

/** What a test's items say of themselves: their name stands where a path would, the world says how long each takes. */
export interface World {
  clock: Clock;
  /** ms that an item takes; infinite until changed and `wake`d. 0 where not named. */
  takes: Map<string, number>;
  /** Items that end the process which works on them, and how often they still do. */
  kills: Map<string, number>;
  /** Every item that was begun, with the lane that began it. */
  begun: { lane: number; name: string }[];
  lanes: FakeLane[];
  /** ms that were left for each batch when it was begun. */
  left: number[];
}

export function world(clock: Clock): World {
  return { clock, takes: new Map(), kills: new Map(), begun: [], lanes: [], left: [] };
}

export const item = (name: string): Item => ({ op: 'read', files: [name] });
export const writeOf = (name: string): WriteItem => ({ op: 'write', steps: [{ file: name, text: '1' }], readBack: [] });
export function nameOf(one: Work): string {
  if (one.op === 'write') return one.steps[0]?.file ?? '';
  return one.op === 'list' ? '' : (one.files?.[0] ?? '');
}

/** A lane without a process: one batch at a time, one item after the other, as the real one. */
export class FakeLane implements LaneFace {
  readonly pid: number;
  started = true;
  lost = false;
  readonly #world: World;
  readonly #queue: Batch[] = [];
  #current: { batch: Batch; answered: number; wanted: number } | undefined;

  constructor(world: World) {
    this.#world = world;
    this.pid = world.lanes.push(this);
  }

  get busy(): boolean {
    return this.#current !== undefined;
  }

  isAt(batch: Batch): boolean {
    return this.started && this.#current?.batch === batch;
  }

  forget(): void {}

  submit(batch: Batch): void {
    if (this.lost) {
      batch.onLost();
      return;
    }
    this.#queue.push(batch);
    this.#next();
  }

  withdraw(batch: Batch): void {
    const at = this.#queue.indexOf(batch);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  leaveWith(): void {
    if (this.#current !== undefined) this.#current.wanted = this.#current.answered + 1;
    for (const batch of this.#queue.splice(0)) batch.onMoved();
  }

  kill(): void {
    if (this.lost) return;
    this.lost = true;
    const given = [this.#current?.batch, ...this.#queue.splice(0)];
    this.#current = undefined;
    for (const batch of given) batch?.onLost();
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const batch = this.#queue.shift();
    if (batch === undefined) return;
    this.#current = { batch, answered: 0, wanted: batch.items.length };
    if (batch.left !== undefined) this.#world.left.push(batch.left());
    this.#work();
  }

  #work(): void {
    const current = this.#current;
    if (current === undefined) return;
    if (current.answered >= current.wanted) {
      this.#current = undefined;
      current.batch.onDone();
      this.#next();
      return;
    }
    const work = current.batch.items[current.answered] as Work;
    const name = nameOf(work);
    this.#world.begun.push({ lane: this.pid, name });
    const kills = this.#world.kills.get(name) ?? 0;
    if (kills > 0) {
      this.#world.kills.set(name, kills - 1);
      this.kill();
      return;
    }
    this.#poll(work, this.#world.clock.monotonic(), current);
  }

  /** Looks again each millisecond: how long an item takes may change while it hangs. */
  #poll(work: Work, since: number, current: { batch: Batch; answered: number }): void {
    const name = nameOf(work);
    this.#world.clock.timer(1, () => {
      if (this.#current !== current) return;
      if (this.#world.clock.monotonic() - since < (this.#world.takes.get(name) ?? 0)) {
        this.#poll(work, since, current);
        return;
      }
      const files = [Buffer.from(name)];
      const answer: Answer | WriteAnswer =
        work.op === 'write'
          ? { op: 'write', asleep: false, steps: [0], files, milliseconds: 0 }
          : { op: 'read', asleep: false, files, milliseconds: 0 };
      current.answered += 1;
      current.batch.onAnswer(current.answered - 1, answer);
      this.#work();
    });
  }
}
