import { type ChildProcess, fork } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  type Answer,
  type Command,
  HEADER,
  KIND,
  parseReadPayload,
  parseWritePayload,
  steadyMs,
  type Work,
  type WriteAnswer,
} from './protocol.ts';

/** Node 20 cannot run TypeScript: when we run from sources (tests), the lane is the built one. */
function childModule(): string {
  const here = import.meta.url;
  const built = here.endsWith('.ts') ? new URL('../../dist/amdgpu/lanes/child.js', here) : new URL('child.js', here);
  return fileURLToPath(built);
}

/** Small heaps: a lane keeps descriptors and one buffer, no objects. */
const V8_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=64', '--single-threaded-gc'];

export interface Batch {
  items: readonly Work[];
  /** Milliseconds left when the batch is begun: what writes takes no step beyond them, whatever held it up. */
  left?(): number;
  onAnswer(index: number, answer: Answer | WriteAnswer): void;
  onDone(): void;
  /** The process ended before it had answered all. */
  onLost(): void;
  /** The lane was left with a card that hangs before this batch was begun. */
  onMoved(): void;
}

/** One lane process as its parent sees it: takes batches one after the other, hands out answers as they come. */
export class Lane {
  readonly #child: ChildProcess;
  readonly #queue: Batch[] = [];
  readonly #plans = new Set<string>();
  #current: { seq: number; batch: Batch; answered: number; wanted: number } | undefined;
  #seq = 0;
  #chunks: Buffer[] = [];
  #buffered = 0;
  #lost = false;
  #started = false;

  /** `writable`: takes write items too; else they are refused with EROFS. */
  constructor({ writable = false }: { writable?: boolean } = {}) {
    this.#child = fork(childModule(), writable ? ['--writable'] : [], {
      execArgv: V8_FLAGS,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
    });
    this.#child.once('message', () => {
      this.#started = true;
    });
    this.#child.on('exit', () => this.#onExit());
    this.#child.on('error', () => this.#onExit());
    const answers = this.#child.stdio?.[4] as Readable | undefined;
    if (answers === undefined) {
      this.#lost = true; // no descriptors or no processes left to start one with
      return;
    }
    answers.on('data', (chunk: Buffer) => this.#onData(chunk));
    answers.on('error', () => this.#onExit());
    // The lane must never keep our process alive.
    this.#child.unref();
    this.#child.channel?.unref();
    (answers as unknown as { unref(): void }).unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get busy(): boolean {
    return this.#current !== undefined;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** The process came up. */
  get started(): boolean {
    return this.#started;
  }

  /** The process runs and is at this batch: only then does its silence mean that a card is. */
  isAt(batch: Batch): boolean {
    return this.#started && this.#current?.batch === batch;
  }

  forget(plan: string): void {
    if (this.#plans.delete(plan) && !this.#lost) this.#send({ op: 'forget', plan });
  }

  /**
   * Leaves the lane to this owner, whose item hangs: what stands behind that item is not done any more, other owners'
   * descriptors are closed (plan names begin with their owner and `#`), waiting batches are handed back.
   */
  leaveWith(owner: string): void {
    const current = this.#current;
    if (current !== undefined) {
      current.wanted = current.answered + 1;
      this.#send({ op: 'drop', seq: current.seq });
    }
    for (const plan of [...this.#plans]) if (!plan.startsWith(`${owner}#`)) this.forget(plan);
    // Of what was dropped the lane may not have heard the files: they are told again.
    this.#plans.clear();
    for (const batch of this.#queue.splice(0)) batch.onMoved();
  }

  /** Takes back a batch that has not been begun. */
  withdraw(batch: Batch): void {
    const at = this.#queue.indexOf(batch);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  submit(batch: Batch): void {
    if (this.#lost) {
      batch.onLost();
      return;
    }
    this.#queue.push(batch);
    this.#next();
  }

  /** SIGKILL, and no waiting: a child that is stuck in the kernel ends when the kernel lets it go. */
  kill(): void {
    this.#child.kill('SIGKILL');
    if (this.#child.connected) this.#child.disconnect();
    this.#onExit();
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const batch = this.#queue.shift();
    if (batch === undefined) return;
    if (batch.items.length === 0) {
      batch.onDone();
      this.#next();
      return;
    }
    this.#seq += 1;
    this.#current = { seq: this.#seq, batch, answered: 0, wanted: batch.items.length };
    this.#send({ op: 'batch', seq: this.#seq, items: batch.items.map((item) => this.#sendable(item, batch)) });
  }

  #send(command: Command): void {
    this.#child.send?.(command, (error) => {
      if (error) this.#onExit();
    });
  }

  /** A lane that knows a plan is told its name only; a write is told when its time is over. */
  #sendable(item: Work, batch: Batch): Work {
    if (item.op === 'write') return batch.left === undefined ? item : { ...item, until: steadyMs() + batch.left() };
    if (item.op === 'list' || item.op === 'access' || item.plan === undefined) return item;
    if (!this.#plans.has(item.plan)) {
      this.#plans.add(item.plan);
      return item;
    }
    const { files: _, ...rest } = item;
    return rest;
  }

  #onData(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    while (this.#buffered >= 4) {
      if ((this.#chunks[0] as Buffer).length < HEADER && this.#chunks.length > 1) this.#merge();
      const length = (this.#chunks[0] as Buffer).readUInt32LE(0) + 4;
      if (this.#buffered < length) return;
      if ((this.#chunks[0] as Buffer).length < length) this.#merge();
      const whole = this.#chunks[0] as Buffer;
      const rest = whole.subarray(length);
      this.#chunks = rest.length > 0 ? [rest] : [];
      this.#buffered = rest.length;
      this.#onFrame(whole.subarray(0, length));
    }
  }

  #merge(): void {
    this.#chunks = [Buffer.concat(this.#chunks)];
  }

  #onFrame(frame: Buffer): void {
    const current = this.#current;
    if (current === undefined || frame.readUInt32LE(4) !== current.seq) return;
    const index = frame.readUInt32LE(8);
    current.answered = index + 1;
    current.batch.onAnswer(index, parseAnswer(frame));
    if (current.answered < current.wanted) return;
    this.#current = undefined;
    current.batch.onDone();
    this.#next();
  }

  #onExit(): void {
    if (this.#lost) return;
    this.#lost = true;
    const waiting = this.#queue.splice(0);
    const current = this.#current;
    this.#current = undefined;
    current?.batch.onLost();
    for (const batch of waiting) batch.onLost();
  }
}

/** What the pool needs of a lane; tests have their own. */
export type LaneFace = Pick<Lane, keyof Lane>;

function parseAnswer(frame: Buffer): Answer | WriteAnswer {
  const kind = frame.readUInt32LE(12);
  const payload = frame.subarray(HEADER);
  const milliseconds = frame.readDoubleLE(16);
  if (kind === KIND.list) return { op: 'list', dirs: JSON.parse(payload.toString('utf8')) };
  if (kind === KIND.access) return { op: 'access', files: JSON.parse(payload.toString('utf8')) };
  if (kind === KIND.write) return { op: 'write', asleep: false, ...parseWritePayload(payload), milliseconds };
  if (kind === KIND.writeAsleep) return { op: 'write', asleep: true, steps: [], files: [], milliseconds };
  return {
    op: 'read',
    asleep: kind === KIND.asleep,
    files: parseReadPayload(payload),
    milliseconds,
  };
}
