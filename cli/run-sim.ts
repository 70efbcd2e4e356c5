import { join, resolve } from 'node:path';
import { type Daemon, runUntilSignal } from '../base/app.ts';
import type { FlagValues } from '../base/flags.ts';
import { keepHeapSmall } from '../base/heap.ts';
import { createLog, type Log } from '../base/log.ts';
import { inferenceAddress } from '../sim/inference/place.ts';
import type { LiveNode } from '../sim/live/livenode.ts';
import { begin, keepAlive, livingNode, serveInferenceOf, wishesOf } from './living.ts';
import type { startFlags } from './sim.ts';

const SOCKET = '.relay';

/** Lets a node live in a folder until a signal ends it; the files stay. */
export async function runSimulation(dir: string, given: FlagValues<(typeof startFlags)['defs']>): Promise<void> {
  keepHeapSmall();
  const log = createLog({ level: given['log.level'], format: given['log.format'] });
  let fail: (error: Error) => void = () => undefined;
  let changed: () => void = () => undefined;
  const listen = given['inference.listen'];
  if (listen !== undefined) inferenceAddress(listen);
  const mount = given.fuse === undefined ? undefined : resolve(given.fuse);
  const node = livingNode(
    { ...given, ...wishesOf(given), dir: resolve(dir) },
    { onFail: (error) => fail(error), onChange: () => changed(), relayed: mount !== undefined },
  );
  await runUntilSignal({
    log,
    async start(daemon) {
      fail = daemon.fail;
      begin(node);
      await keepAlive(node, daemon);
      const served = listen === undefined ? [] : await serveInferenceOf(node, listen, daemon, log);
      if (mount !== undefined) changed = await showThroughFuse(node, mount, daemon, log);
      log.info({ dir: node.dir, ...(mount !== undefined && { mount }) }, 'the node lives');
      process.stdout.write(told(node, given, mount ?? node.dir, served));
    },
  });
}

async function showThroughFuse(node: LiveNode, mount: string, daemon: Daemon, log: Log): Promise<() => void> {
  const [{ relayCommand }, { startNodeRelay }, { startProgram }] = await Promise.all([
    import('../sim/relay.ts'),
    import('../sim/live/through-relay.ts'),
    import('./demo.ts'),
  ]);
  const socket = join(node.dir, SOCKET);
  const failed = (error: Error): void => log.warn({ err: error }, 'relay');
  const { relay, changed } = await startNodeRelay(node, socket, failed);
  daemon.life.add('relay', () => relay.close());
  const program = startProgram(relayCommand(node.dir, mount, socket), 'SIMULATION_NO_FUSE', daemon);
  // First of all at the end: while somebody reads a GPU that hangs the file system does not leave.
  daemon.life.add('waiting reads', () => relay.clear());
  await Promise.race([relay.mounted(), program.failed]);
  return changed;
}

function told(
  node: LiveNode,
  given: { model: string; scenario?: string | undefined; speed: number },
  dir: string,
  served: readonly string[],
): string {
  const { scenario = 'none: each job goes on as it is', model, speed } = given;
  return `
SIMULATED: ${node.node.gpus.length} GPUs (${model}) live in ${node.dir}; scenario ${scenario}; ${speed} s of its life in a second.

  nightshift exporter --path.sysfs=${join(dir, 'sys')}
  nightshift sim load ${node.dir} 0 0.9
  nightshift sim event ${node.dir} ambient 40
  ${join(node.dir, 'truth.jsonl')} says what really happened, ${join(node.dir, 'driver.log')} which writes were refused
${served.map((line) => `  ${line}\n`).join('')}
Ctrl-C ends it; the files stay as they are.

`;
}
