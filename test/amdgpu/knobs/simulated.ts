import fc from 'fast-check';
import { powerFloor } from '../../../amdgpu/knobs/envelope.ts';
import { KnobMemory } from '../../../amdgpu/knobs/memory.ts';
import { type Plan, planWrites, type Ranges, type Step } from '../../../amdgpu/knobs/plan.ts';
import { shown, type TextOf, watts } from '../../../amdgpu/knobs/shown.ts';
import type { Settings } from '../../../model/claim.ts';
import { clockFiles } from '../../../sim/files/clocks.ts';
import { directory, type Files } from '../../../sim/files/entry.ts';
import { hwmonFiles } from '../../../sim/files/hwmon.ts';
import { MODELS } from '../../../sim/models.ts';
import type { NodeOptions } from '../../../sim/node.ts';
import type { NodeDescription, Settings as SimSettings } from '../../../sim/tree.ts';
import { idleNode, write } from '../../sim/driver/support.ts';

/** Every product, and MI200 also with a driver that shows no range. */
export const NODES: NodeOptions[] = [
  { model: 'mi100', cards: 1 },
  { model: 'mi210', cards: 1 },
  { model: 'mi210', cards: 1, driver: 'linux-6.1' },
  { model: 'mi250x', cards: 1 },
  { model: 'mi300x', cards: 1 },
  { model: 'mi300a', cards: 1 },
  { model: 'mi325x', cards: 1 },
  { model: 'mi355x', cards: 1 },
];

const kept = new Map<string, { node: NodeDescription; settings: SimSettings }>();

/** The node as it comes up. Made once: its tree takes longer than a plan. */
function freshNode(options: NodeOptions, gpu: number): NodeDescription {
  const key = JSON.stringify([options, gpu]);
  const known = kept.get(key);
  if (known === undefined) {
    const node = idleNode(options);
    kept.set(key, { node, settings: structuredClone((node.gpus[gpu] as NodeDescription['gpus'][number]).settings) });
    return node;
  }
  (known.node.gpus[gpu] as NodeDescription['gpus'][number]).settings = structuredClone(known.settings);
  return known.node;
}

/** One simulated card under plans: the simulator's driver takes their writes and is their judge. */
export class Judge {
  readonly node: NodeDescription;
  readonly memory = new KnobMemory();
  readonly gpu: number;
  #now = 0;

  constructor(options: NodeOptions, gpu = 0) {
    this.node = freshNode(options, gpu);
    this.gpu = gpu;
    const { clock } = this.#gpu.live;
    // Asleep between two levels it would show a line that is none of them.
    clock.gfx = clock.gfx.map(() => this.spec.clocks.gfx[0] as number);
    // As it was when nothing was limited.
    this.read();
  }

  get #gpu() {
    return this.node.gpus[this.gpu] as NodeDescription['gpus'][number];
  }

  get spec() {
    return MODELS[this.node.model];
  }

  get sim(): SimSettings {
    return this.#gpu.settings;
  }

  get text(): TextOf {
    const files: Files = new Map();
    clockFiles(this.node, this.#gpu, directory(files, 'device'));
    hwmonFiles(this.node, this.#gpu, directory(files, 'device/hwmon'));
    return (name) => {
      const entry = files.get(`device/${name}`);
      return entry && 'content' in entry ? Buffer.from(entry.content).toString() : undefined;
    };
  }

  /** As a reader finds the card, a second later. */
  read(): Settings {
    this.#now += 2000;
    return this.memory.see(shown(this.spec.family, this.text), this.#now);
  }

  get ranges(): Ranges {
    const max = watts(this.text('hwmon/power1_cap_max'));
    return {
      ...(max && { cap: { floor: powerFloor({ max }), max } }),
      ...this.memory.hardware(shown(this.spec.family, this.text)),
    };
  }

  plan(to: Settings): Plan {
    return planWrites(this.spec.family, this.read(), to, this.ranges);
  }

  /** What the driver said to each write; everything that was tried stands in the list. */
  carryOut(to: Settings): { steps: readonly Step[]; answers: string[] } {
    const plan = this.plan(to);
    if ('impossible' in plan) return { steps: [], answers: [plan.impossible] };
    const answers = plan.map(({ file, text }) => this.write(file, text));
    this.memory.wrote(plan, to, shown(this.spec.family, this.text), this.#now);
    return { steps: plan, answers };
  }

  write(file: string, text: string): string {
    return write(this.node, file.replace('hwmon/', ''), text, this.gpu);
  }
}

/** What an operator may have done to the card before we came: writes that the driver took or refused. */
export function histories(options: NodeOptions): fc.Arbitrary<[string, string][]> {
  const { clocks, cap, family } = new Judge(options).spec;
  const [low, high] = [clocks.gfx[0] as number, clocks.gfx.at(-1) as number];
  const mhz = fc.integer({ min: low, max: high });
  const table = (text: fc.Arbitrary<string>) => text.map((one): [string, string] => ['pp_od_clk_voltage', one]);
  const levels = ['auto', 'manual', 'perf_determinism', 'low', 'high', 'profile_standard', 'profile_peak'];
  const floor = powerFloor({ max: cap });
  return fc.array(
    fc.oneof(
      fc.constantFrom(...levels).map((level): [string, string] => ['power_dpm_force_performance_level', level]),
      fc.integer({ min: floor, max: cap }).map((watt): [string, string] => ['hwmon/power1_cap', `${watt}000000`]),
      ...(family === 'mi100'
        ? [fc.integer({ min: 0, max: 15 }).map((top): [string, string] => ['pp_dpm_sclk', `0 ${top}`])]
        : [
            table(fc.tuple(fc.constantFrom(0, 1), mhz).map(([end, at]) => `s ${end} ${at}`)),
            table(fc.constant('c')),
            table(fc.constant('r')),
            table(fc.integer({ min: 900, max: 1900 }).map((at) => `m 1 ${at}`)),
          ]),
    ),
    { maxLength: 12 },
  );
}
