import { readFile, recoverHive } from '../driver/reset.ts';
import { type WriteResult, writeFile } from '../driver/write.ts';
import type { Load } from '../physics/load.ts';
import { type Room, stepNode } from '../physics/step.ts';
import type { Random } from '../random.ts';
import type { NodeDescription } from '../tree.ts';

/** What the loop needs of physics and driver; tests may put their own in. */

export type { WriteResult } from '../driver/write.ts';
export type { Load } from '../physics/load.ts';
export type { Room } from '../physics/step.ts';

export type StepNode = (
  node: NodeDescription,
  loads: ReadonlyMap<number, Load>,
  room: Room,
  dt: number,
  random: Random,
) => void;

export interface Driver {
  writeFile(node: NodeDescription, path: string, text: string): WriteResult;
  /** What a read does before it is answered. */
  readFile(node: NodeDescription, path: string): WriteResult;
  /** Resets a GPU and all that are linked to it. */
  recoverHive(node: NodeDescription, index: number): WriteResult;
}

export const PHYSICS: StepNode = stepNode;
export const DRIVER: Driver = { writeFile, readFile, recoverHive };
