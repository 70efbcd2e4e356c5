import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockFloor, powerFloor } from '../../../amdgpu/knobs/envelope.ts';
import type { Settings } from '../../../model/claim.ts';
import { histories, Judge, NODES } from './simulated.ts';

/** Limits within the envelope. */
function limits(judge: Judge): fc.Arbitrary<Settings> {
  const { clocks, cap, family } = judge.spec;
  const top = clocks.gfx.at(-1) as number;
  const gfxFloor = clockFloor({ min: clocks.gfx[0] as number, max: top });
  const [memMin, memMax] = [clocks.mem[0] as number, clocks.mem.at(-1) as number];
  const hasMemory = family === 'mi300' || family === 'mi350';
  const gfx =
    family === 'mi100'
      ? fc.constantFrom(...clocks.gfx.filter((mhz) => mhz >= gfxFloor))
      : fc.integer({ min: gfxFloor, max: top });
  return fc.record(
    {
      power_cap: fc.integer({ min: powerFloor({ max: cap }), max: cap }),
      gfx_clock: gfx,
      ...(hasMemory && { mem_clock: fc.integer({ min: clockFloor({ min: memMin, max: memMax }), max: memMax }) }),
    },
    { requiredKeys: [] },
  );
}

const ended = (settings: Settings, to: Settings): Settings =>
  Object.fromEntries(Object.keys(to).map((key) => [key, settings[key as keyof Settings]]));

describe.each(NODES)('plans for $model on $driver', (options) => {
  const history = histories(options);
  const limit = limits(new Judge(options));

  /** A card with a past, as we find it. */
  function found(past: [string, string][]): Judge {
    const judge = new Judge(options);
    for (const [file, text] of past) judge.write(file, text);
    return judge;
  }

  it('end in what was asked for, from whatever was found, without one refused or empty write', () => {
    fc.assert(
      fc.property(history, fc.array(limit, { minLength: 1, maxLength: 4 }), (past, list) => {
        const judge = found(past);
        for (const to of list) {
          const before = judge.read();
          const { steps, answers } = judge.carryOut(to);
          expect({ past, to, answers }).toEqual({ past, to, answers: steps.map(() => 'ok') });
          for (const { text } of steps) expect(text).not.toBe('');
          expect(judge.sim.cap).toBeGreaterThanOrEqual(powerFloor({ max: judge.spec.cap }));
          const after = judge.read();
          expect(ended(after, to)).toEqual(to);
          // What was not asked for is as it was.
          for (const key of ['power_cap', 'gfx_clock', 'mem_clock'] as const)
            if (to[key] === undefined && before[key] !== undefined) expect(after[key]).toBe(before[key]);
          if (to.gfx_clock === undefined && to.mem_clock === undefined) {
            expect(after.level).toBe(before.level);
            expect(steps.map(({ file }) => file).filter((file) => file !== 'hwmon/power1_cap')).toEqual([]);
          }
        }
      }),
      { numRuns: 80 },
    );
  });

  it('give back exactly what was found, with its level', () => {
    fc.assert(
      fc.property(history, fc.array(limit, { minLength: 1, maxLength: 4 }), (past, list) => {
        const judge = found(past);
        const before = judge.read();
        const { staged: _, levelBefore: _before, ...sim } = judge.sim;
        // A mask that somebody set on MI100 is in no file: nobody can give it back.
        if (before.gfx_clock === undefined && judge.spec.family === 'mi100') return;
        const highest = { ...before };
        for (const to of list) judge.carryOut(lower(highest, to));
        const { answers, steps } = judge.carryOut(before);
        expect({ past, list, answers }).toEqual({ past, list, answers: steps.map(() => 'ok') });
        expect(judge.read()).toEqual(before);
        const { staged: _staged, levelBefore: _level, ...after } = judge.sim;
        if (after.gfxMin === sim.gfxMin) {
          expect(after).toEqual(sim);
          return;
        }
        // Two ends that met (a pin by level or mask, then manual) come back 1 MHz apart: the table takes no other. Determinism
        // has no lower end: one that a level before it left there goes with the first ceiling.
        const gfxMin = sim.level === 'manual' && sim.gfxMin === sim.gfxMax ? sim.gfxMax - 1 : judge.spec.clocks.gfx[0];
        expect(['manual', 'perf_determinism']).toContain(sim.level);
        expect(sim.level === 'manual' ? sim.gfxMin === sim.gfxMax : true).toBe(true);
        expect(after).toEqual({ ...sim, gfxMin });
      }),
      { numRuns: 80 },
    );
  });

  it('give one limit back and keep the other, in manual as long as a clock is limited', () => {
    const { clocks, cap, family } = new Judge(options).spec;
    const gfx = clocks.gfx.at(-1) as number;
    const mem = clocks.mem.at(-1) as number;
    const hasMemory = family === 'mi300' || family === 'mi350';
    fc.assert(
      fc.property(limit, (to) => {
        const judge = new Judge(options);
        judge.carryOut(to);
        expect(judge.carryOut({ gfx_clock: gfx, level: 'auto' }).answers).not.toContain('EINVAL');
        const kept = to.mem_clock !== undefined && to.mem_clock < mem;
        expect(judge.sim).toMatchObject({
          gfxMax: gfx,
          memMax: hasMemory && kept ? to.mem_clock : mem,
          level: kept ? 'manual' : 'auto',
          cap: to.power_cap ?? cap,
        });
        judge.carryOut({ ...(hasMemory && { mem_clock: mem }), level: 'auto' });
        expect(judge.sim).toMatchObject({ level: 'auto', gfxMin: clocks.gfx[0], gfxMax: gfx, memMax: mem });
      }),
      { numRuns: 50 },
    );
  });

  it('do nothing where nothing is to be changed', () => {
    fc.assert(
      fc.property(history, (past) => {
        const judge = found(past);
        expect(judge.plan(judge.read())).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});

/** Never above what was found: a claim only tightens. */
function lower(found: Settings, to: Settings): Settings {
  const keys = ['power_cap', 'gfx_clock', 'mem_clock'] as const;
  return Object.fromEntries(
    keys
      .filter((key) => to[key] !== undefined && found[key] !== undefined && (to[key] as number) <= found[key])
      .map((key) => [key, to[key]]),
  );
}
