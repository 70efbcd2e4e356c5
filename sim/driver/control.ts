import type { ModelSpec } from '../models.ts';
import type { Gpu, NodeDescription } from '../node.ts';
import type { WriteErrno } from './result.ts';

/** Where a write arrives. */
export interface Target {
  node: NodeDescription;
  gpu: Gpu;
  spec: ModelSpec;
  /** Rendered tree directories of the GPU's `device` and of its sensors. */
  device: string;
  hwmon: string;
}

/** Files that read otherwise now, by path; or why the driver refuses. A refusal has changed nothing. */
export type Answer = readonly string[] | WriteErrno;

/** What stands behind one control file. `text` ends where a C string would. */
export type Control = (target: Target, text: string) => Answer;

export const IGNORED: Answer = [];
