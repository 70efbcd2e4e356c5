import { writeFile } from '../../../sim/driver/write.ts';
import { devicePath, hwmonPath } from '../../../sim/files/paths.ts';
import { describeNode, type Gpu, type NodeDescription, type NodeOptions, renderNode } from '../../../sim/tree.ts';

/** A node without processes, so that nothing holds its partitions. */
export function idleNode(options: NodeOptions): NodeDescription {
  return describeNode({ processes: [], ...options });
}

/** Short names: what begins with `power` and has no underscore-level in it lies beside the sensors. */
export function pathOf(gpu: Gpu, name: string): string {
  return /^(power\d|fan|pwm|temp)/.test(name) ? `${hwmonPath(gpu)}/${name}` : `${devicePath(gpu)}/${name}`;
}

/** `ok`, or the errno. */
export function write(node: NodeDescription, name: string, text: string, gpu = 0): string {
  const result = writeFile(node, pathOf(node.gpus[gpu] as Gpu, name), text);
  return result.ok ? 'ok' : result.errno;
}

export function read(node: NodeDescription, name: string, gpu = 0): string | undefined {
  const entry = renderNode(node).get(pathOf(node.gpus[gpu] as Gpu, name));
  return entry && 'content' in entry ? Buffer.from(entry.content).toString() : undefined;
}
