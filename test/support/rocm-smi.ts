import { existsSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInTree } from './in-tree.ts';

/** What `rocm-smi --json` prints: by card, and once for the `system`. */
export type SmiDocument = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * Changes a simulated tree so that rocm-smi 5.2 can start on it. It is older than partitions and takes every cardN for a GPU
 * with files of its own, so the nodes of partitions go and the GPUs are numbered anew from 0; and it refuses cards
 * without a label of the voltage sensor, which MI300 does not have.
 */
export function suitRocmSmi(tree: string): void {
  const drm = join(tree, 'sys/class/drm');
  const nodes = readdirSync(drm).filter((name) => /^card\d+$/.test(name));
  const gpus = nodes
    .sort((a, b) => Number(a.slice(4)) - Number(b.slice(4)))
    .map((name) => readlinkSync(join(drm, name)))
    .filter((target) => !target.includes('/platform/'));
  for (const name of nodes) rmSync(join(drm, name));
  gpus.forEach((target, index) => {
    symlinkSync(target, join(drm, `card${index}`));
    labelVoltage(join(drm, target, '../..'));
  });
}

function labelVoltage(device: string): void {
  for (const name of readdirSync(join(device, 'hwmon'))) {
    const label = join(device, 'hwmon', name, 'in0_label');
    if (!existsSync(label)) writeFileSync(label, 'vddgfx\n');
  }
}

/** Runs rocm-smi in the tree and returns its JSON. Throws where it printed none. */
export function rocmSmiJson(tree: string, args: readonly string[]): SmiDocument {
  const { stdout, stderr, status } = runInTree(tree, 'rocm-smi', [...args, '--json']);
  try {
    return JSON.parse(stdout) as SmiDocument;
  } catch (cause) {
    throw new Error(`rocm-smi ${args.join(' ')} ended with ${status ?? 'a signal'}: ${stderr.trim()}`, { cause });
  }
}

const LAST_LINE = 'End of ROCm SMI Log';

/** What it prints for people: some things stand there only. It ends with an error where one card has no answer to one question. */
export function rocmSmiText(tree: string, args: readonly string[]): string {
  const { stdout, stderr, status } = runInTree(tree, 'rocm-smi', args);
  if (stdout.includes(LAST_LINE)) return stdout;
  throw new Error(`rocm-smi ${args.join(' ')} ended with ${status ?? 'a signal'}: ${stderr.trim()}`);
}
