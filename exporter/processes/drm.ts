import { constants } from 'node:os';
import type { Entry } from '../../amdgpu/lanes/protocol.ts';
import { reasonOf } from '../../amdgpu/raw.ts';
import { parseFdinfo } from '../../linux/fdinfo.ts';
import { type DrmDescriptor, gpuDeviceOf, pidOf, processPaths } from '../../linux/process.ts';
import type { Reason } from '../../model/reading.ts';
import type { Ask } from './ask.ts';

/** Descriptors of one process that are looked at: known GPU nodes, and files that may be anything. */
const MOST_LINKED = 256;
const MOST_UNLINKED = 64;
const DENIED: ReadonlySet<number> = new Set([constants.errno.EACCES, constants.errno.EPERM]);

export interface DrmScan {
  /** Why there is nothing; absent where processes could be listed (or none had to be). */
  absent?: Reason;
  /** Nothing went unanswered. */
  complete: boolean;
  descriptors: DrmDescriptor[];
  /** Processes all of whose descriptors could be read; a client that none of its holders shows any more is closed. */
  seen: Set<number>;
  /** Processes that have /dev/kfd open. */
  computing: Set<number>;
  /** Processes whose descriptors we may not see. */
  denied: number;
}

/** PIDs of all processes; a reason where they cannot be listed. */
export async function listPids(ask: Ask, procfs: string): Promise<number[] | Reason> {
  const [top] = await ask.names([procfs]);
  if (top === undefined) return 'timeout';
  if (typeof top === 'number') return reasonOf(top);
  return top.map(pidOf).filter((pid) => pid !== undefined);
}

/** Reads the DRM clients of these processes. What ends between list and read is passed over. */
export async function scanDrm(ask: Ask, procfs: string, pids: readonly number[]): Promise<DrmScan> {
  const scan: DrmScan = { complete: true, descriptors: [], seen: new Set(), computing: new Set(), denied: 0 };
  const files: { pid: number; fd: string; renderMinor?: number }[] = [];
  const hidden: number[] = [];
  const links = await ask.links(pids.map((pid) => processPaths(procfs, pid).fd));
  pids.forEach((pid, i) => {
    const entries = links[i];
    if (entries === undefined) scan.complete = false;
    else if (typeof entries === 'number') hidden.push(pid);
    else {
      scan.seen.add(pid);
      files.push(...linked(scan, pid, entries));
    }
  });
  await addHidden(ask, procfs, hidden, scan, files);
  const texts = await ask.read(files.map(({ pid, fd }) => `${processPaths(procfs, pid).fdinfo}/${fd}`));
  files.forEach((file, i) => {
    const text = texts[i];
    if (text === undefined) scan.complete = false;
    // Only a descriptor that is gone is closed; one that cannot be read now may be read again.
    if (typeof text !== 'string' && text !== constants.errno.ENOENT) scan.seen.delete(file.pid);
    if (typeof text !== 'string') return;
    const client = parseFdinfo(text);
    // Other drivers' nodes lie in the same directory.
    if (client?.driver === 'amdgpu') scan.descriptors.push({ ...file, client });
  });
  return scan;
}

function linked(scan: DrmScan, pid: number, entries: readonly Entry[]) {
  const found: { pid: number; fd: string; renderMinor?: number }[] = [];
  for (const { name, target } of entries) {
    const device = target === undefined ? undefined : gpuDeviceOf(target);
    if (device?.device === 'kfd') scan.computing.add(pid);
    if (device?.device !== 'dri' || found.length >= MOST_LINKED) continue;
    found.push({ pid, fd: name, ...(device.renderMinor === undefined ? {} : { renderMinor: device.renderMinor }) });
  }
  return found;
}

/**
 * Without links (not there in a captured tree; not for us where we may trace but not search other users' directories) the
 * descriptors' own files are read.
 */
async function addHidden(
  ask: Ask,
  procfs: string,
  pids: readonly number[],
  scan: DrmScan,
  files: { pid: number; fd: string }[],
): Promise<void> {
  const listings = await ask.names(pids.map((pid) => processPaths(procfs, pid).fdinfo));
  pids.forEach((pid, i) => {
    const entries = listings[i];
    if (entries === undefined) scan.complete = false;
    else if (typeof entries === 'number') {
      if (DENIED.has(entries)) scan.denied += 1;
    } else {
      scan.seen.add(pid);
      for (const fd of entries.filter((name) => /^\d+$/.test(name)).slice(0, MOST_UNLINKED)) files.push({ pid, fd });
    }
  });
}
