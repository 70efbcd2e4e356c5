import { beforeNul, decimal } from './decimal.ts';
import type { DrmClient } from './fdinfo.ts';

/**
 * Processes and the devices they hold, from `/proc`. Source: `fs/proc/base.c`, `fs/proc/fd.c`, `fs/proc/array.c`.
 */

const PID = /^[1-9][0-9]{0,9}$/;

/** Name of a directory of `/proc`, as PID. */
export function pidOf(name: string): number | undefined {
  return PID.test(name) ? Number(name) : undefined;
}

export interface ProcessPaths {
  comm: string;
  stat: string;
  fd: string;
  fdinfo: string;
}

export function processPaths(procfs: string, pid: number): ProcessPaths {
  const base = `${procfs}/${pid}`;
  return { comm: `${base}/comm`, stat: `${base}/stat`, fd: `${base}/fd`, fdinfo: `${base}/fdinfo` };
}

export function bootStatPath(procfs: string): string {
  return `${procfs}/stat`;
}

/** What a descriptor is open on, by the target of its link in `/proc/PID/fd`; absent where it is nothing of a GPU's. */
export type GpuDevice = { device: 'kfd' } | { device: 'dri'; renderMinor?: number };

export function gpuDeviceOf(target: string): GpuDevice | undefined {
  // A node that was removed since (reload, repartition) is still held: its link says so behind the name.
  const path = target.endsWith(' (deleted)') ? target.slice(0, -' (deleted)'.length) : target;
  if (path === '/dev/kfd') return { device: 'kfd' };
  if (!path.startsWith('/dev/dri/')) return undefined;
  const name = path.slice('/dev/dri/'.length);
  const renderMinor = name.startsWith('renderD') ? decimal(name.slice('renderD'.length)) : undefined;
  return { device: 'dri', ...(renderMinor === undefined ? {} : { renderMinor }) };
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text that others chose, made fit for a label, a log line and a terminal: control characters are written as `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** `/proc/PID/comm`: up to 15 bytes that the process chose, and a newline. Empty where it has no name. */
export function parseComm(text: string): string {
  const name = beforeNul(text);
  return printable(name.endsWith('\n') ? name.slice(0, -1) : name);
}

/** Clock ticks a second in what the kernel prints (`USER_HZ`): 100 on x86-64, arm64 and ppc64. */
const TICKS_PER_SECOND = 100;

/** Seconds since the epoch at which a process began; `ticks` are since boot, `btime` is the boot in seconds. */
export function startSeconds(btime: number, ticks: bigint): number {
  return btime + Number(ticks) / TICKS_PER_SECOND;
}

/**
 * Whether a `/proc` numbers processes differently from the initial PID namespace, whose numbers KFD uses: then PID 2 is not the
 * kernel's thread daemon. Where PID 1 cannot be seen (an excerpt of a tree, `hidepid`) the numbers are taken to be the same.
 */
export function isForeignNamespace(commOf1: string | undefined, commOf2: string | undefined): boolean {
  return commOf1 !== undefined && (commOf2 === undefined || parseComm(commOf2) !== 'kthreadd');
}

/** One descriptor on an amdgpu node. */
export interface DrmDescriptor {
  pid: number;
  fd: string;
  client: DrmClient;
  /** Of the render node it was opened by, where the link could be read: tells the partition, which `drm-pdev` does not. */
  renderMinor?: number;
}

/** One client of one GPU, once, however many descriptors and processes hold it. */
export interface UniqueClient {
  key: string;
  /** The holder it is counted for. */
  pid: number;
  client: DrmClient;
  renderMinor?: number;
}

/** Old kernels print no client id; there the address-space id, else the descriptor itself, keeps clients apart. */
export function clientKey(descriptor: DrmDescriptor): string {
  const { client, pid, fd } = descriptor;
  const pci = client.pci ?? '';
  if (client.clientId !== undefined) return `${pci} id ${client.clientId}`;
  return client.pasid ? `${pci} pasid ${client.pasid}` : `${pci} fd ${pid} ${fd}`;
}

/**
 * Takes each client once. Engine times are the largest that any descriptor told: they are read one after the other, and step
 * back slightly. It is counted for the process that `ownerBefore` names if that still holds it, else for the holder
 * that `isOlder` puts first: who inherited a descriptor began later than who opened it.
 */
export function uniqueClients(
  descriptors: readonly DrmDescriptor[],
  ownerBefore: (key: string) => number | undefined,
  isOlder: (pid: number, than: number) => boolean,
): UniqueClient[] {
  const byKey = new Map<string, DrmDescriptor[]>();
  for (const descriptor of descriptors) {
    const key = clientKey(descriptor);
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, [descriptor]);
    else known.push(descriptor);
  }
  return [...byKey].map(([key, holders]) => {
    const before = ownerBefore(key);
    const owner =
      holders.find(({ pid }) => pid === before) ?? holders.reduce((a, b) => (isOlder(b.pid, a.pid) ? b : a));
    const renderMinor = holders.find((holder) => holder.renderMinor !== undefined)?.renderMinor;
    return {
      key,
      pid: owner.pid,
      client: { ...owner.client, engines: largestEngines(holders) },
      ...(renderMinor === undefined ? {} : { renderMinor }),
    };
  });
}

function largestEngines(holders: readonly DrmDescriptor[]): Map<string, bigint> {
  const engines = new Map<string, bigint>();
  for (const { client } of holders) {
    for (const [engine, busy] of client.engines) {
      const known = engines.get(engine);
      if (known === undefined || busy > known) engines.set(engine, busy);
    }
  }
  return engines;
}
