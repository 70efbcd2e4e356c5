import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inPhase, PhaseCycle, type PhaseTerms } from '../../../sim/jobs/phases.ts';
import { random } from '../../../sim/random.ts';

const cycle = (terms: PhaseTerms, seed = 1): PhaseCycle =>
  new PhaseCycle(terms, random(seed, 'phases'), random(seed, 'saves'));
const TERMS = { compute: 30, communicate: 5, checkpoint_every: 300 };

/** What it does in each second, and in which ones it begins to save. */
function through(turns: PhaseCycle, seconds: number): { phases: string[]; saves: number[] } {
  const phases: string[] = [];
  const saves: number[] = [];
  for (let t = 0; t < seconds; t++) {
    phases.push(turns.at(t));
    if (turns.saves(t)) saves.push(t);
  }
  return { phases, saves };
}

describe('the turns of a job', () => {
  it('share its time as they are asked to, and saves come that often', () => {
    const { phases, saves } = through(cycle(TERMS), 36_000);
    const share = phases.filter((phase) => phase === 'communicate').length / phases.length;
    expect(share).toBeGreaterThan(0.12);
    expect(share).toBeLessThan(0.165);
    const gaps = saves.map((at, i) => at - (saves[i - 1] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(239);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(361);
    expect(new Set(gaps).size).toBeGreaterThan(20);
  });

  it('are the same for the same seed, and others for another', () => {
    expect(through(cycle(TERMS, 3), 2000)).toEqual(through(cycle(TERMS, 3), 2000));
    expect(through(cycle(TERMS, 3), 2000)).not.toEqual(through(cycle(TERMS, 4), 2000));
  });

  it('do not depend on how often somebody looks, nor on whether it saves', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.01, max: 50, noNaN: true }), { minLength: 1, maxLength: 60 }),
        (steps) => {
          const often = cycle(TERMS);
          const seldom = cycle({ compute: 30, communicate: 5 });
          let t = 0;
          for (const step of steps) {
            for (let part = 1; part <= 3; part++) often.at(t + (step * part) / 3);
            often.saves(t + step);
            t += step;
            expect(seldom.at(t)).toBe(often.at(t));
            expect(seldom.saves(t)).toBe(false);
          }
        },
      ),
    );
  });
});

describe('what a job asks for', () => {
  const amount = { busy: 1, memory: 0.6, vram: 0.5 };

  it.each([
    ['compute', { busy: 1, memory: 0.6, fabric: 0 }, 'the links are still while it computes'],
    ['communicate', { busy: 0.85, memory: 0.3, fabric: 0.8 }, 'collectives keep shaders busy and fill the links'],
    ['checkpoint', { busy: 0.04, fabric: 0, pcie: 0.16 }, 'the shaders wait for copies to the host'],
  ] as const)('to %s is %j: %s', (phase, asked, _why) => {
    expect(inPhase(amount, phase, 0.16)).toMatchObject({ ...asked, vram: 0.5 });
  });

  it('while it communicates is the fabric that its layer names, where it does', () => {
    expect(inPhase({ ...amount, fabric: 0.3 }, 'communicate', 0).fabric).toBe(0.3);
    expect(inPhase({ ...amount, fabric: 0.3 }, 'compute', 0).fabric).toBe(0);
  });
});
