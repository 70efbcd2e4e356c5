import { mi100 } from './models/mi100.ts';
import { mi210, mi250x } from './models/mi200.ts';
import { mi300a, mi300x, mi325x, mi355x } from './models/mi300.ts';
import type { ModelSpec, SimModel } from './models/spec.ts';

export * from './models/spec.ts';

/** What is fixed for each simulated product. Numbers on which the public record is silent are plausible, not measured. */
export const MODELS: Readonly<Record<SimModel, ModelSpec>> = { mi100, mi210, mi250x, mi300x, mi300a, mi325x, mi355x };
