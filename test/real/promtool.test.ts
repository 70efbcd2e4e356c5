import { expect, it } from 'vitest';
import { promtoolCheckMetrics } from '../support/promtool.ts';

it('promtool is content with a well-named exposition', async () => {
  const text = '# HELP amdgpu_power_watts Power.\n# TYPE amdgpu_power_watts gauge\namdgpu_power_watts{gpu="0"} 41\n';
  expect(await promtoolCheckMetrics(text)).toEqual([]);
});

it('promtool’s remarks come back, a line each', async () => {
  const text = '# TYPE amdgpu_energy counter\namdgpu_energy 1\n';
  const problems = await promtoolCheckMetrics(text);
  expect(problems).toHaveLength(2);
  expect(problems.join()).toMatch(/no help text/);
  expect(problems.join()).toMatch(/counter metrics should have "_total" suffix/);
});

it('a text that does not parse is a problem too', async () => {
  expect((await promtoolCheckMetrics('amdgpu_power_watts{gpu=0} 41\n')).join()).toMatch(/error while linting/);
});

it('a text that is too long for a pipe arrives whole', async () => {
  const lines = Array.from({ length: 20_000 }, (_, n) => `amdgpu_power_watts{gpu="${n}"} 41\n`);
  const text = `# HELP amdgpu_power_watts Power.\n# TYPE amdgpu_power_watts gauge\n${lines.join('')}`;
  expect(await promtoolCheckMetrics(text)).toEqual([]);
  expect(await promtoolCheckMetrics(`${text}not a sample\n`)).toHaveLength(1);
});
