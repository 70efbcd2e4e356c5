import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hwmonPath } from '../../sim/files/paths.ts';
import { describeNode, type NodeOptions, writeTree } from '../../sim/tree.ts';

export interface Subject {
  name: string;
  /** Holds sys and proc. */
  tree: string;
  /** PCI functions. */
  cards: number;
  /** Of each of them: its address, and the file of its power cap. */
  caps: readonly { pci: string; file: string }[];
}

/** A folder in memory where there is one: a disk would be measured with the rest. Goes when this process ends. */
export function folderInMemory(): string {
  const folder = mkdtempSync(join(hasSharedMemory() ? '/dev/shm' : tmpdir(), 'nightshift-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  return folder;
}

function hasSharedMemory(): boolean {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export function writeSubject(folder: string, name: string, options: NodeOptions): Subject {
  const tree = join(folder, name.replaceAll(/\W+/g, '-'));
  const node = describeNode(options);
  writeTree(tree, node);
  const caps = node.gpus.map((gpu) => ({ pci: gpu.pci, file: join(tree, hwmonPath(gpu), 'power1_cap') }));
  return { name, tree, cards: node.gpus.length, caps };
}
