import { type Clock, sleep, within } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type OnceLog, onceLog } from '../base/log.ts';
import type { CardState } from '../model/card.ts';
import type { Reason } from '../model/reading.ts';
import { assemble, Numbering, sameFound } from './cards.ts';
import { CostlyReader } from './costly.ts';
import { healthOf } from './health.ts';
import { Inspections } from './inspect.ts';
import { contextOf, judgedTable, tableOf } from './interpret.ts';
import { CacheReader } from './kfd-caches.ts';
import type { LanePool, Outcome, Task } from './lanes/pool.ts';
import type { Paths } from './paths.ts';
import { gentleWhenNotNeeded, needed } from './plan.ts';
import { RawFiles, reasonOf } from './raw.ts';
import { Readings } from './readings.ts';
import { CardRecord } from './record.ts';
import { resolveInfo } from './resolve/info.ts';
import { resolveNode } from './resolve/node.ts';
import { LIVE, type ResolveReport, resolve, SLOW } from './resolve/resolve.ts';
import { resolveLinks } from './resolve/xgmi.ts';
import { fingerprint, type Survey, survey, watchTasks } from './survey.ts';

export interface NodeOptions {
  paths: Paths;
  pool: LanePool;
  clock: Clock;
  log: Log;
  /** Files that nobody wants are not read. */
  skip?: (name: string) => boolean;
  gentleMs?: number;
  costlyMs?: number;
  /** The tree is not a machine's, and every card is to say so. */
  simulated?: boolean;
}

/** What one collection made: the cards in their numbers' order, and what belongs to none. */
export interface Snapshot {
  /** ms since the epoch. */
  at: number;
  cards: readonly CardRecord[];
  node: Readings;
  report: ResolveReport;
  seconds: number;
}

const GENTLE_MS = 10_000;
const COSTLY_MS = 60_000;
/** A survey that found something unanswered is made again after this long, and then more and more seldom. */
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;
const WATCH_MS = 2_000;
/** Discovery goes on without cards, and without caches, that take longer to look at; they come when they have answered. */
const PATIENCE_MS = 250;
/** Whoever looks first waits this long where most cards are slow to be opened. */
const FIRST_LOOK_MS = 1_000;
const POLL_MS = 50;

/** The cards of this node as they are now: finds them, reads them through lanes, makes readings of what was read. */
export class AmdNode {
  readonly #options: NodeOptions;
  readonly #records = new Map<string, CardRecord>();
  readonly #numbering = new Numbering();
  readonly #once: OnceLog;
  readonly #inspections: Inspections;
  readonly #node = new Readings();
  #survey: Survey | undefined;
  #surveying: Promise<void> | undefined;
  #surveyedAt = Number.NEGATIVE_INFINITY;
  #retryMs = RETRY_MS;
  #wanted = false;
  #fingerprint: string | undefined;
  #generation = 0;
  readonly #costly: CostlyReader;
  readonly #caches: CacheReader;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.#once = onceLog(options.log);
    const { pool, clock, costlyMs = COSTLY_MS } = options;
    this.#costly = new CostlyReader(pool, clock, costlyMs, () => this.cards);
    this.#caches = new CacheReader(pool, options.paths);
    this.#inspections = new Inspections(options.pool, options.clock, PATIENCE_MS, () => this.rediscover());
  }

  /** Finds the cards and opens their files; from here on the slow ones are read on their timer. */
  async start(): Promise<void> {
    this.#options.pool.warm();
    await this.#resurvey();
    await this.#firstLook();
    this.#costly.start();
  }

  /** To open a card's files takes many times as long as to read them ever after: the first to ask shall find them open. */
  async #firstLook(): Promise<void> {
    const { clock } = this.#options;
    const end = clock.monotonic() + FIRST_LOOK_MS;
    const left = (): number => end - clock.monotonic();
    while (left() > 0) {
      await this.collect(left());
      const late = this.cards.filter(({ health }) => health === 'silent').map(({ pci }) => pci);
      // One that hangs keeps nobody waiting; where the file system is slow, all are.
      if (late.length * 2 <= this.cards.length || !late.some((pci) => this.#isBusyWith(pci))) return;
      // What a lane brings too late is not kept, but the files are open then.
      while (left() > 0 && late.every((pci) => this.#isBusyWith(pci))) {
        await sleep(clock, POLL_MS);
      }
    }
  }

  #isBusyWith(pci: string): boolean {
    return this.#options.pool.stats.stuck.includes(pci) || this.#inspections.isLookingAt(pci);
  }

  close(): void {
    this.#costly.close();
  }

  /** Cards in their numbers' order, those that are gone included. */
  get cards(): CardRecord[] {
    return [...this.#records.values()].sort((a, b) => a.found.card.gpu - b.found.card.gpu);
  }

  states(): CardState[] {
    return this.cards.map((record) => ({
      card: record.found.card,
      health: record.health,
      readings: new Map(record.shown().flatMap((readings) => [...readings.toMap()])),
    }));
  }

  /** Has the topology looked at again before the next collection. */
  rediscover(): void {
    this.#wanted = true;
  }

  /** What is known at this moment, nothing read: during a collection, the cards that have answered so far. */
  current(): Snapshot {
    const report: ResolveReport = { seconds: new Map(), failures: new Map(), troubled: new Set() };
    return { at: this.#options.clock.now(), cards: this.cards, node: this.#node, report, seconds: 0 };
  }

  /** Reads all cards and makes their readings, within `deadline` ms whatever hangs. */
  async collect(deadline: number): Promise<Snapshot> {
    const { clock } = this.#options;
    const start = clock.monotonic();
    const left = (): number => Math.max(1, deadline - (clock.monotonic() - start));
    const report: ResolveReport = { seconds: new Map(), failures: new Map(), troubled: new Set() };
    let changed = await this.#pass(left, report);
    if (!this.#isComplete() && clock.monotonic() - this.#surveyedAt > this.#retryMs) changed = true;
    if (changed || this.#wanted) {
      this.#wanted = false;
      // Half of the time, so that a pass over what was found fits behind it. A longer survey serves the next collection.
      if (await within(clock, this.#resurvey(), left() / 2)) await this.#pass(left, report);
    }
    for (const [group, error] of report.failures) this.#once.report(`resolver ${group}`, error.message);
    return {
      at: clock.now(),
      cards: this.cards,
      node: this.#node,
      report,
      seconds: (clock.monotonic() - start) / 1000,
    };
  }

  #isComplete(): boolean {
    const now = this.#survey;
    return now?.answered === true && this.#caches.complete && now.devices.every((device) => device.complete);
  }

  /** One pass over all cards; true where the topology is not what it was. */
  async #pass(left: () => number, report: ResolveReport): Promise<boolean> {
    const { pool, clock, paths } = this.#options;
    const at = clock.now();
    const tasks: Task[] = watchTasks(paths);
    const handlers: ((outcome: Outcome) => void)[] = tasks.map(() => () => {});
    const lacking = new Map<CardRecord, string[]>();
    for (const record of this.#records.values()) {
      record.live.begin(at);
      if (record.health === 'gone' || record.byTopologyAlone) continue;
      const names = record.planned;
      if (names.length === 0 && this.#inspections.isLookingAt(record.pci)) {
        this.#took(record, names, { op: 'timeout' }, at, report);
        continue;
      }
      this.#addGentle(record, tasks, handlers, report);
      tasks.push({ owner: record.pci, item: record.passItem() });
      handlers.push((outcome) => {
        const missing = this.#took(record, names, outcome, at, report) ? this.#uncovered(record) : [];
        if (missing.length > 0) lacking.set(record, missing);
        else this.#resolve(record, report);
      });
    }
    const outcomes = await pool.run(tasks, left(), (index, outcome) => handlers[index]?.(outcome));
    if (lacking.size > 0) await this.#complete(lacking, left, report);
    for (const record of this.#records.values()) {
      if (!record.byTopologyAlone || record.health === 'gone') continue;
      // Known by the topology alone, which has answered: there is nothing more to ask.
      record.health = 'ok';
      this.#resolve(record, report);
    }
    const seen = fingerprint(outcomes[0], outcomes[1], this.#fingerprint);
    const changed = seen !== this.#fingerprint;
    this.#fingerprint = seen;
    if (changed || clock.monotonic() - this.#surveyedAt < RETRY_MS) return changed;
    return [...this.#records.values()].some((record) => record.health === 'gone' && this.#isListed(record));
  }

  #addGentle(record: CardRecord, tasks: Task[], handlers: ((outcome: Outcome) => void)[], report: ResolveReport): void {
    const { clock, gentleMs = GENTLE_MS } = this.#options;
    if (clock.monotonic() - record.gentleAt < gentleMs) return;
    const names = [...record.named('gentle'), ...record.named('fallback').filter((n) => gentleWhenNotNeeded(n))].filter(
      (name) => !record.planned.includes(name),
    );
    if (names.length === 0) return;
    tasks.push({ owner: record.pci, item: record.readItem(names) });
    handlers.push((outcome) => {
      if (outcome.op !== 'read' || outcome.asleep) return;
      record.gentleAt = clock.monotonic();
      record.take(names, outcome.files, true, report.troubled);
    });
  }

  /** Stores one pass; true where the card is well. */
  #took(record: CardRecord, names: readonly string[], outcome: Outcome, at: number, report: ResolveReport): boolean {
    const before = record.health;
    const incomplete = record.found.device?.complete === false;
    // A card whose directory did not answer at discovery has no files yet: that is silence, not health.
    record.health = incomplete && names.length === 0 ? 'silent' : healthOf(names, outcome);
    if (outcome.op === 'read') {
      record.readMs = outcome.milliseconds;
      if (!outcome.asleep) record.take(names, outcome.files, false, report.troubled);
    }
    const { health } = record;
    if (health === 'ok') record.lastSuccess = at;
    else if (health === 'silent') record.count('card', silenceOf(outcome));
    else if (health === 'asleep') record.count('card', 'asleep');
    else if (health === 'resetting') record.count('card', 'busy');
    else if (health === 'gone') record.count('card', 'gone');
    // After a sleep or a reset the identity may have been unreadable so far, and counters begin anew.
    if (before !== health && health === 'ok' && (before === 'resetting' || before === 'gone')) record.forget();
    // Discovery did not get all of it then; now it answers.
    if (incomplete && outcome.op === 'read' && !outcome.asleep && before !== 'ok') this.#wanted = true;
    this.#once.report(`card ${record.pci}`, health === 'ok' || health === 'asleep' ? undefined : `card is ${health}`, {
      gpu: record.gpu,
    });
    return health === 'ok';
  }

  /** Files to which the table of this pass leaves something and that were not read with it. */
  #uncovered(record: CardRecord): string[] {
    const table = tableOf(record);
    const { family } = record.found.card.model;
    const want = record.named('fallback').filter((name) => needed(name, family, table));
    const missing = want.filter((name) => !record.planned.includes(name));
    if (missing.length === 0 && want.length === record.fallbacks.length) return missing;
    const before = record.planId;
    record.fallbacks = want;
    record.replan();
    this.#options.pool.forget(before);
    return missing;
  }

  /** Reads what the first pass turned out to lack. */
  async #complete(lacking: Map<CardRecord, string[]>, left: () => number, report: ResolveReport): Promise<void> {
    const all = [...lacking];
    const tasks = all.map(([record, names]) => ({ owner: record.pci, item: record.readItem(names) }));
    await this.#options.pool.run(tasks, left(), (index, outcome) => {
      const [record, names] = all[index] as [CardRecord, string[]];
      if (outcome.op === 'read' && !outcome.asleep) record.take(names, outcome.files, false, report.troubled);
      else record.health = healthOf(names, outcome);
      this.#resolve(record, report);
    });
  }

  #resolve(record: CardRecord, report: ResolveReport): void {
    if (record.health !== 'ok') return;
    const { clock } = this.#options;
    const now = (): number => clock.monotonic();
    const context = contextOf(record, record.live, judgedTable(record, this.#once));
    resolve(LIVE, context, now, report);
    if (!record.slowIsStale) return;
    record.slowIsStale = false;
    record.slow.begin(clock.now());
    resolve(SLOW, { ...context, out: record.slow }, now, report);
  }

  /** Looks for cards, at most one survey at a time. */
  #resurvey(): Promise<void> {
    this.#surveying ??= this.#lookAgain().finally(() => {
      this.#surveying = undefined;
    });
    return this.#surveying;
  }

  async #lookAgain(): Promise<void> {
    const { pool, paths, clock, log } = this.#options;
    const before = this.#survey;
    // Looked at before the survey: what changes during it is then seen by the next pass.
    const [lists, reads] = await pool.run(watchTasks(paths), WATCH_MS);
    this.#fingerprint = fingerprint(lists, reads, this.#fingerprint);
    const now = await survey(pool, paths, before, this.#inspections);
    this.#survey = now;
    this.#surveyedAt = clock.monotonic();
    this.#retryMs = this.#isComplete() ? RETRY_MS : Math.min(LONGEST_RETRY_MS, this.#retryMs * 2);
    this.#generation += 1;
    const found = assemble(now, this.#numbering, this.#generation);
    const present = new Set(found.map((one) => one.card.pci));
    for (const one of found) {
      const known = this.#records.get(one.card.pci);
      if (known === undefined) {
        this.#records.set(one.card.pci, new CardRecord(one, this.#options.skip ?? (() => false)));
        log.info({ pci: one.card.pci, gpu: one.card.gpu, model: one.card.model.name }, 'card found');
        continue;
      }
      if (known.health !== 'gone' && sameFound(known.found, one)) {
        known.found = { ...one, card: known.found.card };
        continue;
      }
      const plan = known.planId;
      if (known.health === 'gone') {
        known.health = 'silent';
        known.forget();
        known.raw = new RawFiles();
        known.costlyAt = Number.NEGATIVE_INFINITY;
      }
      known.rediscovered(one);
      pool.forget(plan);
    }
    for (const [pci, record] of this.#records) {
      if (present.has(pci) || record.health === 'gone') continue;
      record.health = 'gone';
      record.count('card', 'gone');
      record.forget();
      pool.forget(record.planId);
      pool.dismiss(pci);
      this.#once.report(`card ${pci}`, 'card is gone', { gpu: record.gpu });
    }
    const caches = this.#caches.fill(now.kfd);
    const inTime = await within(clock, caches, PATIENCE_MS);
    this.#fix(now);
    if (!inTime) void caches.then(() => this.#survey === now && this.#fix(now));
  }

  /** Readings that only discovery changes. */
  #fix(now: Survey): void {
    const { clock } = this.#options;
    const at = clock.now();
    const gpuNodes = new Set<number>();
    const firsts = new Map<number, string>();
    for (const record of this.#records.values()) {
      for (const [i, node] of record.found.kfd.entries()) {
        gpuNodes.add(node.node);
        if (i === 0) firsts.set(node.node, record.gpu);
      }
    }
    const driver = driverOf(now);
    for (const record of this.#records.values()) {
      record.fixed.begin(at);
      if (record.health === 'gone') continue;
      const context = contextOf(record, record.fixed, undefined);
      const { device } = record.found;
      resolveInfo(context, {
        card: device?.cardMinor === undefined ? '' : `card${device.cardMinor}`,
        renderNode: device?.renderMinor === undefined ? '' : `renderD${device.renderMinor}`,
        driver,
        simulated: this.#options.simulated ?? false,
      });
      resolveLinks(context, (node) => (gpuNodes.has(node) ? firsts.get(node) : 'cpu'));
    }
    this.#node.begin(at);
    const present = [...this.#records.values()].filter((record) => record.health !== 'gone').length;
    resolveNode(this.#node, now, present);
  }

  #isListed(record: CardRecord): boolean {
    return this.#survey?.devices.some((device) => device.pci === record.pci) ?? false;
  }
}

/** Whose silence it is: the card's, or ours. */
function silenceOf(outcome: Outcome): Reason {
  if (outcome.op === 'lost') return 'failed';
  const first = outcome.op === 'read' ? outcome.files[0] : undefined;
  return typeof first === 'number' && reasonOf(first) === 'exhausted' ? 'exhausted' : 'timeout';
}

function driverOf(now: Survey): string {
  return now.node.text('module/amdgpu/version')?.trim() || now.node.text('sys/kernel/osrelease')?.trim() || '';
}
