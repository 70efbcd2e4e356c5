import { devicePath, hwmonPath } from '../files/paths.ts';
import { selected } from '../scenario.ts';
import type { Driver } from './contracts.ts';
import type { Jobs } from './jobs.ts';
import type { DriverEvent, World } from './world.ts';

export interface Means {
  world: World;
  driver: Driver;
  jobs: Jobs;
}

/** Events that go through the driver, as an administrator or another program would cause them. One sentence about the outcome. */
export function carryOut(event: DriverEvent, means: Means): string {
  const { world } = means;
  const asked = event.gpus;
  const gpus = selected(asked, world.node.gpus.length).filter((gpu) => !world.gone.has(gpu));
  if (gpus.length === 0) return `${event.event}: no such GPU is there now`;
  if (event.event === 'reset') return gpus.map((gpu) => reset(gpu, means)).join('; ');
  if (event.event === 'foreign_cap') return gpus.map((gpu) => foreignCap(gpu, event.watts, means)).join('; ');
  return repartition(gpus, event.mode, means);
}

function reset(gpu: number, { world, driver }: Means): string {
  const { node } = world;
  driver.recoverHive(node, gpu);
  const hive = node.gpus[gpu]?.hive.index;
  const all = node.gpus.filter((other) => other.hive.index === hive).map(({ index }) => index);
  for (const index of all) world.wasReset(index);
  return `reset: GPU ${gpu} and its hive (GPU ${all.join(', ')})`;
}

function foreignCap(gpu: number, watts: number, { world: { node }, driver }: Means): string {
  const target = node.gpus[gpu];
  if (!target) return `there is no GPU ${gpu}`;
  const text = `${Math.round(watts * 1e6)}\n`;
  const result = driver.writeFile(node, `${hwmonPath(target)}/power1_cap`, text);
  return `power1_cap of GPU ${gpu}: ${result.ok ? `${watts} W` : result.errno}`;
}

/** No process may have /dev/kfd open, so the jobs let go of it first and take up their work again on the new partitions. */
function repartition(gpus: readonly number[], mode: string, { world: { node }, driver, jobs }: Means): string {
  const before = node.processes;
  node.processes = before.filter((process) => !process.kfd);
  const outcomes = gpus.map((gpu) => {
    const target = node.gpus[gpu];
    if (!target) return `there is no GPU ${gpu}`;
    const result = driver.writeFile(node, `${devicePath(target)}/current_compute_partition`, `${mode.toUpperCase()}\n`);
    return `GPU ${gpu}: ${result.ok ? mode : result.errno}`;
  });
  for (const process of before)
    process.gpus = process.gpus.filter((use) => node.gpus[use.gpu]?.partitions[use.partition]);
  node.processes = before;
  jobs.relaid();
  return outcomes.join(', ');
}
