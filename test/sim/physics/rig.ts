import { type Load, type Room, stepNode } from '../../../sim/physics/step.ts';
import { random } from '../../../sim/random.ts';
import { describeNode, type Gpu, type NodeDescription, type NodeOptions } from '../../../sim/tree.ts';

/** A node under loads that a test sets, in a room that it sets. */
export interface Rig {
  node: NodeDescription;
  loads: Map<number, Load>;
  room: { ambient: number; blocked: Map<number, number> };
  gpu(index: number): Gpu;
  /** Same load on all GPUs, or on those named. */
  load(load: Partial<Load>, ...gpus: number[]): void;
  /** Steps for so long; `look` sees the node after each step. */
  run(seconds: number, dt?: number, look?: () => void): void;
}

export function rig(options: NodeOptions, { seed = 1, ambient = 25 } = {}): Rig {
  const node = describeNode({ processes: [], ...options });
  const loads = new Map<number, Load>();
  const room = { ambient, blocked: new Map<number, number>() } satisfies Room;
  const draw = random(seed, 'physics test');
  return {
    node,
    loads,
    room,
    gpu: (index) => node.gpus[index]!,
    load(load, ...gpus) {
      const named = gpus.length > 0 ? gpus : node.gpus.map(({ index }) => index);
      for (const index of named) loads.set(index, { gfx: 0, mem: 0, vram: 0, ...load });
    },
    run(seconds, dt = 0.1, look) {
      for (let step = 0; step < Math.round(seconds / dt); step++) {
        stepNode(node, loads, room, dt, draw);
        look?.();
      }
    },
  };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
