import { spawnSync } from 'node:child_process';
import { inTreeUnavailable } from '../support/in-tree.ts';
import { rocmSmiJson, suitRocmSmi } from '../support/rocm-smi.ts';
import { startProgram } from './program.ts';
import { measureServing, type Serving } from './serving.ts';
import type { Subject } from './subjects.ts';
import { type Times, timeEach } from './times.ts';

/** Programs of others on the same trees. Each says why it cannot run here, or nothing. */

const NODE_EXPORTER = 'prometheus-node-exporter';

const isInstalled = (program: string): boolean =>
  spawnSync('sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' }).status === 0;

export function nodeExporterMissing(): string | undefined {
  return isInstalled(NODE_EXPORTER) ? undefined : `${NODE_EXPORTER} is not installed`;
}

/** With nothing on but the drm collector, which knows amdgpu. */
export async function measureNodeExporter({ tree }: Subject, scrapes: number): Promise<Serving> {
  const program = await startProgram(
    NODE_EXPORTER,
    (port) => [
      '--collector.disable-defaults',
      '--collector.drm',
      '--web.disable-exporter-metrics',
      `--path.sysfs=${tree}/sys`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    (body) => body.includes('node_drm_'),
  );
  try {
    return await measureServing(program, { scrapes, paced: 0 }, (body) => (body.match(/^node_drm_/gm) ?? []).length);
  } finally {
    await program.stop();
  }
}

export function rocmSmiMissing(): string | undefined {
  return isInstalled('rocm-smi') ? inTreeUnavailable() : 'rocm-smi is not installed';
}

/** Changes the tree: the exporter is to be measured on it before. */
export async function measureRocmSmi({ tree, cards }: Subject, runs: number): Promise<{ all: Times; use: Times }> {
  suitRocmSmi(tree);
  const run = (args: readonly string[]): void => {
    const seen = Object.keys(rocmSmiJson(tree, args)).filter((key) => key.startsWith('card')).length;
    if (seen !== cards) throw new Error(`rocm-smi shows ${seen} of ${cards} cards`);
  };
  run(['-a']);
  return { all: await timeEach(runs, () => run(['-a'])), use: await timeEach(runs, () => run(['--showuse'])) };
}
