import { expect, it } from 'vitest';
import { shown } from '../../../amdgpu/knobs/shown.ts';
import { Judge } from '../../amdgpu/knobs/simulated.ts';
import { A, Desk } from './desk.ts';
import { FakePort, factsOf } from './fake-card.ts';

/** An MI100 as its driver keeps it: levels 1189, 1235 and 1283 MHz among others, and no file that tells the limit. */
function desk(): { judge: Judge; desk: Desk } {
  const judge = new Judge({ model: 'mi100', cards: 1 });
  judge.read();
  const { levels } = judge.memory.hardware(shown('mi100', judge.text));
  if (levels === undefined) throw new Error('no levels');
  const facts = factsOf(A, ['mem_clock', 'power_cap']);
  facts.set('gfx_clock', { knob: 'gfx_clock', on: A, adjustable: true, min: 300, max: 1502, floor: 731, levels });
  const port = new FakePort(A);
  port.facts = () => facts;
  port.read = async () => ({ ok: true, settings: judge.read() });
  port.write = async (_on, _from, to) => {
    judge.carryOut(to);
    return { outcome: 'written', settings: judge.read() };
  };
  return { judge, desk: new Desk({}, port) };
}

it('a limit between two levels holds over a restart, after which no file tells it', async () => {
  const { judge, desk: one } = desk();
  one.claim('one', { gfx_clock: 1200 });
  await one.run();
  judge.memory.forget();
  one.restart();
  await one.run();
  await one.pass(5);
  expect(one.row('gfx_clock')).toMatchObject({ state: 'settled', wrote: 1189 });
  expect(one.reports.filter(({ failed }) => failed)).toEqual([]);
});

it('two limits between the same two levels are one', async () => {
  const { desk: one } = desk();
  one.claim('one', { gfx_clock: 1250 });
  await one.run();
  one.claim('two', { gfx_clock: 1240 });
  await one.run();
  await one.pass(5);
  expect(one.row('gfx_clock')).toMatchObject({ state: 'settled', wrote: 1235 });
  expect(one.reports.filter(({ settled }) => !settled)).toEqual([]);
});
