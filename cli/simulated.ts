import { join } from 'node:path';
import type { Daemon } from '../base/app.ts';
import { createLog } from '../base/log.ts';
import type { ExporterFlags } from './exporter.ts';
import { begin, keepAlive, type Living, livingNode, temporaryFolder } from './living.ts';
import { type RunExtras, runExporter } from './run-exporter.ts';
import { type Acting, actOn } from './simulated/actuator.ts';

/** A node, the exporter that reads it and the actuator that acts on it, in one process, for as long as somebody looks. */

/** Half an hour of eight cards; nobody judges detectors here. */
const TRUTH_BYTES = 4 * 2 ** 20;

/** How such a node calls itself, where nobody says otherwise. */
export const SIMULATED_NODE = 'simulated';

export interface Shown {
  /** Of the exporter. */
  url: string;
  dir: string;
  actuator: Acting;
}

export interface SimulatedExtras {
  /** Addresses of the actuator, on loopback. */
  actuatorListen: readonly string[];
  /** An Alertmanager will tell it what is hot. */
  alerted?: boolean;
  /** More to start once both answer; `dir` is gone when the process ends. */
  afterwards?: (shown: Shown, daemon: Daemon) => unknown;
  /** What to tell once everything runs. */
  welcome: (shown: Shown) => string;
}

export async function runSimulated(
  given: ExporterFlags,
  collectors: Set<string>,
  wishes: Omit<Living, 'dir'>,
  { afterwards, welcome, actuatorListen, alerted = false }: SimulatedExtras,
): Promise<void> {
  // A signal while the files are written must end the process through `exit`, which takes them away.
  const end = (): void => process.exit(1);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, end);
  const dir = temporaryFolder();
  let fail: (error: Error) => void = () => undefined;
  const node = livingNode({ ...wishes, dir }, { onFail: (error) => fail(error), truthBytes: TRUTH_BYTES });
  // The exporter looks for its paths before it starts anything.
  begin(node);
  // One turn of the event loop, so that a signal that came meanwhile is seen by that listener.
  await new Promise((resolve) => setImmediate(resolve));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, end);
  const name = given['node.name'] ?? SIMULATED_NODE;
  const values: ExporterFlags = {
    ...given,
    'path.sysfs': join(dir, 'sys'),
    'path.procfs': join(dir, 'proc'),
    'node.name': name,
  };
  let running: Daemon | undefined;
  const extras: RunExtras = {
    simulated: true,
    async alongside(daemon) {
      fail = daemon.fail;
      running = daemon;
      await keepAlive(node, daemon);
    },
    async onReady([first]) {
      if (running === undefined) return;
      const url = (first?.url ?? '').replace(/\/$/, '');
      const log = createLog({ level: given['log.level'], format: given['log.format'] });
      const actuator = await actOn(dir, { node: name, listen: actuatorListen, alerted, exporter: url }, log, running);
      const shown = { url, dir, actuator };
      await afterwards?.(shown, running);
      process.stdout.write(welcome(shown));
    },
  };
  try {
    await runExporter(values, collectors, extras);
  } catch (error) {
    // What is wrong with the flags is found after the node began to live, which would keep this process.
    node.stop();
    throw error;
  }
}
