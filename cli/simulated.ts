import { join } from 'node:path';
import type { Daemon } from '../base/app.ts';
import type { ExporterFlags } from './exporter.ts';
import { begin, keepAlive, type Living, livingNode, temporaryFolder } from './living.ts';
import { type RunExtras, runExporter } from './run-exporter.ts';

/** An exporter and the node that it reads, in one process, for as long as somebody looks. */

/** Half an hour of eight cards; nobody judges detectors here. */
const TRUTH_BYTES = 4 * 2 ** 20;

export interface Shown {
  url: string;
  dir: string;
}

export interface SimulatedExtras {
  /** More to start once the exporter answers; `dir` is gone when the process ends. */
  afterwards?: (shown: Shown, daemon: Daemon) => unknown;
  /** What to tell once everything runs. */
  welcome: (shown: Shown) => string;
}

export async function runSimulated(
  given: ExporterFlags,
  collectors: Set<string>,
  wishes: Omit<Living, 'dir'>,
  { afterwards, welcome }: SimulatedExtras,
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
  const values: ExporterFlags = {
    ...given,
    'path.sysfs': join(dir, 'sys'),
    'path.procfs': join(dir, 'proc'),
    'node.name': given['node.name'] ?? 'simulated',
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
      const shown = { url: first?.url ?? '', dir };
      if (running) await afterwards?.(shown, running);
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
