import type { Health } from '../model/card.ts';
import type { Group } from '../model/quantities/quantity.ts';
import type { Reason } from '../model/reading.ts';
import type { FoundCard } from './cards.ts';
import type { FileResult, Item, ReadItem } from './lanes/protocol.ts';
import { CardMemory } from './memory.ts';
import { type Cadence, cadenceOf, groupOf } from './plan.ts';
import { RawFiles, reasonOf } from './raw.ts';
import { Readings } from './readings.ts';

/** Failures of one source, by reason; counted since the process began. */
export type ErrorCounts = Map<string, ErrorCount>;

export interface ErrorCount {
  source: string;
  reason: Reason;
  count: number;
  /** Written by the exposition: the series' name with its labels. */
  cached: string | undefined;
}

/** What makes a collector unsuccessful; a card in reset or a file that a part lacks does not. */
const TROUBLE: ReadonlySet<Reason> = new Set(['timeout', 'failed', 'exhausted', 'denied']);

/** Sources whose every reason exists at 0 from the start, so that the first failure is an increase. */
const BORN_AT_ZERO = ['card', 'gpu_metrics'];
const BORN_REASONS: readonly Reason[] = ['busy', 'timeout', 'gone', 'asleep', 'implausible', 'failed', 'unsupported'];

/**
 * What the process knows of one card: where its files are, their newest bytes, the readings made of them, and what must be
 * remembered. It outlives the card's absence: a card that is gone keeps its number and its `up` of 0.
 */
export class CardRecord {
  found: FoundCard;
  health: Health = 'silent';
  raw = new RawFiles();
  memory = new CardMemory();
  /** Made at discovery: identity and topology. */
  readonly fixed: Readings;
  /** Made when one of the seldom-read files was read. */
  readonly slow: Readings;
  /** Made at each pass. */
  readonly live: Readings;
  /** Something that `slow` is made of was read since it was made. */
  slowIsStale = true;
  readonly errors: ErrorCounts = new Map();
  /** ms since the epoch of the last pass that brought anything. */
  lastSuccess: number | undefined;
  /** Milliseconds that the last pass took in the lane. */
  readMs = 0;
  gentleAt = Number.NEGATIVE_INFINITY;
  costlyAt = Number.NEGATIVE_INFINITY;
  /** Fallback files that the last table did not make unnecessary. */
  fallbacks: readonly string[] = [];
  #plan = 0;
  #names: readonly string[] = [];
  #passItem: Item | undefined;
  #byCadence: Record<Cadence, string[]> = { pass: [], fallback: [], gentle: [], costly: [], static: [], never: [] };
  readonly #skip: (name: string) => boolean;

  /** `skip` names files that nobody wants: those of collectors that are switched off. */
  constructor(found: FoundCard, skip: (name: string) => boolean) {
    this.found = found;
    this.#skip = skip;
    this.fixed = new Readings((source) => this.count(sourceOf(source), 'implausible'));
    this.slow = new Readings((source) => this.count(sourceOf(source), 'implausible'));
    this.live = new Readings((source) => this.count(sourceOf(source), 'implausible'));
    for (const source of BORN_AT_ZERO) for (const reason of BORN_REASONS) this.#slot(source, reason);
    this.rediscovered(found);
  }

  /** What may be shown now: of a card that does not answer, only what it is. */
  shown(): readonly Readings[] {
    return this.health === 'ok' ? [this.fixed, this.slow, this.live] : [this.fixed];
  }

  get pci(): string {
    return this.found.card.pci;
  }

  get gpu(): string {
    return String(this.found.card.gpu);
  }

  /** Nothing of it can be read at a pass: its being listed is all there is to know. */
  get byTopologyAlone(): boolean {
    return this.found.device === undefined && this.#names.length === 0;
  }

  get planId(): string {
    return `${this.pci}#${this.#plan}`;
  }

  /** Names of the files of the current plan, in order. */
  get planned(): readonly string[] {
    return this.#names;
  }

  get gate(): string | undefined {
    return this.found.device?.files.get('power/runtime_status');
  }

  named(cadence: Cadence): readonly string[] {
    return this.#byCadence[cadence];
  }

  /**
   * Takes what discovery found now: files may have come and gone, and nothing old may be shown, but for what is read once a
   * minute and belongs to the same hardware.
   */
  rediscovered(found: FoundCard): void {
    this.found = found;
    const before = this.raw;
    const rare = this.#byCadence.costly.filter((name) => !USED_UP.has(name));
    this.raw = new RawFiles();
    const device = found.device;
    for (const name of device?.statics.names() ?? []) {
      this.raw.set(name, device?.statics.bytes(name) ?? device?.statics.errno(name) ?? 0);
    }
    this.#byCadence = { pass: [], fallback: [], gentle: [], costly: [], static: [], never: [] };
    for (const name of this.#allNames()) this.#byCadence[cadenceOf(name)].push(name);
    for (const name of rare) {
      const bytes = before.bytes(name);
      if (bytes !== undefined && this.#byCadence.costly.includes(name)) this.raw.set(name, bytes);
    }
    this.gentleAt = Number.NEGATIVE_INFINITY;
    this.slowIsStale = true;
    this.fallbacks = this.#byCadence.fallback;
    this.replan();
  }

  /** Makes the list of a pass anew, under a new name. */
  replan(): void {
    this.#names = [...this.#byCadence.pass, ...this.fallbacks];
    this.#plan += 1;
    this.#passItem = undefined;
  }

  pathOf(name: string): string {
    const own = this.found.device?.files.get(name) ?? (name === USED_MEMORY ? this.#usedMemory : undefined);
    if (own !== undefined) return own;
    const number = /^xcp(\d+)\/xcp_metrics$/.exec(name)?.[1];
    if (number !== undefined) return `${this.found.xcpDirs.get(Number(number)) ?? ''}/xcp/xcp_metrics`;
    return '';
  }

  /** The same at each pass of one plan: its paths are looked up once. */
  passItem(): Item {
    this.#passItem ??= this.#gated({
      op: 'pass',
      plan: this.planId,
      files: this.#names.map((name) => this.pathOf(name)),
    });
    return this.#passItem;
  }

  readItem(names: readonly string[]): Item {
    return this.#gated({ op: 'read', files: names.map((name) => this.pathOf(name)) });
  }

  /**
   * Stores what a read brought, and counts what failed. `keep` for what stays longer than one pass; `troubled` gets the
   * groups whose files failed for a reason that is not the card's ordinary state.
   */
  take(names: readonly string[], files: readonly FileResult[], keep: boolean, troubled?: Set<Group>): void {
    if (keep) this.slowIsStale = true;
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string;
      const result = files[i] as FileResult;
      this.raw.set(name, result, keep);
      if (typeof result === 'number') this.#failed(name, reasonOf(result), troubled);
      // Zero bytes where a text is due: what a hung card's driver hands out.
      else if (result.length === 0 && !MAY_BE_EMPTY.test(name)) this.count(sourceOf(name), 'absent');
    }
  }

  /** After a reset, a reload or an absence counters have no history. */
  forget(): void {
    this.memory.forget();
    this.live.forgetCounters();
    this.slow.forgetCounters();
  }

  #failed(name: string, reason: Reason, troubled: Set<Group> | undefined): void {
    this.count(sourceOf(name), reason);
    if (troubled === undefined || !TROUBLE.has(reason)) return;
    const group = name === 'gpu_metrics' ? 'compute' : groupOf(name);
    if (group !== undefined) troubled.add(group);
  }

  count(source: string, reason: Reason): void {
    this.#slot(source, reason).count += 1;
  }

  #slot(source: string, reason: Reason): { count: number } {
    const key = `${source} ${reason}`;
    let slot = this.errors.get(key);
    if (slot === undefined) {
      slot = { source, reason, count: 0, cached: undefined };
      this.errors.set(key, slot);
    }
    return slot;
  }

  /** Of the whole card only: what partitions hold may be the same pool. */
  get #usedMemory(): string | undefined {
    const { kfd } = this.found;
    return kfd.length === 1 ? kfd[0]?.usedMemory : undefined;
  }

  #gated(item: ReadItem): ReadItem {
    const gate = this.gate;
    return gate === undefined ? item : { ...item, gate };
  }

  #allNames(): string[] {
    const names = [...(this.found.device?.files.keys() ?? [])];
    if (this.#usedMemory !== undefined && !names.includes('mem_info_vram_used')) names.push(USED_MEMORY);
    for (const number of this.found.xcpDirs.keys()) names.push(`xcp${number}/xcp_metrics`);
    return names.filter((name) => !this.#skip(name));
  }
}

/** The topology's own count, which some drivers have where the card shows none. */
const USED_MEMORY = 'kfd/used_memory';

/** Contents that a read uses up: shown twice, they would count twice. */
const USED_UP = new Set(['xgmi_error']);

/** Files that the driver leaves empty on parts that have nothing to say. */
const MAY_BE_EMPTY = /^(ras\/gpu_vram_bad_pages|pp_dpm_|unique_id|enforce_isolation)/;

/** What people know the file by: its name, with hwmon's prefix left to the name itself. */
export function sourceOf(name: string): string {
  return /^hwmon[/ ]/.test(name) ? name.slice(6) : name;
}
