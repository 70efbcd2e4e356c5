import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { FoundCard } from '../../../amdgpu/cards.ts';
import { identify } from '../../../amdgpu/chips.ts';
import { CardKnobs } from '../../../amdgpu/knobs/device.ts';
import type { LanePool, Outcome, WriteOutcome } from '../../../amdgpu/lanes/pool.ts';
import type { FileResult, WriteItem } from '../../../amdgpu/lanes/protocol.ts';
import { RawFiles } from '../../../amdgpu/raw.ts';
import { CardRecord } from '../../../amdgpu/record.ts';
import { fakeClock } from '../../../base/clock.ts';
import type { NodeOptions } from '../../../sim/node.ts';
import { Judge } from './simulated.ts';

const { ENOENT, EIO, EBUSY } = constants.errno;
const PCI = '0000:05:00.0';
const LEVEL = 'power_dpm_force_performance_level';
const NAMES = ['hwmon/power1_cap', 'hwmon/power1_cap_min', 'hwmon/power1_cap_max', 'hwmon/power1_cap_default'];
const CONTROLS = [LEVEL, 'pp_od_clk_voltage', 'pp_dpm_sclk'];

/** A simulated card behind a pool that does at once what a lane would. */
class Bench {
  readonly judge: Judge;
  readonly clock = fakeClock();
  readonly record: CardRecord;
  readonly knobs: CardKnobs;
  writes: WriteItem[] = [];
  asked = 0;
  /** Instead of an answer. */
  instead: 'timeout' | 'lost' | 'asleep' | undefined;
  /** Errno of each file's reading. */
  unreadable = new Map<string, number>();

  constructor(options: NodeOptions) {
    this.judge = new Judge(options);
    const found = this.#found(1);
    this.record = new CardRecord(found, () => false);
    this.record.health = 'ok';
    const pool: Pick<LanePool, 'run' | 'write'> = {
      run: async (tasks, _deadline, onOutcome) => {
        const outcomes = tasks.map(({ item }): Outcome => {
          if (this.instead === 'timeout' || this.instead === 'lost') return { op: this.instead };
          if (item.op === 'list') return { op: 'list', dirs: [] };
          const { files = [] } = item;
          if (item.op === 'access') {
            this.asked += 1;
            return { op: 'access', files: files.map(() => 0) };
          }
          return {
            op: 'read',
            asleep: this.instead === 'asleep',
            files: files.map((f) => this.#read(f)),
            milliseconds: 0,
          };
        });
        outcomes.forEach((outcome, i) => {
          onOutcome?.(i, outcome);
        });
        return outcomes;
      },
      write: async (_owner, item): Promise<WriteOutcome> => {
        if (this.instead === 'timeout' || this.instead === 'lost') return { op: this.instead };
        this.writes.push(item);
        const steps = item.steps.map(() => -1);
        if (this.instead === 'asleep') return { op: 'write', asleep: true, steps: [], files: [], milliseconds: 0 };
        for (const [i, { file, text }] of item.steps.entries()) {
          const answer = this.judge.write(file.slice(1), text);
          steps[i] = answer === 'ok' ? 0 : (constants.errno[answer as keyof typeof constants.errno] as number);
          if (answer !== 'ok') break;
        }
        return { op: 'write', asleep: false, steps, files: item.readBack.map((f) => this.#read(f)), milliseconds: 0 };
      },
    };
    this.knobs = new CardKnobs({ node: { cards: [this.record] }, pool, clock: this.clock });
    this.pass();
  }

  /** What a collection of the node does. */
  pass(): void {
    for (const name of [...NAMES, ...CONTROLS]) {
      const text = this.judge.text(name);
      if (text !== undefined) this.record.raw.set(name, Buffer.from(text));
    }
  }

  rediscover(): void {
    this.record.rediscovered(this.#found(2));
    this.pass();
  }

  #found(generation: number): FoundCard {
    const { name, family, virtual } = identify(`0x${this.judge.spec.deviceId.toString(16)}`, '');
    const present = [...NAMES, ...CONTROLS].filter((one) => this.judge.text(one) !== undefined);
    const files = new Map(present.map((one) => [one, `/${one}`]));
    const device = { pci: PCI, dir: '', files, statics: new RawFiles(), complete: true };
    const model = { name, family, deviceId: '', gfx: '' };
    const card = { pci: PCI, gpu: 0, package: PCI, model, virtual, partitions: [], generation };
    return { card, device, kfd: [], xcpDirs: new Map() };
  }

  #read(path: string): FileResult {
    const name = path.slice(1);
    return this.unreadable.get(name) ?? Buffer.from(this.judge.text(name) ?? '');
  }
}

const mi300x = (): Bench => new Bench({ model: 'mi300x', cards: 1 });

describe('facts', () => {
  it('wait for a look at what may be written, which is believed for a minute', async () => {
    const b = mi300x();
    expect(b.knobs.facts(PCI).get('power_cap')?.why).toBe('unprobed');
    await b.knobs.look();
    expect(b.knobs.facts(PCI).get('power_cap')).toMatchObject({ adjustable: true, floor: 300, max: 750 });
    await b.knobs.look();
    expect(b.asked).toBe(1);
    b.clock.advance(60_000);
    await b.knobs.look();
    expect(b.asked).toBe(2);
  });

  it('are learnt anew of a card that was found anew', async () => {
    const b = mi300x();
    await b.knobs.look();
    b.rediscover();
    expect(b.knobs.facts(PCI).get('power_cap')?.why).toBe('unprobed');
    await b.knobs.look();
    expect(b.knobs.facts(PCI).get('power_cap')?.adjustable).toBe(true);
  });

  it('stay unknown where the lane does not answer', async () => {
    const b = mi300x();
    b.instead = 'timeout';
    await b.knobs.look();
    expect(b.knobs.facts(PCI).get('power_cap')?.why).toBe('unprobed');
  });

  it('keep the range of the hardware while a limit hides it', async () => {
    const b = mi300x();
    await b.knobs.look();
    await b.knobs.read(PCI);
    b.judge.carryOut({ gfx_clock: 1000, mem_clock: 1000 });
    b.pass();
    expect(b.knobs.facts(PCI).get('gfx_clock')).toMatchObject({ min: 500, max: 2100, default: 2100, floor: 840 });
    expect(b.knobs.facts(PCI).get('mem_clock')).toMatchObject({ min: 900, max: 1300 });
  });

  it('of a card that nobody knows are none', () => {
    expect(mi300x().knobs.facts('0000:99:00.0').size).toBe(0);
  });
});

describe('reading', () => {
  it.each([
    ['timeout', 'timeout'],
    ['lost', 'failed'],
    ['asleep', 'asleep'],
  ] as const)('ends in a reason where the lane says %s', async (instead, reason) => {
    const b = mi300x();
    b.instead = instead;
    expect(await b.knobs.read(PCI)).toEqual({ ok: false, reason });
  });

  it('leaves out what did not answer, and says why where nothing did', async () => {
    const b = mi300x();
    b.unreadable.set('hwmon/power1_cap', EIO);
    expect(await b.knobs.read(PCI)).toEqual({
      ok: true,
      settings: { gfx_clock: 2100, mem_clock: 1300, level: 'auto' },
    });
    for (const name of [...NAMES, ...CONTROLS]) b.unreadable.set(name, EBUSY);
    expect(await b.knobs.read(PCI)).toEqual({ ok: false, reason: 'busy' });
    for (const name of [...NAMES, ...CONTROLS]) b.unreadable.set(name, ENOENT);
    expect(await b.knobs.read(PCI)).toEqual({ ok: false, reason: 'gone' });
  });

  it('of a card that has gone asks nobody', async () => {
    const b = mi300x();
    b.record.health = 'gone';
    expect(await b.knobs.read(PCI)).toEqual({ ok: false, reason: 'gone' });
    expect(await b.knobs.write(PCI, {}, { power_cap: 500 })).toEqual({ outcome: 'unanswered', reason: 'gone' });
  });
});

describe('writing', () => {
  const open = { power_cap: 750, gfx_clock: 2100, mem_clock: 1300, level: 'auto' };

  it.each([
    ['timeout', 'timeout'],
    ['lost', 'failed'],
    ['asleep', 'asleep'],
  ] as const)('is unanswered where the lane says %s', async (instead, reason) => {
    const b = mi300x();
    b.instead = instead;
    expect(await b.knobs.write(PCI, open, { power_cap: 525 })).toEqual({ outcome: 'unanswered', reason });
  });

  it.each([
    [{ power_cap: 1 }, 'under_floor'],
    [{ power_cap: 800 }, 'over_range'],
    [{ level: 'profile_peak' }, 'level_unsupported'],
  ])('of %j reaches no card', async (to, errno) => {
    const b = mi300x();
    expect(await b.knobs.write(PCI, open, to)).toEqual({ outcome: 'refused', file: '', text: '', errno });
    expect(b.writes).toEqual([]);
  });

  it('of what stands already writes nothing and reads back', async () => {
    const b = mi300x();
    expect(await b.knobs.write(PCI, open, { power_cap: 750 })).toEqual({ outcome: 'written', settings: open });
    expect(b.writes.map(({ steps }) => steps)).toEqual([[]]);
  });

  it('that is refused names the step, and says what stands there', async () => {
    const b = mi300x();
    b.judge.node.gpus[0]!.live.inReset = true;
    const result = await b.knobs.write(PCI, open, { gfx_clock: 1500 });
    b.judge.node.gpus[0]!.live.inReset = false;
    expect(result).toMatchObject({ outcome: 'refused', file: LEVEL, text: 'manual', settings: open });
  });

  it('on MI100 vouches for the level until the clock is seen above it', async () => {
    const b = new Bench({ model: 'mi100', cards: 1 });
    const found = { power_cap: 290, gfx_clock: 1502, level: 'auto' };
    expect(await b.knobs.read(PCI)).toEqual({ ok: true, settings: found });
    const limited = { power_cap: 290, gfx_clock: 1189, level: 'manual' };
    expect(await b.knobs.write(PCI, found, { gfx_clock: 1200 })).toEqual({ outcome: 'written', settings: limited });
    b.clock.advance(5000);
    expect(await b.knobs.read(PCI)).toEqual({ ok: true, settings: limited });
    b.judge.node.gpus[0]!.live.clock.gfx = [1502];
    expect(await b.knobs.read(PCI)).toEqual({ ok: true, settings: { power_cap: 290, level: 'manual' } });
    expect(await b.knobs.write(PCI, { level: 'manual' }, { gfx_clock: 1502, level: 'auto' })).toMatchObject({
      settings: found,
    });
  });
});
