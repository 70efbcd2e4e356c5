import { expect, it } from 'vitest';
import { lookNext } from '../../../cli/simulated/look-next.ts';

it.each([1, 2, 4])('names GPUs that are there (%s)', (gpus) => {
  const actuator = { url: 'http://127.0.0.1:9511', rules: '/rules', ledger: '/ledger.db' };
  const text = lookNext({ dir: '/node', actuator }, { scenario: 'hot-card', watched: false, gpus });
  const named = [...text.matchAll(/(?:--gpu|"block|"hang|"unhang|"load) (\d+)/g)].map(([, gpu]) => Number(gpu));
  expect(named).toHaveLength(5);
  expect(Math.max(...named)).toBeLessThan(gpus);
});
