import { constants } from 'node:os';
import { kfdEntry, kfdPid, kfdProcDir, parseEvicted, parseSdma, parseVram } from '../../amdgpu/formats/kfdproc.ts';
import { parseUint } from '../../amdgpu/formats/scalar.ts';
import { reasonOf } from '../../amdgpu/raw.ts';
import type { Reason } from '../../model/reading.ts';
import type { Ask, Failure } from './ask.ts';

/** What one process has on one topology node. Times in nanoseconds, memory in bytes. */
export interface KfdUse {
  vram?: number;
  sdma?: bigint;
  evicted?: bigint;
  faults?: number;
  pageIn?: number;
  pageOut?: number;
  /** Path of cu_occupancy, which samples hardware registers and is therefore not read here. */
  occupancyFile?: string;
}

export interface KfdQueue {
  type: number;
  gpuId: number;
}

export interface KfdProcess {
  pid: number;
  gpus: Map<number, KfdUse>;
  /** Absent where this kernel does not list them. */
  queues?: KfdQueue[];
}

export interface KfdScan {
  /** Why there is nothing; absent where the list of processes was read. */
  absent?: Reason;
  /** Nothing went unanswered. */
  complete: boolean;
  processes: Map<number, KfdProcess>;
}

/** One file that is to be read, and what is done with its text. */
interface Wanted {
  path: string;
  process: KfdProcess;
  take(text: string): void;
}

/** Reads all compute processes. What ends between list and read is passed over. `perProcess` adds what no sum needs. */
export async function scanKfd(ask: Ask, sysfs: string, perProcess: boolean): Promise<KfdScan> {
  const base = kfdProcDir(sysfs);
  const [top] = await ask.names([base]);
  if (top === undefined) return { absent: 'timeout', complete: false, processes: new Map() };
  if (typeof top === 'number') {
    const absent = top === constants.errno.ENOENT ? 'unsupported' : reasonOf(top);
    return { absent, complete: true, processes: new Map() };
  }
  const pids = top.map(kfdPid).filter((pid) => pid !== undefined);
  const dirs = pids.flatMap((pid) => [`${base}/${pid}`, `${base}/${pid}/queues`]);
  const listings = await ask.names(dirs);
  let complete = true;
  const processes = new Map<number, KfdProcess>();
  const wanted: Wanted[] = [];
  const queues: { process: KfdProcess; type?: number; gpuId?: number }[] = [];
  pids.forEach((pid, i) => {
    const [own, queueList] = [listings[2 * i], listings[2 * i + 1]];
    if (own === undefined || queueList === undefined) complete = false;
    if (!Array.isArray(own)) return;
    const process: KfdProcess = { pid, gpus: new Map() };
    processes.set(pid, process);
    for (const name of own) wantEntry(wanted, process, `${base}/${pid}`, name, perProcess);
    if (Array.isArray(queueList)) {
      process.queues = [];
      for (const name of queueList) queues.push(wantQueue(wanted, process, `${base}/${pid}/queues/${name}`));
    }
  });
  const texts = await ask.read(wanted.map((file) => file.path));
  if (!take(wanted, texts, processes)) complete = false;
  for (const { process, type, gpuId } of queues)
    if (type !== undefined && gpuId !== undefined) process.queues?.push({ type, gpuId });
  return { complete, processes };
}

function wantEntry(wanted: Wanted[], process: KfdProcess, dir: string, name: string, perProcess: boolean): void {
  const parsed = kfdEntry(name);
  if (parsed === undefined) return;
  const use: KfdUse = process.gpus.get(parsed.gpuId) ?? {};
  process.gpus.set(parsed.gpuId, use);
  const path = `${dir}/${name}`;
  const want = <K extends keyof KfdUse>(file: string, key: K, parse: (text: string) => KfdUse[K] | undefined): void => {
    const set = (text: string): void => {
      const value = parse(text);
      if (value !== undefined) use[key] = value;
    };
    wanted.push({ path: file, process, take: set });
  };
  switch (parsed.kind) {
    case 'vram':
      want(path, 'vram', parseVram);
      break;
    case 'sdma':
      want(path, 'sdma', parseSdma);
      break;
    case 'stats':
      use.occupancyFile = `${path}/cu_occupancy`;
      want(`${path}/evicted_ms`, 'evicted', parseEvicted);
      break;
    case 'counters':
      if (!perProcess) return;
      want(`${path}/faults`, 'faults', parseUint);
      want(`${path}/page_in`, 'pageIn', parseUint);
      want(`${path}/page_out`, 'pageOut', parseUint);
  }
}

function wantQueue(
  wanted: Wanted[],
  process: KfdProcess,
  dir: string,
): { process: KfdProcess; type?: number; gpuId?: number } {
  const queue: { process: KfdProcess; type?: number; gpuId?: number } = { process };
  for (const [file, key] of [
    ['type', 'type'],
    ['gpuid', 'gpuId'],
  ] as const) {
    const set = (text: string): void => {
      const value = parseUint(text);
      if (value !== undefined) queue[key] = value;
    };
    wanted.push({ path: `${dir}/${file}`, process, take: set });
  }
  return queue;
}

/** Hands out the texts; drops processes all of whose files were gone. False where something went unanswered. */
function take(wanted: Wanted[], texts: (string | Failure)[], processes: Map<number, KfdProcess>): boolean {
  const asked = new Set<KfdProcess>();
  const answered = new Set<KfdProcess>();
  let complete = true;
  wanted.forEach((file, i) => {
    const text = texts[i];
    asked.add(file.process);
    if (text === undefined) complete = false;
    if (typeof text !== 'number') answered.add(file.process);
    if (typeof text === 'string') file.take(text);
  });
  for (const process of asked) if (!answered.has(process)) processes.delete(process.pid);
  return complete;
}
