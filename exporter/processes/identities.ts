import { bootStatPath, isForeignNamespace, parseComm, processPaths, startSeconds } from '../../linux/process.ts';
import { parseBtime, parseStartTime } from '../../linux/stat.ts';
import type { Ask } from './ask.ts';

/** One process for as long as it lives: a PID that is used again is another object. */
export interface Identity {
  readonly pid: number;
  comm: string;
  /** Clock ticks since boot; absent where it could not be read. */
  start?: bigint;
}

/** What a look at a process told: either may fail. */
export interface Told {
  comm?: string;
  start?: bigint;
}

/** Keeps processes apart by (PID, start time). A look that failed says nothing, so it makes no new process. */
export class Identities {
  readonly #byPid = new Map<number, Identity>();

  resolve(pid: number, told: Told): Identity {
    const known = this.#byPid.get(pid);
    const isOther = known?.start !== undefined && told.start !== undefined && known.start !== told.start;
    if (known === undefined || isOther) {
      const fresh = { pid, comm: told.comm ?? '', ...(told.start === undefined ? {} : { start: told.start }) };
      this.#byPid.set(pid, fresh);
      return fresh;
    }
    if (told.comm !== undefined) known.comm = told.comm;
    if (told.start !== undefined) known.start = told.start;
    return known;
  }

  keep(pids: ReadonlySet<number>): void {
    for (const pid of this.#byPid.keys()) if (!pids.has(pid)) this.#byPid.delete(pid);
  }
}

export async function readIdentities(ask: Ask, procfs: string, pids: readonly number[]): Promise<Map<number, Told>> {
  const texts = await ask.read(
    pids.flatMap((pid) => {
      const paths = processPaths(procfs, pid);
      return [paths.comm, paths.stat];
    }),
  );
  const told = new Map<number, Told>();
  pids.forEach((pid, i) => {
    const [comm, stat] = [texts[2 * i], texts[2 * i + 1]];
    const start = typeof stat === 'string' ? parseStartTime(stat) : undefined;
    told.set(pid, {
      ...(typeof comm === 'string' ? { comm: parseComm(comm) } : {}),
      ...(start === undefined ? {} : { start }),
    });
  });
  return told;
}

/** Whole seconds in which the kernel's boot time wanders without the clock having been set. */
const WANDER = 2;

/** When the machine was booted, and whether its `/proc` numbers processes as KFD does. */
export class Host {
  foreign = false;
  #btime: number | undefined;

  async look(ask: Ask, procfs: string): Promise<void> {
    const [stat, one, two] = await ask.read([
      bootStatPath(procfs),
      processPaths(procfs, 1).comm,
      processPaths(procfs, 2).comm,
    ]);
    const btime = typeof stat === 'string' ? parseBtime(stat) : undefined;
    // Adopted only where it moved: a start time that changes by a second would look like another process.
    if (btime !== undefined && (this.#btime === undefined || Math.abs(btime - this.#btime) > WANDER))
      this.#btime = btime;
    if (one === undefined || two === undefined) return;
    this.foreign = isForeignNamespace(textOf(one), textOf(two));
  }

  /** Seconds since the epoch. */
  started(identity: Identity): number | undefined {
    if (this.#btime === undefined || identity.start === undefined) return undefined;
    return startSeconds(this.#btime, identity.start);
  }
}

function textOf(result: string | number): string | undefined {
  return typeof result === 'string' ? result : undefined;
}
