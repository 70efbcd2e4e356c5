import { describe, expect, it } from 'vitest';
import { describeNode, type NodeOptions, renderNode } from '../../sim/tree.ts';
import { type Reader, reader } from './reader.ts';

const NODE: NodeOptions = {
  model: 'mi300x',
  cards: 1,
  partition: 'dpx',
  processes: [
    {
      pid: 5001,
      comm: 'train (a) b',
      cmdline: ['python3', 'train.py'],
      uid: 1234,
      age: 60,
      environ: { SLURM_JOB_ID: '42' },
      cgroup: '/system.slice/slurmstepd.scope/job_42/step_0/user/task_0',
      gpus: [
        { gpu: 0, partition: 0, vram: 4096, sdma: 17, evicted: 3, cuOccupancy: 100, queues: ['compute', 'sdma_xgmi'] },
        { gpu: 0, partition: 1, vram: 8192 },
      ],
    },
    { pid: 5002, comm: 'ffmpeg', kfd: false, gpus: [{ gpu: 0, vram: 1 << 20, engines: { dec: 900, enc: 0 } }] },
    {},
  ],
};

function render(options: NodeOptions): { tree: Reader; ids: number[]; uptime: number; links: Map<string, string> } {
  const node = describeNode(options);
  const files = renderNode(node);
  const links = new Map([...files].flatMap(([path, entry]) => ('link' in entry ? [[path, entry.link]] : [])));
  const ids = node.gpus.flatMap((gpu) => gpu.partitions.map((partition) => partition.kfdGpuId));
  return { tree: reader(files), ids, uptime: node.boot.uptime, links };
}

const { tree, ids, uptime, links } = render(NODE);
const kfd = 'sys/class/kfd/kfd/proc';

describe('processes', () => {
  it('stand in KFD with an entry for each partition, but for those that do not have it open', () => {
    expect(tree.list(kfd)).toEqual(['4201', '5001']);
    expect(tree.text(`${kfd}/5001/vram_${ids[0]}`)).toBe('4096\n');
    expect(tree.text(`${kfd}/5001/vram_${ids[1]}`)).toBe('8192\n');
    expect(tree.text(`${kfd}/5001/sdma_${ids[0]}`)).toBe('17\n');
    expect(tree.text(`${kfd}/5001/stats_${ids[0]}/evicted_ms`)).toBe('3\n');
    expect(tree.text(`${kfd}/5001/stats_${ids[0]}/cu_occupancy`)).toBe('100\n');
    expect(tree.text(`${kfd}/4201/vram_${ids[0]}`)).toBe('0\n');
  });

  it('have numbered queues, written without a newline', () => {
    expect(tree.list(`${kfd}/5001/queues`)).toEqual(['0', '1', '2']);
    expect(tree.text(`${kfd}/5001/queues/1/type`)).toBe('3');
    expect(tree.text(`${kfd}/5001/queues/2/gpuid`)).toBe(String(ids[1]));
  });

  it('stand in /proc as the kernel shows them', () => {
    expect(tree.text('proc/5001/comm')).toBe('train (a) b\n');
    expect(tree.text('proc/5001/cmdline')).toBe('python3\0train.py\0');
    expect(tree.text('proc/5001/environ')).toBe('SLURM_JOB_ID=42\0');
    expect(tree.text('proc/5001/cgroup')).toBe('0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n');
    expect(tree.text('proc/5001/status')).toContain('Uid:\t1234\t1234\t1234\t1234\n');
    const fields = tree.text('proc/5001/stat').trimEnd().split(') ').at(-1)?.split(' ') ?? [];
    expect(fields).toHaveLength(50);
    expect(Number(fields[19])).toBe(Math.round((uptime - 60) * 100));
  });

  it('hold the render node of each partition that they use', () => {
    expect(tree.list('proc/5001/fd').map((fd) => links.get(`proc/5001/fd/${fd}`))).toEqual([
      '/dev/kfd',
      '/dev/dri/renderD128',
      '/dev/dri/renderD129',
    ]);
    expect(tree.list('proc/5001/fdinfo')).toEqual(tree.list('proc/5001/fd'));
  });

  it('show engine time and all of their memory in fdinfo where they are no compute processes', () => {
    const keys = tree.text('proc/5002/fdinfo/3');
    expect(keys).toContain('drm-memory-vram:\t1024 KiB\n');
    expect(keys).toContain('drm-engine-dec:\t900 ns\n');
    expect(keys).not.toContain('drm-engine-enc');
  });

  it('have other fdinfo keys before 6.13', () => {
    const old = render({ ...NODE, driver: 'linux-6.12' }).tree.text('proc/5002/fdinfo/3');
    expect(old).toContain('amd-memory-visible-vram:\t1024 KiB\n');
    expect(old).not.toContain('drm-total-vram');
    expect(tree.text('proc/5002/fdinfo/3')).toContain('drm-total-vram:\t1024 KiB\n');
  });

  it('have no address-space id in KFD under the newest driver', () => {
    expect(render({ ...NODE, driver: 'linux-6.19' }).tree.text(`${kfd}/5001/pasid`)).toBe('0\n');
    expect(tree.text(`${kfd}/5001/pasid`)).toBe('32769\n');
  });
});
