import { readdirSync, readFileSync } from 'node:fs';

/** What the kernel says that processes of this machine use. */

/** USER_HZ: fixed at 100 for programs, whatever the kernel counts with. */
const TICKS_A_SECOND = 100;
const MIB = 1024;

/** A process and all that it started, the process first. Those that ended meanwhile are left out. */
export function familyOf(pid: number): number[] {
  const children: number[] = [];
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8');
      children.push(...text.split(' ').filter(Boolean).map(Number));
    }
  } catch {
    return [pid];
  }
  return [pid, ...children.flatMap(familyOf)];
}

/** A file of a process, or nothing where the process has ended since it was listed. */
function fileOf(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return undefined;
  }
}

/** Seconds of processor time so far: user and system, of all threads, and of children that have ended. */
export function cpuSeconds(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const stat = fileOf(pid, 'stat') ?? '';
    // The name may hold blanks and brackets: numbers are counted from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    for (const field of fields.slice(11, 15)) ticks += Number(field);
  }
  return ticks / TICKS_A_SECOND;
}

export interface Memory {
  /** MiB that go when the processes end. */
  private: number;
  /** MiB resident, with what is shared counted in each. */
  rss: number;
}

export function memoryOf(pids: readonly number[]): Memory {
  const sum: Memory = { private: 0, rss: 0 };
  for (const pid of pids) {
    const rollup = fileOf(pid, 'smaps_rollup');
    if (rollup === undefined) continue;
    const of = (field: string): number =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? Number.NaN);
    sum.private += (of('Private_Clean') + of('Private_Dirty')) / MIB;
    sum.rss += of('Rss') / MIB;
  }
  return sum;
}
