import type { Random } from '../random.ts';

/**
 * Slow noise with unit variance, drawn on a fixed grid of time: however long the steps are, the same seed gives the same path. Each sample
 * keeps most of the one before it (an autoregressive process of first order).
 */
export interface Noise {
  /** Of utilisation, of the work that a busy shader does, and of memory traffic. */
  busy: number;
  activity: number;
  traffic: number;
}

/** Seconds between two draws, and for which the noise remembers itself. */
export const NOISE_GRID = 0.1;
const MEMORY = 2;
const KEPT = Math.exp(-NOISE_GRID / MEMORY);
const FRESH = Math.sqrt(1 - KEPT ** 2);

export function newNoise(random: Random): Noise {
  return { busy: normal(random), activity: normal(random), traffic: normal(random) };
}

export function drawNoise(noise: Noise, random: Random): void {
  noise.busy = KEPT * noise.busy + FRESH * normal(random);
  noise.activity = KEPT * noise.activity + FRESH * normal(random);
  noise.traffic = KEPT * noise.traffic + FRESH * normal(random);
}

/** Three uniform draws: nearly normal, variance 1, never beyond 3, so that no card jumps. */
function normal(random: Random): number {
  return 2 * (random.next() + random.next() + random.next() - 1.5);
}

/**
 * A share with its noise, of deviation `sigma` at one half. Nothing is added to 0 and 1: an idle card is quite idle, and a card with
 * more work than it can do is quite busy.
 */
export function noisy(share: number, noise: number, sigma: number): number {
  return Math.min(1, Math.max(0, share + 4 * share * (1 - share) * sigma * noise));
}
