/** A process as the driver and /proc show it. */

/** What one process does on one partition of one GPU. */
export interface GpuUse {
  /** Index in PCI order. */
  gpu: number;
  /** Default 0. */
  partition?: number;
  /** Bytes. Default 0. */
  vram?: number;
  gtt?: number;
  /** Microseconds of copy-engine use. Default 0. */
  sdma?: number;
  /** Milliseconds for which the queues were evicted. Default 0. */
  evicted?: number;
  /** Compute units with a wave of the process. Default 0. */
  cuOccupancy?: number;
  /** Shared-virtual-memory counters. Default 0. */
  faults?: number;
  pageIn?: number;
  pageOut?: number;
  /** KFD queues. Default: one compute queue where `vram` is above 0. */
  queues?: readonly QueueKind[];
  /** Busy nanoseconds by DRM engine (`gfx`, `compute`, `dma`, `dec`, `enc`, `jpeg`): kernel queues only, never HIP. */
  engines?: Readonly<Record<string, number>>;
}

/** Numbered as KFD's queue `type` since the type "debug interface" was dropped. */
export const QUEUE_KINDS = ['compute', 'sdma', 'internal', 'sdma_xgmi', 'sdma_engine'] as const;
export type QueueKind = (typeof QUEUE_KINDS)[number];

export interface ProcessOptions {
  /** Default: counted up from 4201. */
  pid?: number;
  parent?: number;
  /** At most 15 bytes, as the kernel keeps it. Default `python3`. */
  comm?: string;
  /** Default: `comm`. */
  cmdline?: readonly string[];
  uid?: number;
  gid?: number;
  /** Path below the cgroup v2 root. Default: a user's session scope. */
  cgroup?: string;
  environ?: Readonly<Record<string, string>>;
  /** Seconds since it started. Default 3600. */
  age?: number;
  /** Has /dev/kfd open. Default true; false for a graphics or video client. */
  kfd?: boolean;
  gpus?: readonly GpuUse[];
}

export type SimProcess = Required<Omit<ProcessOptions, 'gpus'>> & {
  pasid: number;
  /** It has ended and is not collected yet: a name without command line and open files. */
  zombie?: boolean;
  gpus: (Required<Omit<GpuUse, 'engines' | 'queues'>> & {
    engines: Record<string, number>;
    queues: { id: number; kind: QueueKind; size: number }[];
    /** Unique by open file and boot. */
    clientId: number;
  })[];
};

const DEFAULT_CGROUP = '/user.slice/user-1000.slice/session-2.scope';

export function describeProcesses(options: readonly ProcessOptions[]): SimProcess[] {
  const taken = new Set(options.map((process) => process.pid));
  let pid = 4200;
  let client = 20;
  return options.map((process, index) => {
    if (process.pid === undefined)
      do pid++;
      while (taken.has(pid));
    const comm = process.comm ?? 'python3';
    let queue = 0;
    return {
      pid: process.pid ?? pid,
      parent: process.parent ?? 1,
      comm,
      cmdline: process.cmdline ?? [comm],
      uid: process.uid ?? 1000,
      gid: process.gid ?? process.uid ?? 1000,
      cgroup: process.cgroup ?? DEFAULT_CGROUP,
      environ: process.environ ?? {},
      age: process.age ?? 3600,
      kfd: process.kfd ?? true,
      pasid: 0x8000 + index + 1,
      gpus: (process.gpus ?? []).map((use) => ({
        gpu: use.gpu,
        partition: use.partition ?? 0,
        vram: use.vram ?? 0,
        gtt: use.gtt ?? 0,
        sdma: use.sdma ?? 0,
        evicted: use.evicted ?? 0,
        cuOccupancy: use.cuOccupancy ?? 0,
        faults: use.faults ?? 0,
        pageIn: use.pageIn ?? 0,
        pageOut: use.pageOut ?? 0,
        engines: { ...use.engines },
        queues: (process.kfd === false ? [] : (use.queues ?? (use.vram ? ['compute' as const] : []))).map((kind) => ({
          id: queue++,
          kind,
          size: kind === 'compute' ? 0x40_0000 : 0x10_0000,
        })),
        clientId: ++client,
      })),
    };
  });
}
