import type { Card, Partition } from '../model/card.ts';
import { identify } from './chips.ts';
import { parseHexId } from './formats/scalar.ts';
import type { KfdNode } from './kfd.ts';
import type { Device, Survey } from './survey.ts';

/** A card with everything discovery found out about where it is. */
export interface FoundCard {
  card: Card;
  /** Undefined for a GPU that only KFD shows. */
  device: Device | undefined;
  kfd: KfdNode[];
  /** xcp_metrics files of partitions that have a DRM node of their own, by partition number. */
  xcpDirs: ReadonlyMap<number, string>;
}

/** Numbers that people know a card by, kept while the process lives, also when the card vanishes. */
export class Numbering {
  readonly #numbers = new Map<string, number>();
  readonly #packages = new Map<string, string>();

  /** New cards get the next numbers, in the order given. */
  of(pci: string): number {
    const known = this.#numbers.get(pci);
    if (known !== undefined) return known;
    const next = this.#numbers.size;
    this.#numbers.set(pci, next);
    return next;
  }

  packageOf(pci: string): string | undefined {
    return this.#packages.get(pci);
  }

  setPackage(pci: string, primary: string): void {
    this.#packages.set(pci, primary);
  }
}

/** Joins what sysfs and KFD show into cards, in PCI order. Pure but for the numbering, which remembers. */
export function assemble(survey: Survey, numbering: Numbering, generation: number): FoundCard[] {
  const devices = oneEach(survey.devices).sort((a, b) => comparePci(a.pci, b.pci));
  const { joined, rest } = joinKfd(devices, survey.kfd);
  const orphans = orphanGpus(
    rest,
    devices.some((device) => !joined.has(device.pci)),
  );
  pairDies(devices, joined, numbering);
  return [
    ...devices.map((device) => found(device.pci, device, joined.get(device.pci) ?? [], survey, numbering, generation)),
    ...orphans.map(({ pci, nodes }) => found(pci, undefined, nodes, survey, numbering, generation)),
  ];
}

/**
 * Where a tree has plain folders for links, one device can lie there twice, below its DRM node and below the bus. The one
 * with more files is the one that was copied whole.
 */
function oneEach(devices: readonly Device[]): Device[] {
  const byPci = new Map<string, Device>();
  for (const device of devices) {
    const known = byPci.get(device.pci);
    if (known === undefined || device.files.size > known.files.size) byPci.set(device.pci, device);
  }
  return [...byPci.values()];
}

/** By address (domain, bus, device), not as text: domains can be longer than four digits. Those without one come last. */
export function comparePci(a: string, b: string): number {
  const [left, right] = [topologyId(a), topologyId(b)];
  if (left !== undefined || right !== undefined) return (left ?? -1) - (right ?? -1);
  const parts = (pci: string): number[] => pci.split(/[:.]/).map((part) => Number.parseInt(part, 16));
  const [x, y] = [parts(a), parts(b)];
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const difference = (x[i] ?? 0) - (y[i] ?? 0);
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether a card is where it was and as it was, so that what is known of it stays. */
export function sameFound(a: FoundCard, b: FoundCard): boolean {
  return sameDevice(a.device, b.device) && sameCard(a, b);
}

function sameDevice(a: Device | undefined, b: Device | undefined): boolean {
  if (a === undefined || b === undefined || a === b) return a === b;
  if (a.dir !== b.dir || a.cardMinor !== b.cardMinor || a.renderMinor !== b.renderMinor) return false;
  return sameEntries(a.files, b.files) && a.statics.equals(b.statics);
}

function sameCard(a: FoundCard, b: FoundCard): boolean {
  const where = ({ card, kfd }: FoundCard): string =>
    JSON.stringify([card.model, card.package, card.partitions, kfd.map(({ node, gpuId }) => [node, gpuId])]);
  return where(a) === where(b) && sameEntries(a.xcpDirs, b.xcpDirs);
}

function sameEntries<K>(a: ReadonlyMap<K, string>, b: ReadonlyMap<K, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

/** 1004 of `kfd-1004`. */
function topologyId(key: string): number | undefined {
  return key.startsWith('kfd-') ? Number(key.slice(4)) : undefined;
}

function joinKfd(
  devices: readonly Device[],
  nodes: readonly KfdNode[],
): { joined: Map<string, KfdNode[]>; rest: KfdNode[] } {
  const joined = new Map<string, KfdNode[]>();
  const byPci = new Set(devices.map((device) => device.pci));
  const byMinor = new Map(devices.filter((d) => d.renderMinor !== undefined).map((d) => [d.renderMinor, d.pci]));
  const rest: KfdNode[] = [];
  for (const node of nodes) {
    const pci = node.pci !== undefined && byPci.has(node.pci) ? node.pci : byMinor.get(node.renderMinor);
    if (pci === undefined) rest.push(node);
    else joined.set(pci, [...(joined.get(pci) ?? []), node]);
  }
  for (const list of joined.values()) list.sort((a, b) => a.partition - b.partition);
  return { joined, rest };
}

/**
 * GPUs that have no device directory here (a topology without the rest of the tree). Nodes without an address are taken
 * only when no card waits for its node: a device cgroup can hide the properties of one that is there.
 */
function orphanGpus(nodes: readonly KfdNode[], cardsWithoutNode: boolean): { pci: string; nodes: KfdNode[] }[] {
  const groups = new Map<string, KfdNode[]>();
  for (const node of nodes) {
    if (node.pci === undefined && cardsWithoutNode) continue;
    const key = node.pci ?? `kfd-${node.gpuId}`;
    groups.set(key, [...(groups.get(key) ?? []), node]);
  }
  const keys = [...groups.keys()].sort(comparePci);
  return keys.map((pci) => ({ pci, nodes: (groups.get(pci) ?? []).sort((a, b) => a.partition - b.partition) }));
}

/**
 * MI250's two dies: in PCI order a primary one and the secondary one that belongs to it. The driver hides the power reading
 * of a secondary die, which settles who is who where it can be seen.
 */
function pairDies(devices: readonly Device[], joined: ReadonlyMap<string, KfdNode[]>, numbering: Numbering): void {
  let primary: string | undefined;
  const dies = devices.filter((device) => identify(deviceId(device), gfxOf(joined.get(device.pci))).dualDie);
  const someHavePower = dies.some((die) => die.files.has('hwmon/power1_average'));
  for (const die of dies) {
    const known = numbering.packageOf(die.pci);
    const hidden = someHavePower && die.complete && !die.files.has('hwmon/power1_average');
    // Seen before its primary, a secondary die was taken for a package of its own.
    if (known !== undefined && !(hidden && known === die.pci)) {
      primary = known === die.pci ? die.pci : undefined;
      continue;
    }
    if (primary !== undefined) {
      numbering.setPackage(die.pci, primary);
      primary = undefined;
    } else {
      numbering.setPackage(die.pci, die.pci);
      primary = hidden ? undefined : die.pci;
    }
  }
}

function found(
  pci: string,
  device: Device | undefined,
  kfd: KfdNode[],
  survey: Survey,
  numbering: Numbering,
  generation: number,
): FoundCard {
  const gfx = gfxOf(kfd);
  const id = device === undefined ? kfdDeviceId(kfd) : deviceId(device);
  const chip = identify(id, gfx);
  const xcpDirs = new Map<number, string>();
  const partitions = kfd.map((node): Partition => {
    const xcp = survey.xcps.find((x) => x.renderMinor !== undefined && x.renderMinor === node.renderMinor);
    if (xcp?.hasMetrics === true) xcpDirs.set(node.partition, xcp.dir);
    return {
      number: node.partition,
      kfdNode: node.node,
      ...(node.renderMinor === undefined ? {} : { renderMinor: node.renderMinor }),
      ...(node.gpuId === 0 ? {} : { kfdGpuId: node.gpuId }),
    };
  });
  if (partitions.length === 0) {
    partitions.push({ number: 0, ...(device?.renderMinor === undefined ? {} : { renderMinor: device.renderMinor }) });
  }
  const card: Card = {
    pci,
    gpu: numbering.of(pci),
    package: numbering.packageOf(pci) ?? (pci.startsWith('kfd-') ? '' : pci),
    model: { name: chip.name, family: chip.family, deviceId: id, gfx },
    virtual: chip.virtual,
    partitions,
    generation,
  };
  return { card, device, kfd, xcpDirs };
}

function deviceId(device: Device): string {
  return device.statics.parse('device', parseHexId) ?? '';
}

function kfdDeviceId(kfd: readonly KfdNode[]): string {
  const id = kfd[0]?.props.get('device_id');
  return id === undefined ? '' : `0x${id.toString(16).padStart(4, '0')}`;
}

function gfxOf(kfd: readonly KfdNode[] | undefined): string {
  return kfd?.[0]?.gfx ?? '';
}
