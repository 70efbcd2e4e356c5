import type { Clock } from '../../base/clock.ts';
import type { KnobFacts, KnobName, Settings } from '../../model/claim.ts';
import type { Reason } from '../../model/reading.ts';
import { memoryBank } from '../formats/kfd.ts';
import type { LanePool } from '../lanes/pool.ts';
import type { FileResult, WriteAnswer } from '../lanes/protocol.ts';
import type { AmdNode } from '../node.ts';
import { reasonOf } from '../raw.ts';
import type { CardRecord } from '../record.ts';
import { errnoName } from './errno.ts';
import { KnobMemory } from './memory.ts';
import { type Plan, planWrites, type Ranges, type Step } from './plan.ts';
import type { KnobPort, SettingsRead, WriteResult } from './port.ts';
import { type CardView, probe } from './probe.ts';
import { CONTROL_FILES, type Shown, shown, type TextOf } from './shown.ts';

export interface CardKnobsOptions {
  node: Pick<AmdNode, 'cards'>;
  /** Opened `writable`. */
  pool: Pick<LanePool, 'run' | 'write'>;
  clock: Clock;
  /** How long one reading or writing of a card may take altogether, ms. */
  deadlineMs?: number;
}

const DEADLINE_MS = 2000;
/** How long it is believed that a file may, or may not, be written, ms: a container can be mounted anew. */
const ACCESS_MS = 60_000;

interface Known {
  memory: KnobMemory;
  /** Generation of the card that this was learnt of. */
  generation: number;
  access?: { at: number; errnos: ReadonlyMap<string, number> };
}

/** The knobs of the cards that a node has found, reached through the cards' lanes. */
export class CardKnobs implements KnobPort {
  readonly #options: CardKnobsOptions;
  readonly #deadlineMs: number;
  readonly #known = new Map<string, Known>();

  constructor(options: CardKnobsOptions) {
    this.#options = options;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
  }

  /**
   * Finds out which control files may be written, where that is not known of a card or is a minute old. To be called after each
   * collection of the node; until it has been, no knob is adjustable.
   */
  async look(): Promise<void> {
    const now = this.#options.clock.monotonic();
    const records = this.#options.node.cards.filter((record) => {
      const at = this.#knownOf(record).access?.at ?? Number.NEGATIVE_INFINITY;
      return record.found.device !== undefined && record.health !== 'gone' && now - at >= ACCESS_MS;
    });
    const tasks = records.map((record) => {
      const files = namesOf(record).map((name) => record.pathOf(name));
      return { owner: record.pci, item: { op: 'access', files } as const };
    });
    if (tasks.length === 0) return;
    await this.#options.pool.run(tasks, this.#deadlineMs, (index, outcome) => {
      const record = records[index] as CardRecord;
      if (outcome.op !== 'access') return;
      const errnos = new Map(namesOf(record).map((name, i) => [name, outcome.files[i] ?? 0]));
      this.#knownOf(record).access = { at: now, errnos };
    });
  }

  facts(pci: string): ReadonlyMap<KnobName, KnobFacts> {
    const record = this.#record(pci);
    if (record === undefined) return new Map();
    const primary = this.#record(record.found.card.package);
    return probe(this.#viewOf(record), primary && this.#viewOf(primary));
  }

  async read(on: string): Promise<SettingsRead> {
    const record = this.#record(on);
    if (record === undefined || record.health === 'gone') return { ok: false, reason: 'gone' };
    const names = namesOf(record);
    if (names.length === 0) return { ok: false, reason: 'unsupported' };
    const task = { owner: on, item: record.readItem(names) };
    const [outcome] = await this.#options.pool.run([task], this.#deadlineMs);
    if (outcome?.op !== 'read') return { ok: false, reason: outcome?.op === 'lost' ? 'failed' : 'timeout' };
    if (outcome.asleep) return { ok: false, reason: 'asleep' };
    const text = textsOf(names, outcome.files);
    const now = shown(record.found.card.model.family, text);
    const settings = this.#knownOf(record).memory.see(now, this.#options.clock.monotonic());
    // A card in reset refuses its files, one that hangs leaves them empty.
    return Object.keys(settings).length > 0 ? { ok: true, settings } : { ok: false, reason: whyNone(outcome.files) };
  }

  async write(on: string, from: Settings, to: Settings): Promise<WriteResult> {
    const record = this.#record(on);
    if (record === undefined || record.health === 'gone') return { outcome: 'unanswered', reason: 'gone' };
    const plan = this.#plan(record, from, to);
    if ('impossible' in plan) return { outcome: 'refused', file: '', text: '', errno: plan.impossible };
    const names = namesOf(record);
    const { gate } = record;
    const outcome = await this.#options.pool.write(
      on,
      {
        op: 'write',
        steps: plan.map(({ file, text }) => ({ file: record.pathOf(file), text })),
        readBack: names.map((name) => record.pathOf(name)),
        ...(gate !== undefined && { gate }),
      },
      this.#deadlineMs,
    );
    if (outcome.op !== 'write') return { outcome: 'unanswered', reason: outcome.op === 'lost' ? 'failed' : 'timeout' };
    if (outcome.asleep) return { outcome: 'unanswered', reason: 'asleep' };
    return this.#resultOf(record, plan, to, names, outcome);
  }

  #plan(record: CardRecord, from: Settings, to: Settings): Plan {
    const { card } = record.found;
    const view = this.#viewOf(record);
    const power = probe(view, view).get('power_cap');
    const { floor, max } = power ?? {};
    const ranges: Ranges = {
      ...view.hardware,
      ...(floor !== undefined && max !== undefined && { cap: { floor, max } }),
    };
    return planWrites(card.model.family, from, to, ranges);
  }

  #resultOf(
    record: CardRecord,
    steps: readonly Step[],
    to: Settings,
    names: readonly string[],
    { steps: results, files }: WriteAnswer,
  ): WriteResult {
    const { memory } = this.#knownOf(record);
    const now = this.#options.clock.monotonic();
    const after = shown(record.found.card.model.family, textsOf(names, files));
    const failed = results.findIndex((result) => result !== 0);
    if (failed < 0) memory.wrote(steps, to, after, now);
    const settings = memory.see(after, now);
    if (failed < 0) return { outcome: 'written', settings };
    const errno = results[failed] as number;
    const reason = errno < 0 ? 'timeout' : reasonOf(errno);
    // Firmware that does not answer may have done what it was told all the same.
    if (reason === 'timeout' || reason === 'gone') return { outcome: 'unanswered', reason };
    const { file, text } = steps[failed] as Step;
    const isKnown = Object.keys(settings).length > 0;
    return { outcome: 'refused', file, text, errno: errnoName(errno), ...(isKnown && { settings }) };
  }

  #record(pci: string): CardRecord | undefined {
    return this.#options.node.cards.find((record) => record.pci === pci);
  }

  #knownOf(record: CardRecord): Known {
    const { generation } = record.found.card;
    const known = this.#known.get(record.pci) ?? { memory: new KnobMemory(), generation };
    if (known.generation !== generation || record.health === 'resetting' || record.health === 'gone') {
      known.generation = generation;
      known.memory.forget();
      delete known.access;
    }
    this.#known.set(record.pci, known);
    return known;
  }

  /** By what discovery and the last pass read. */
  #viewOf(record: CardRecord): CardView {
    const { card, device, kfd } = record.found;
    const { memory, access } = this.#knownOf(record);
    const banks = kfd.flatMap(({ memBanks }) => memBanks.map((bank) => (memoryBank(bank).hertz ?? 0) / 1e6));
    memory.seeTopology(Number(kfd[0]?.props.get('max_engine_clk_fcompute') ?? 0), Math.max(0, ...banks));
    const text: TextOf = (name) => record.raw.text(name);
    const now: Shown = shown(card.model.family, text);
    return {
      card,
      health: record.health,
      has: (name) => device?.files.has(name) ?? false,
      text,
      access: (name) => access?.errnos.get(name),
      hardware: memory.hardware(now),
    };
  }
}

function namesOf(record: CardRecord): readonly string[] {
  const files = record.found.device?.files;
  return files === undefined ? [] : CONTROL_FILES.filter((name) => files.has(name));
}

const decoder = new TextDecoder('utf-8');

function textsOf(names: readonly string[], files: readonly FileResult[]): TextOf {
  return (name) => {
    const file = files[names.indexOf(name)];
    return file === undefined || typeof file === 'number' ? undefined : decoder.decode(file);
  };
}

function whyNone(files: readonly FileResult[]): Reason {
  const errno = files.find((file) => typeof file === 'number');
  return typeof errno === 'number' ? reasonOf(errno) : 'timeout';
}
