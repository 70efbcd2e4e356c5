import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clockFiles } from './files/clocks.ts';
import { debugFiles } from './files/debug.ts';
import { drmFiles } from './files/drm.ts';
import { directory, type Entry, type Files } from './files/entry.ts';
import { hwmonFiles } from './files/hwmon.ts';
import { identityFiles } from './files/identity.ts';
import { topologyFiles } from './files/kfd-node.ts';
import { kfdProcessFiles } from './files/kfd-process.ts';
import { memoryFiles } from './files/memory.ts';
import { moduleFiles } from './files/module.ts';
import { partitionFiles } from './files/partition.ts';
import { devicePath, hwmonPath, platformPath, portPath } from './files/paths.ts';
import { pciFiles, portFiles } from './files/pci.ts';
import { procFiles } from './files/proc.ts';
import { rasFiles } from './files/ras.ts';
import { boardFiles, partitionTable, tableFiles } from './files/tables.ts';
import { throttleLogFile } from './files/throttle-log.ts';
import { xgmiFiles } from './files/xgmi.ts';
import type { NodeDescription } from './node.ts';

export { describeNode } from './describe.ts';
export type { Entry } from './files/entry.ts';
export type * from './node.ts';
export { layOutPartitions } from './partitions.ts';
export type * from './process.ts';

/** The whole node: paths from the root of the tree (`sys/…`, `proc/…`) with what stands there. */
export function renderNode(node: NodeDescription): Map<string, Entry> {
  const files: Files = new Map();
  for (const gpu of node.gpus) {
    const device = directory(files, devicePath(gpu));
    portFiles(node, gpu, directory(files, portPath(gpu)));
    pciFiles(node, gpu, device);
    identityFiles(node, gpu, device);
    xgmiFiles(node, gpu, device);
  }
  drmFiles(node, files);
  moduleFiles(node, files);
  debugFiles(node, files);
  topologyFiles(node, files);
  renderLive(node, files);
  return files;
}

/** What moves while the node runs and keeps its partitions: a simulator writes these anew after it changed the description. */
export function renderLive(node: NodeDescription, files: Files = new Map()): Map<string, Entry> {
  for (const gpu of node.gpus) {
    const device = directory(files, devicePath(gpu));
    memoryFiles(node, gpu, device);
    clockFiles(node, gpu, device);
    hwmonFiles(node, gpu, directory(files, hwmonPath(gpu)));
    partitionFiles(node, gpu, device);
    rasFiles(node, gpu, device.within('ras'));
    tableFiles(node, gpu, device);
    boardFiles(node, gpu, device.within('board'));
    throttleLogFile(gpu, device);
    for (const partition of gpu.partitions) {
      const slot = gpu.reserved.find(({ partition: number }) => number === partition.number);
      if (slot) partitionTable(node, gpu, partition, directory(files, platformPath(slot.platform)));
    }
  }
  kfdProcessFiles(node, files);
  procFiles(node, files);
  return files;
}

/** Beside sys/ and proc/, so that no reader of the tree sees it. */
const MARKER = '.simulated-node';
const MARKER_TEXT = 'This directory holds a simulated GPU node and is written anew as a whole.\n';

/**
 * Writes the node below `dir`, in place of a tree that it wrote there before. Throws where `dir` holds anything else.
 * `kernelModes`: also gives the files the kernel's modes; without it the owner may write all of them.
 */
export function writeTree(
  dir: string,
  node: NodeDescription,
  { kernelModes = false }: { kernelModes?: boolean } = {},
): void {
  prepare(dir);
  const made = new Set<string>();
  for (const [path, entry] of renderNode(node)) {
    const full = join(dir, path);
    const parent = dirname(full);
    if (!made.has(parent)) mkdirSync(parent, { recursive: true });
    made.add(parent);
    if ('link' in entry) symlinkSync(entry.link, full);
    else writeFileSync(full, entry.content, kernelModes ? { mode: entry.mode ?? 0o444 } : {});
  }
}

/** Whether `writeTree` wrote this directory. */
export function isSimulatedTree(dir: string): boolean {
  const marker = join(dir, MARKER);
  return existsSync(marker) && readFileSync(marker, 'utf8') === MARKER_TEXT;
}

/** Makes the directory, marks it as ours, and leaves what stands in it. Throws where it holds anything else. */
export function claimDirectory(dir: string): void {
  const taken = existsSync(dir) ? readdirSync(dir) : [];
  if (taken.length > 0 && !isSimulatedTree(dir))
    throw new Error(`${dir} is not empty and was not written by the simulator: choose another directory`);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, MARKER), MARKER_TEXT);
}

function prepare(dir: string): void {
  claimDirectory(dir);
  for (const name of ['sys', 'proc']) rmSync(join(dir, name), { recursive: true, force: true });
}
