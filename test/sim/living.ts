import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type FakeClock, fakeClock } from '../../base/clock.ts';
import { devicePath, hwmonPath } from '../../sim/files/paths.ts';
import { LiveNode, type LiveNodeOptions } from '../../sim/live/livenode.ts';
import type { Summary, TruthLine } from '../../sim/live/truth.ts';
import { MODELS } from '../../sim/models.ts';
import { describeJobs } from '../../sim/scenario/jobs.ts';
import { loadScenario, parseScenario } from '../../sim/scenario.ts';
import { describeNode, type NodeDescription, type NodeOptions } from '../../sim/tree.ts';
import { folderInMemory } from '../support/memory.ts';

/** A node that lives in a folder of its own until the test ends, in a time that stands still until told to move. */
export interface Lab {
  live: LiveNode;
  node: NodeDescription;
  dir: string;
  clock: FakeClock;
  /** A file of a GPU: `pp_dpm_sclk`, or of its sensors: `hwmon/temp2_input`. */
  path(gpu: number, name: string): string;
  /** Its text without what fills it up. */
  read(gpu: number, name: string): string;
  number(gpu: number, name: string): number;
  events(name: string): TruthLine[];
  seconds(): (Summary & { t: number; time: string })[];
}

export interface LabOptions extends Partial<Omit<LiveNodeOptions, 'scenario' | 'node' | 'clock'>> {
  node: NodeOptions;
  /** Name of one that comes with the program, or a text. */
  scenario?: string;
}

export function lab({ node: options, scenario: named, ...more }: LabOptions): Lab {
  const dir = more.dir ?? folderInMemory('nightshift-live-');
  const gpus = options.cards * MODELS[options.model].dies;
  const scenario =
    named === undefined
      ? undefined
      : named.includes('\n')
        ? parseScenario(named, 'test.yaml', gpus)
        : loadScenario(named, gpus);
  const node = describeNode({
    ...options,
    ...(scenario && {
      processes: describeJobs(scenario, { model: options.model, gpus, partition: options.partition }),
    }),
  });
  const clock = fakeClock();
  const live = new LiveNode({ ...more, dir, node, clock, ...(scenario && { scenario }) });
  live.start();
  onTestFinished(() => {
    live.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  return labOf(live, dir, clock);
}

function labOf(live: LiveNode, dir: string, clock: FakeClock): Lab {
  const { node } = live;
  const path = (index: number, name: string): string => {
    const gpu = node.gpus[index];
    if (gpu === undefined) throw new RangeError(`no GPU ${index}`);
    return name.startsWith('hwmon/') ? `${hwmonPath(gpu)}/${name.slice(6)}` : `${devicePath(gpu)}/${name}`;
  };
  const read = (gpu: number, name: string): string => readFileSync(join(dir, path(gpu, name)), 'utf8').trimEnd();
  const lines = (): TruthLine[] =>
    readFileSync(join(dir, 'truth.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return {
    live,
    node,
    dir,
    clock,
    path,
    read,
    number: (gpu, name) => Number(read(gpu, name)),
    events: (name) => lines().filter((line) => 'event' in line && line.event === name),
    seconds: () =>
      lines().flatMap((line) =>
        'second' in line ? [{ ...(line.second as Summary), t: line.t, time: line.time }] : [],
      ),
  };
}

export const MINUTE = 60_000;

/** Lets so many seconds of the node's own life pass. */
export function liveFor({ clock }: Lab, speed: number, seconds: number): void {
  clock.advance((seconds * 1000) / speed);
}
