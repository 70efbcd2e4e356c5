import { existsSync, linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configurationError, environmentError, errnoOf } from '../../base/errors.ts';
import { isSimulatedTree } from '../tree.ts';

/** Who keeps a folder alive: one process at a time. What a crashed one left says a process that is gone, and stops nobody. */

const OWNER = '.owner';

export interface Owner {
  pid: number;
  /** When it started, in clock ticks since the machine did: a pid alone comes again. */
  start: string;
}

/** Throws where the folder holds anything that the simulator did not write. */
export function checkFolder(dir: string): void {
  if (existsSync(dir) && readdirSync(dir).length > 0 && !isSimulatedTree(dir)) {
    throw configurationError(
      'SIMULATION_FOREIGN_FOLDER',
      `${dir} holds files that the simulator did not write`,
      'Name a folder that is empty or does not exist.',
    );
  }
}

/** Takes the folder for this process, or throws where a living one has it. */
export function takeFolder(dir: string): void {
  const file = join(dir, OWNER);
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, start: startOf(process.pid) ?? '' }));
  try {
    // Linking fails where the name is taken, and the file behind it is never half.
    for (let tries = 0; tries < 2; tries++) {
      try {
        linkSync(mine, file);
        return;
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error;
        const owner = ownerOf(dir);
        if (owner) throw running(dir, owner);
        rmSync(file, { force: true });
      }
    }
    throw running(dir, ownerOf(dir));
  } finally {
    rmSync(mine, { force: true });
  }
}

export function leaveFolder(dir: string): void {
  if (ownerOf(dir)?.pid === process.pid) rmSync(join(dir, OWNER), { force: true });
}

/** The living process that keeps the folder, if one does. */
export function ownerOf(dir: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(join(dir, OWNER), 'utf8')) as Owner;
    return startOf(owner.pid) === owner.start ? owner : undefined;
  } catch {
    return undefined;
  }
}

function running(dir: string, owner: Owner | undefined): Error {
  return environmentError(
    'SIMULATION_RUNNING',
    `${dir} is kept alive by process ${owner?.pid ?? 'of another start'} already`,
    'Stop that one, or name another folder.',
  );
}

/** Field 22 of this machine's own /proc/PID/stat; undefined where no such process is. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
