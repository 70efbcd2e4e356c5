import { beforeNul, decimal, decimalBig } from './decimal.ts';

/**
 * `/proc/PID/fdinfo/FD` of an open `/dev/dri/*` node: what one client of one GPU holds and has used.
 *
 * Source: `Documentation/gpu/drm-usage-stats.rst`, `drivers/gpu/drm/drm_file.c`, `drivers/gpu/drm/amd/amdgpu/amdgpu_fdinfo.c`.
 * Descriptors that were dup'ed or inherited repeat the same client: take one by (`pci`, `clientId`).
 */

/** Bytes. A class that this kernel does not print is absent. */
export interface MemoryRegion {
  /** `drm-memory-`: the older key, since Linux 6.13 the same as `resident`. */
  memory?: number;
  total?: number;
  resident?: number;
  shared?: number;
  purgeable?: number;
  active?: number;
}

/** amdgpu's own memory keys, in bytes. The `visible` ones (CPU-reachable VRAM) end with Linux 6.12. */
export interface AmdMemory {
  evictedVram?: number;
  requestedVram?: number;
  requestedGtt?: number;
  visibleVram?: number;
  evictedVisibleVram?: number;
  requestedVisibleVram?: number;
}

export interface DrmClient {
  driver: string;
  /** PCI address, lower case. A partition reports its parent's. */
  pci?: string;
  /** Unique per open file and boot. */
  clientId?: bigint;
  /** Address-space id of the process on the GPU. */
  pasid?: number;
  /** By region: `vram`, `gtt`, `cpu`, `gds`, … */
  regions: Map<string, MemoryRegion>;
  amd: AmdMemory;
  /** Busy nanoseconds by engine (`gfx`, `compute`, `dma`, `dec`, `enc`, …); engines never used are not printed. */
  engines: Map<string, bigint>;
}

const UNITS: ReadonlyMap<string | undefined, number> = new Map([
  [undefined, 1],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
]);
const CLASSES = ['memory', 'total', 'resident', 'shared', 'purgeable', 'active'] as const;
const AMD_KEYS: ReadonlyMap<string, keyof AmdMemory> = new Map([
  ['amd-evicted-vram', 'evictedVram'],
  ['amd-requested-vram', 'requestedVram'],
  ['amd-requested-gtt', 'requestedGtt'],
  ['amd-memory-visible-vram', 'visibleVram'],
  ['amd-evicted-visible-vram', 'evictedVisibleVram'],
  ['amd-requested-visible-vram', 'requestedVisibleVram'],
]);
const PCI_ADDRESS = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;
const ENGINE = 'drm-engine-';

/** Absent when the descriptor is no DRM client (a file, a socket, `/dev/kfd`). */
export function parseFdinfo(text: string): DrmClient | undefined {
  const client: DrmClient = { driver: '', regions: new Map(), amd: {}, engines: new Map() };
  for (const line of beforeNul(text).split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) assign(client, line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  return client.driver === '' ? undefined : client;
}

function assign(client: DrmClient, key: string, value: string): void {
  if (key === 'drm-driver') client.driver = value;
  else if (key === 'drm-pdev') {
    const pci = value.toLowerCase();
    if (PCI_ADDRESS.test(pci)) client.pci = pci;
  } else if (key === 'drm-client-id') {
    const id = decimalBig(value);
    if (id !== undefined) client.clientId = id;
  } else if (key === 'pasid') {
    const pasid = decimal(value);
    if (pasid !== undefined) client.pasid = pasid;
  } else if (key.startsWith(ENGINE)) assignEngine(client, key.slice(ENGINE.length), value);
  else if (key.startsWith('drm-')) assignRegion(client, key.slice(4), value);
  else if (key.startsWith('amd-')) {
    const field = AMD_KEYS.get(key);
    const bytes = field && bytesOf(value);
    if (field && bytes !== undefined) client.amd[field] = bytes;
  }
}

/** Always `N ns`. `drm-engine-capacity-…` shares the prefix and is a number of engines, without unit. */
function assignEngine(client: DrmClient, engine: string, value: string): void {
  if (engine === '' || !value.endsWith(' ns')) return;
  const busy = decimalBig(value.slice(0, -3).trim());
  if (busy !== undefined) client.engines.set(engine, busy);
}

function assignRegion(client: DrmClient, key: string, value: string): void {
  const kind = CLASSES.find((name) => key.startsWith(`${name}-`));
  if (!kind) return;
  const name = key.slice(kind.length + 1);
  const bytes = bytesOf(value);
  if (name === '' || bytes === undefined) return;
  client.regions.set(name, { ...client.regions.get(name), [kind]: bytes });
}

/** A bare number is bytes. A unit that is not known gives nothing: a guess could be off by a factor of a thousand. */
function bytesOf(value: string): number | undefined {
  const space = value.indexOf(' ');
  const amount = decimal(space < 0 ? value : value.slice(0, space));
  const factor = UNITS.get(space < 0 ? undefined : value.slice(space).trim());
  if (amount === undefined || factor === undefined) return undefined;
  const bytes = amount * factor;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
