import type { ComputeMode } from '../models/spec.ts';
import { MODELS, type SimModel } from '../models.ts';
import { partitionsOf } from '../partitions.ts';
import type { ProcessOptions } from '../process.ts';
import { type Job, type Scenario, selected } from '../scenario.ts';

/** The processes that do a scenario's work: one for each layer with a `job` and each of its GPUs. */

/**
 * Above 4 194 304, the highest that Linux gives (PID_MAX_LIMIT, include/linux/threads.h): a signal that is meant for such a job reaches
 * nobody on this machine.
 */
const FIRST_PID = 4_194_401;

export interface JobProcess {
  pid: number;
  layer: number;
  gpu: number;
}

export function jobProcesses(scenario: Scenario, gpus: number): JobProcess[] {
  let pid = FIRST_PID;
  return scenario.load.flatMap((layer, index) =>
    layer.job === undefined ? [] : selected(layer.gpus, gpus).map((gpu) => ({ pid: pid++, layer: index, gpu })),
  );
}

/** For `describeNode`; they hold no memory yet. */
export function describeJobs(
  scenario: Scenario,
  { model, gpus, partition }: { model: SimModel; gpus: number; partition?: ComputeMode | undefined },
): ProcessOptions[] {
  const spec = MODELS[model];
  return jobProcesses(scenario, gpus).map(({ pid, layer, gpu }) => {
    const job = scenario.load[layer]?.job as Job;
    const command = commandOf(job);
    return {
      pid,
      comm: (command[0] as string).replace(/^.*\//, '').slice(0, 15),
      cmdline: command,
      age: 1800,
      cgroup: cgroupOf(job.owner, layer, pid),
      environ: environOf(job.owner, layer, gpu),
      gpus: Array.from({ length: partitionsOf(spec, partition) }, (_, number) => ({
        gpu,
        partition: number,
        queues: ['compute', 'sdma'] as const,
      })),
    };
  });
}

export const commandOf = (job: Job): readonly string[] => job.command ?? COMMANDS[job.class];

const COMMANDS: Record<Job['class'], [string, ...string[]]> = {
  batch: ['python3', 'train.py', '--config', 'pretrain.yaml'],
  inference: ['vllm', 'serve', 'example/model-70b', '--port', '8000'],
  system: ['rvs', '-c', 'gst_single.conf'],
};

const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0');
/** Ids of pods and containers have a fixed length; the numbers in them say which layer they belong to. */
const containerId = (layer: number): string => hex(0xc0ffee00 + layer, 8).repeat(8);

function cgroupOf(owner: Job['owner'], layer: number, pid: number): string {
  switch (owner) {
    case 'slurm':
      return `/system.slice/slurmstepd.scope/job_${1000 + layer}/step_0/user/task_0`;
    case 'pod':
      return `/kubepods.slice/kubepods-pod${hex(layer, 8)}_0000_4000_8000_000000000000.slice/cri-containerd-${containerId(layer)}.scope`;
    case 'container':
      return `/system.slice/docker-${containerId(layer)}.scope`;
    case 'unit':
      return `/system.slice/gpu-work-${layer}.service`;
    default:
      return `/user.slice/user-1000.slice/session-${pid % 100}.scope`;
  }
}

function environOf(owner: Job['owner'], layer: number, gpu: number): Record<string, string> {
  const own: Record<string, string> = { LOCAL_RANK: String(gpu) };
  if (owner === 'slurm') Object.assign(own, { SLURM_JOB_ID: String(1000 + layer), SLURM_STEP_ID: '0' });
  return own;
}
