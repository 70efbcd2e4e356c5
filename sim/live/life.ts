import { type Random, random } from '../random.ts';
import { type LayerDemand, ScenarioRun } from '../scenario/run.ts';
import type { Amount, Scenario, SimEvent } from '../scenario.ts';
import type { NodeDescription } from '../tree.ts';
import type { StartWorker } from './children.ts';
import { DRIVER, type Driver, type Load, PHYSICS, type StepNode, type WriteResult } from './contracts.ts';
import { amountsOf, loadsOf, Processes, presentAmounts } from './demand.ts';
import { InferenceServers } from './inference.ts';
import { Jobs } from './jobs.ts';
import { TimeLapse } from './lapse.ts';
import { asksFirmware } from './moving.ts';
import { carryOut } from './through-driver.ts';
import { type Summary, summary } from './truth.ts';
import { isDriverEvent, isJobEvent, type JobEvent, World } from './world.ts';

/** What lives in a node: scenario, loads, physics, driver, each in its turn. It knows no clock and no files. */

export interface LifeOptions {
  node: NodeDescription;
  seed: number;
  speed: number;
  scenario: Scenario | undefined;
  step?: StepNode | undefined;
  driver?: Driver | undefined;
  startWorker?: StartWorker | undefined;
  realJobs?: boolean | undefined;
  /** Is told what happens, when it happens. */
  tell: (event: string, more: Readonly<Record<string, unknown>>) => void;
}

/** Loads are looked at this often, seconds of the node's life. */
const LOAD_STEP = 1;
const DAY = 86_400;
const ROOM_C = 24;

export class Life {
  readonly node: NodeDescription;
  readonly world: World;
  readonly run: ScenarioRun | undefined;
  readonly jobs: Jobs;
  readonly inference: InferenceServers;
  /** Seconds since the start: of the node's life, and of the time in which it is read. */
  lived = 0;
  passed = 0;
  /** Something other than time has changed since this was last set to false. */
  changed = false;
  readonly #speed: number;
  readonly #step: StepNode;
  readonly #driver: Driver;
  readonly #draw: Random;
  readonly #processes: Processes;
  readonly #lapse: TimeLapse;
  readonly #tell: LifeOptions['tell'];
  /** What the GPUs do where no scenario says otherwise. */
  readonly #own: Amount[];
  readonly #bootUptime: number;
  readonly #midnight: number;
  readonly #startEnergy: number[];
  #loads: Map<number, Load> = new Map();
  /** What the layers ask for, and what comes of it where jobs end, save or wait. */
  #asked: readonly LayerDemand[] = [];
  #demands: LayerDemand[] = [];
  #rounds = 0;

  constructor(options: LifeOptions) {
    const { node, seed, speed, scenario, step = PHYSICS, driver = DRIVER, tell } = options;
    this.node = node;
    this.#speed = speed;
    this.#step = step;
    this.#driver = driver;
    this.#tell = tell;
    this.#draw = random(seed, 'life');
    this.run = scenario && new ScenarioRun(scenario, node.gpus.length, seed);
    this.world = new World(node, scenario?.ambient ?? ROOM_C);
    this.jobs = new Jobs(options);
    this.inference = new InferenceServers(node, this.jobs, seed, tell);
    this.#processes = new Processes(node, this.jobs);
    this.#lapse = new TimeLapse(node, speed);
    this.#own = presentAmounts(node);
    this.#bootUptime = node.boot.uptime;
    const now = node.boot.time + node.boot.uptime;
    this.#midnight = scenario ? Math.floor(now / DAY) * DAY : now;
    this.#startEnergy = node.gpus.map(({ index }) => this.#lapse.energy(node, index));
  }

  /** The node's own time, seconds since the epoch. */
  get time(): number {
    return this.#midnight + (this.run ? this.run.sinceMidnight : this.lived);
  }

  /** Lets so many seconds of the readers' time pass. */
  live(seconds: number): void {
    this.passed += seconds;
    this.node.boot.uptime = this.#bootUptime + this.passed;
    this.#lapse.run(this.node, () => {
      for (let left = seconds * this.#speed; left > 1e-9; ) {
        const dt = Math.min(left, LOAD_STEP);
        this.#liveStep(dt);
        left -= dt;
      }
    });
    this.#processes.move(this.world, this.#demands, this.#loads, seconds);
    this.inference.advance(this.passed, this.#asked, this.world);
    this.jobs.settle();
    this.changed ||= this.jobs.changed;
    this.jobs.changed = false;
  }

  #liveStep(dt: number): void {
    this.lived += dt;
    if (this.world.advance(dt)) this.changed = true;
    this.settle(dt);
    this.#step(this.node, this.#loads, this.world, dt, this.#draw);
  }

  /** Moves the scenario on, carries out what falls due, and finds what each GPU has to do. */
  settle(dt: number): void {
    const { run, world } = this;
    if (run) {
      const { events, restarted } = run.advance(dt);
      if (restarted) {
        world.restart(run.scenario.ambient);
        this.#rounds += 1;
        this.jobs.begin(this.#rounds);
        this.changed = true;
        this.#tell('scenario begins anew', {});
      }
      for (const event of events) this.apply(event, 'scenario');
      const { demands, edges } = run.demands();
      this.#asked = demands;
      this.#demands = this.jobs.advance(this.inference.leave(demands), dt, run.t, world);
      for (const { phase, name, ...more } of edges) this.#tell(`${name} ${phase}`, more);
    }
    const amounts = run ? amountsOf(this.#demands, this.node.gpus.length) : this.#own;
    this.#loads = loadsOf(world, amounts);
    if (this.lived === 0) this.#processes.move(world, this.#demands, this.#loads, 0);
  }

  /** One sentence about what it did. */
  apply(event: SimEvent, by: 'hand' | 'scenario'): string {
    const { world } = this;
    const means = { world, driver: this.#driver, jobs: this.jobs };
    const said = isDriverEvent(event)
      ? this.#lapse.run(this.node, () => carryOut(event, means))
      : isJobEvent(event)
        ? this.#toJobs(event)
        : world.apply(event);
    const { event: name, ...more } = event;
    this.#tell(name, { by, ...more, said });
    this.changed = true;
    return said;
  }

  #toJobs(event: JobEvent): string {
    return event.event === 'signal'
      ? this.jobs.signal(event.gpus, event.signal, event.class)
      : this.jobs.restart(event.gpus, event.class);
  }

  /** What the driver says to one write. Firmware that no longer answers makes it an I/O error. */
  write(path: string, text: string): WriteResult {
    const hung = this.node.gpus.some((gpu) => this.world.hung.has(gpu.index) && asksFirmware(gpu, path));
    const result: WriteResult = hung
      ? { ok: false, errno: 'EIO' }
      : this.#lapse.run(this.node, () => this.#driver.writeFile(this.node, path, text));
    this.#tell('write', { path, text, outcome: result.ok ? 'accepted' : result.errno });
    this.changed = true;
    return result;
  }

  /** What a read does before it is answered: in debugfs there is one that resets GPUs. */
  read(path: string): WriteResult {
    const before = this.node.gpus.map(({ counters }) => counters.ticks);
    const result = this.#lapse.run(this.node, () => this.#driver.readFile(this.node, path));
    const reset = this.node.gpus.filter(({ counters }, index) => counters.ticks < (before[index] ?? 0));
    for (const { index } of reset) this.world.wasReset(index);
    if (reset.length > 0) this.#tell('reset', { by: 'read', gpus: reset.map(({ index }) => index) });
    this.changed ||= reset.length > 0;
    return result;
  }

  summary(): Summary {
    const { node, world } = this;
    return summary({
      gpus: node.gpus,
      demand: (gpu) => this.#loads.get(gpu)?.gfx ?? 0,
      energy: (gpu) => this.#lapse.energy(node, gpu) - (this.#startEnergy[gpu] ?? 0),
      health: (gpu) => world.health(gpu),
      ambient: world.ambient,
      inference: this.inference.all.map((server) => server.state()),
    });
  }
}
