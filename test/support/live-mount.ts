import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { LiveNode } from '../../sim/live/livenode.ts';
import { startNodeRelay } from '../../sim/live/through-relay.ts';
import { relayCommand } from '../../sim/relay.ts';
import { describeNode, type NodeOptions } from '../../sim/tree.ts';
import { faultsUnavailable } from './faultfs.ts';
import { folderInMemory } from './memory.ts';
import { skipUnless } from './skips.ts';

export interface LiveMount {
  live: LiveNode;
  /** Where it is seen with its driver behind it. */
  mount: string;
}

/** A node that lives, faster than time, mounted through the real relay until the test ends. `prepare` changes its files before. */
export async function liveMount(
  options: NodeOptions,
  speed: number,
  prepare: (dir: string) => void = () => {},
): Promise<LiveMount> {
  const unavailable = faultsUnavailable();
  skipUnless(unavailable === undefined, `no FUSE: ${unavailable}`);
  const root = folderInMemory('nightshift-live-');
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [dir, mount, socket] = [join(root, 'node'), join(root, 'mount'), join(root, 'relay.sock')];
  mkdirSync(mount);
  let changed: () => void = () => {};
  const live = new LiveNode({
    dir,
    node: describeNode({ processes: [], ...options }),
    clock: systemClock,
    speed,
    relayed: true,
    onChange: () => changed(),
  });
  live.start();
  onTestFinished(() => live.stop());
  prepare(dir);
  const { relay, changed: follow } = await startNodeRelay(live, socket, () => {});
  changed = follow;
  const [command, ...args] = relayCommand(dir, mount, socket) as [string, ...string[]];
  const child = spawn(command, args, { stdio: 'ignore' });
  onTestFinished(async () => {
    await relay.close();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await Promise.race([
    relay.mounted(),
    once(child, 'exit').then(() => Promise.reject(new Error('the file system ended'))),
  ]);
  return { live, mount };
}
