import { READS_WITH_EFFECT } from '../driver/reset.ts';
import { fileModes } from '../driver/write.ts';
import { since } from '../driver.ts';
import { devicePath } from '../files/paths.ts';
import { type Relay, type RelayFault, startRelay } from '../relay.ts';
import type { NodeDescription } from '../tree.ts';
import type { LiveNode } from './livenode.ts';
import { ASKS_FIRMWARE } from './moving.ts';
import type { Health } from './world.ts';

/** A living node behind a relay: writes fail in the call that makes them, and the reads of a hung GPU do not return. */

/** Longer than anybody waits. */
const NEVER_MS = 24 * 3_600_000;

export interface Relayed {
  relay: Relay;
  /** To be called when something other than time changed. */
  changed(): void;
}

export async function startNodeRelay(live: LiveNode, socket: string, failed: (error: Error) => void): Promise<Relayed> {
  const relay = await startRelay(live.dir, socket, {
    write: (path, text) => live.write(path, text),
    read: (path) => live.read(path),
    readsWithEffect: READS_WITH_EFFECT,
    modes: () => fileModes(live.node),
    failed,
  });
  const told = new Map<number, Health>();
  const follow = async (): Promise<void> => {
    for (const gpu of live.node.gpus) {
      const health = live.health(gpu.index);
      if ((told.get(gpu.index) ?? 'ok') === health) continue;
      told.set(gpu.index, health);
      const patterns = ASKS_FIRMWARE.map((pattern) => `${devicePath(gpu)}/${pattern}`);
      const fault = faultOf(live.node, health);
      // Also reads that wait for another reason are answered as it is now.
      await relay.clear(patterns);
      if (fault) await relay.fault(patterns, fault);
    }
    await relay.refresh();
  };
  return { relay, changed: () => void follow().catch(failed) };
}

/** What befalls reads that need the firmware. A sleeping GPU refuses with EPERM; one in reset does so up to 6.17, then with EBUSY. */
function faultOf(node: NodeDescription, health: Health): RelayFault | undefined {
  if (health === 'hung') return { delayMs: NEVER_MS };
  if (health === 'resetting') return { errno: since(node.driver, 'linux-6.19') ? 'EBUSY' : 'EPERM', on: 'read' };
  if (health === 'asleep' && since(node.driver, 'linux-6.13')) return { errno: 'EPERM' };
  return undefined;
}
