import { devicePath, hwmonPath } from '../files/paths.ts';
import { describeProcesses } from '../process.ts';
import { describeJobs } from '../scenario/jobs.ts';
import { type Scenario, selected } from '../scenario.ts';
import type { NodeDescription } from '../tree.ts';
import type { Driver } from './contracts.ts';
import type { DriverEvent, World } from './world.ts';

export interface Means {
  world: World;
  driver: Driver;
  scenario: Scenario | undefined;
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

/** No process may have /dev/kfd open, so the jobs end first and are started again on the new partitions. */
function repartition(gpus: readonly number[], mode: string, { world: { node }, driver, scenario }: Means): string {
  const before = node.processes;
  node.processes = before.filter((process) => !process.kfd);
  const outcomes = gpus.map((gpu) => {
    const target = node.gpus[gpu];
    if (!target) return `there is no GPU ${gpu}`;
    const result = driver.writeFile(node, `${devicePath(target)}/current_compute_partition`, `${mode.toUpperCase()}\n`);
    return `GPU ${gpu}: ${result.ok ? mode : result.errno}`;
  });
  const clients = node.processes;
  node.processes = [...restarted(node, before, scenario), ...clients];
  return outcomes.join(', ');
}

function restarted(
  node: NodeDescription,
  before: NodeDescription['processes'],
  scenario: Scenario | undefined,
): NodeDescription['processes'] {
  if (scenario) {
    const partition = node.gpus[0]?.compute;
    const jobs = describeProcesses(describeJobs(scenario, { model: node.model, gpus: node.gpus.length, partition }));
    for (const job of jobs) job.gpus = job.gpus.filter((use) => node.gpus[use.gpu]?.partitions[use.partition]);
    return jobs;
  }
  const kept = before.filter((process) => process.kfd);
  for (const process of kept)
    process.gpus = process.gpus.filter((use) => node.gpus[use.gpu]?.partitions[use.partition]);
  return kept;
}
