import type { Counters, Gpu } from '../node.ts';
import type { CardPhysics } from './state.ts';

/**
 * Counters show whole numbers; what is left over waits for the next step, so that sums are exact however short the steps are. The
 * firmware samples at 1 kHz: a tick is a millisecond.
 */

export const TICKS_PER_SECOND = 1000;

type Scalar = 'ticks' | 'memBusy' | 'prochot' | 'packagePower' | 'socketThermal' | 'hbmThermal' | 'pcieBandwidth';
type PerDie = 'gfxBusy' | 'belowPower' | 'belowThermal' | 'lowUtilization';
type PerLink = 'xgmiRead' | 'xgmiWrite';

/** Parts below 1 of each counter. */
export type CounterRests = Record<Scalar, number> & Record<PerDie | PerLink, number[]>;

const LINKS = 8;

export function newRests(dies: number): CounterRests {
  const zeros = (count: number): number[] => new Array<number>(count).fill(0);
  return {
    ticks: 0,
    memBusy: 0,
    prochot: 0,
    packagePower: 0,
    socketThermal: 0,
    hbmThermal: 0,
    pcieBandwidth: 0,
    gfxBusy: zeros(dies),
    belowPower: zeros(dies),
    belowThermal: zeros(dies),
    lowUtilization: zeros(dies),
    xgmiRead: zeros(LINKS),
    xgmiWrite: zeros(LINKS),
  };
}

/** Lets 0.1 s be 100 ticks although its sum in binary falls short by a hair. */
const HAIR = 1e-6;

export function count(counters: Counters, rests: CounterRests, key: Scalar, amount: number): void {
  const sum = rests[key] + amount;
  const whole = Math.floor(sum + HAIR);
  counters[key] += whole;
  rests[key] = sum - whole;
}

export function countAt(
  counters: Counters,
  rests: CounterRests,
  key: PerDie | PerLink,
  index: number,
  amount: number,
): void {
  const sum = (rests[key][index] ?? 0) + amount;
  const whole = Math.floor(sum + HAIR);
  counters[key][index] = (counters[key][index] ?? 0) + whole;
  rests[key][index] = sum - whole;
}

/** Adds `seconds` of the state that the card is in. Energy is counted where the power is known, for the package. */
export function countState({ counters }: Gpu, card: CardPhysics, seconds: number): void {
  const { rests, dies, throttled, limiters } = card;
  const ticks = seconds * TICKS_PER_SECOND;
  count(counters, rests, 'ticks', ticks);
  count(counters, rests, 'memBusy', 100 * card.traffic * ticks);
  if (limiters.emergency) count(counters, rests, 'prochot', ticks);
  if (throttled.power) count(counters, rests, 'packagePower', ticks);
  if (throttled.die) count(counters, rests, 'socketThermal', ticks);
  if (throttled.hbm) count(counters, rests, 'hbmThermal', ticks);
  for (let xcc = 0; xcc < dies.length; xcc++) {
    const { busy, held } = dies[xcc] as CardPhysics['dies'][number];
    countAt(counters, rests, 'gfxBusy', xcc, 100 * busy * ticks);
    countAt(counters, rests, 'lowUtilization', xcc, (1 - busy) * ticks);
    if (held === 'power') countAt(counters, rests, 'belowPower', xcc, ticks);
    if (held === 'heat') countAt(counters, rests, 'belowThermal', xcc, ticks);
  }
}
