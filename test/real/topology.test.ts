import { cpSync, existsSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { describeNode, layOutPartitions, type NodeDescription, writeTree } from '../../sim/tree.ts';
import { faultsUnavailable } from '../support/faultfs.ts';
import { deviceDir, faultyNode, type Running, runExporter, type Scrape, scratch } from '../support/faulty-node.ts';
import { skipUnless } from '../support/skips.ts';

/** What is left of a card that is gone. */
const REMAINS = [
  'amdgpu_exporter_card_read_duration_seconds',
  'amdgpu_exporter_last_success_timestamp_seconds',
  'amdgpu_health',
  'amdgpu_read_errors_total',
  'amdgpu_up',
];

let tree: string;
beforeEach(() => {
  tree = scratch('topology');
});
afterEach(() => rmSync(tree, { recursive: true, force: true }));

/** Writes the node in place of what stands there, as a driver that took its devices away and made new ones. */
function become(node: NodeDescription): void {
  node.generation += 1;
  layOutPartitions(node);
  writeTree(tree, node);
}

function without(node: NodeDescription, gpu: number): NodeDescription {
  const rest = structuredClone(node);
  rest.gpus.splice(gpu);
  rest.processes = rest.processes.filter((process) => process.gpus.every((use) => use.gpu < gpu));
  return rest;
}

function expectGone(scrape: Scrape, gpu: number, left: number): void {
  expect(scrape.health(gpu)).toBe('gone');
  expect(scrape.value('amdgpu_up', { gpu })).toBe(0);
  expect(scrape.value('amdgpu_gpus')).toBe(left);
  expect(scrape.familiesOf(gpu)).toEqual(REMAINS);
}

const descriptors = ({ exporter }: Running): number =>
  exporter.pool.pids().reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0);

/** Descriptors are kept from the second pass on, when it is known which files the table makes unnecessary. */
async function settled(running: Running): Promise<Scrape> {
  for (let i = 0; i < 3; i++) await running.scrape();
  return running.scrape();
}

describe('a card', () => {
  it('vanishes in the middle of a pass, stays gone, and returns under its number', async () => {
    skipUnless(faultsUnavailable() === undefined, faultsUnavailable() ?? '');
    const last = 3;
    const node = await faultyNode({ model: 'mi300x', cards: 4 }, (one) => [deviceDir(one, last)]);
    onTestFinished(() => node.remove());
    const card = node.faults(node.dir(last));
    const running = await runExporter(node.path);
    const well = await running.until((one) => one.read().length === 4);
    await card.set('hwmon/**', { delayMs: 30 });
    const during = running.scrape();
    await sleep(20);
    await card.vanish('*');
    expect((await during).read()).toEqual(expect.arrayContaining([0, 1, 2]));
    await card.clear('hwmon/**');
    const links = removeLinks(node.path, node.node, last);
    for (let i = 0; i < 3; i++) {
      const now = await running.scrape();
      expect(now.read()).toEqual([0, 1, 2]);
      expectGone(now, last, 3);
    }
    await card.clear();
    for (const [path, target] of links) symlinkSync(target, path);
    const back = await running.until((one) => one.health(last) === 'ok');
    expect(back?.value('amdgpu_gpus')).toBe(4);
    expect(back?.samples('amdgpu_info', { gpu: last })).toEqual(well?.samples('amdgpu_info', { gpu: last }));
  });

  it('returns as another card minor with another hwmon number, still under its own', async () => {
    const node = describeNode({ model: 'mi300x', cards: 3 });
    writeTree(tree, node);
    const running = await runExporter(tree);
    const well = await settled(running);
    become(without(node, 2));
    expectGone(await running.scrape(), 2, 2);
    const other = structuredClone(node);
    const moved = other.gpus[2];
    if (moved === undefined) throw new Error('no third card');
    Object.assign(moved, { card: 90, render: 218, hwmon: 41 });
    other.generation += 2;
    become(other);
    const back = await running.scrape();
    expect(back.health(2)).toBe('ok');
    expect(back.samples('amdgpu_info', { gpu: 2 })[0]?.labels).toMatchObject({
      card: 'card90',
      render_node: 'renderD218',
      pci_address: moved.pci,
      serial: moved.serial,
    });
    expect(back.samples('amdgpu_info')).toHaveLength(3);
    expect(
      (await running.until((one) => one.samples('amdgpu_ras_errors_total', { gpu: 2 }).length > 0))?.familiesOf(2),
    ).toEqual(expect.arrayContaining(well.familiesOf(2)));
  });

  it('appears on a node that had none', async () => {
    const node = describeNode({ model: 'mi210', cards: 2 });
    writeTree(tree, without(node, 0));
    const running = await runExporter(tree);
    expect((await running.scrape()).value('amdgpu_gpus')).toBe(0);
    expect(running.logged.filter((line) => line.includes('no AMD GPU found'))).toHaveLength(1);
    become(node);
    expect((await running.scrape()).read()).toEqual([0, 1]);
  });

  it('has a file replaced by another of the same name: the new one is read', async () => {
    const node = describeNode({ model: 'mi300x', cards: 1 });
    writeTree(tree, node);
    const running = await runExporter(tree);
    await settled(running);
    const cap = join(tree, deviceDir(node, 0), `hwmon/hwmon${node.gpus[0]?.hwmon}/power1_cap`);
    writeFileSync(`${tree}/next`, '321000000\n');
    renameSync(`${tree}/next`, cap);
    await sleep(300);
    expect((await running.scrape()).value('amdgpu_power_cap_watts', { gpu: 0 })).toBe(321);
  });
});

describe('the driver', () => {
  it('is reloaded: all cards go and come back, and their counters begin anew', async () => {
    const node = describeNode({ model: 'mi300x', cards: 3 });
    writeTree(tree, node);
    const running = await runExporter(tree);
    const before = await settled(running);
    become(without(node, 0));
    const gone = await running.scrape();
    for (const gpu of [0, 1, 2]) expectGone(gone, gpu, 0);
    expect(running.exporter.pool.pids()).toHaveLength(1);
    const fresh = structuredClone(node);
    for (const gpu of fresh.gpus) {
      gpu.counters.energy = 12;
      gpu.counters.ticks = 1000;
      gpu.counters.xgmiRead = gpu.counters.xgmiRead.map(() => 7);
    }
    fresh.boot.uptime = 60;
    fresh.generation += 2;
    become(fresh);
    const after = await running.scrape();
    expect(after.read()).toEqual([0, 1, 2]);
    expect(before.value('amdgpu_energy_joules_total', { gpu: 0 })).toBeGreaterThan(1000);
    expect(after.value('amdgpu_energy_joules_total', { gpu: 0 })).toBe(12);
    expect(after.value('amdgpu_xgmi_read_bytes_total', { gpu: 0, link: 0 })).toBe(7 * 1024);
    expect(after.errors(0, 'gpu_metrics', 'implausible')).toBe(before.errors(0, 'gpu_metrics', 'implausible'));
  });

  it('is looked for again on request, and what did not change keeps all its series', async () => {
    const node = describeNode({ model: 'mi300x', cards: 2 });
    writeTree(tree, node);
    const running = await runExporter(tree);
    // They are read file by file, one card after the other.
    const counted = (one: Scrape, gpu: number): number => one.samples('amdgpu_ras_errors_total', { gpu }).length;
    const well = await running.until((one) => counted(one, 1) > 0 && counted(one, 1) === counted(one, 0));
    running.exporter.rediscover();
    const again = await running.scrape();
    for (const gpu of [0, 1]) expect(again.familiesOf(gpu)).toEqual(well?.familiesOf(gpu));
  });
});

describe('a repartition', () => {
  const partitionsOf = (scrape: Scrape): number[] =>
    [...new Set([...scrape.families.values()].flatMap(({ samples }) => samples.map(({ labels }) => labels.partition)))]
      .filter((label) => label !== undefined && label !== '')
      .map(Number)
      .sort((a, b) => a - b);

  it('is followed from SPX to CPX and back, twenty times: no stale series, no descriptor more', async () => {
    const spx = describeNode({ model: 'mi300x', cards: 1 });
    const cpx = describeNode({ model: 'mi300x', cards: 1, partition: 'cpx' });
    writeTree(tree, spx);
    const running = await runExporter(tree);
    const before = await settled(running);
    expect(partitionsOf(before)).toEqual([0]);
    const kept = descriptors(running);
    const pids = running.exporter.pool.pids();
    for (let i = 0; i < 20; i++) {
      cpx.generation = spx.generation + 1;
      become(cpx);
      const split = await running.scrape();
      expect(partitionsOf(split)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(split.value('amdgpu_partitions', { gpu: 0 })).toBe(8);
      spx.generation = cpx.generation + 1;
      become(spx);
      const whole = await running.scrape();
      expect(partitionsOf(whole)).toEqual([0]);
      expect(whole.value('amdgpu_partitions', { gpu: 0 })).toBe(1);
    }
    const after = await settled(running);
    expect(after.familiesOf(0)).toEqual(expect.arrayContaining(before.familiesOf(0)));
    expect(running.exporter.pool.pids()).toEqual(pids);
    expect(descriptors(running)).toBe(kept);
    expect(running.logged).toEqual([]);
  });

  it('leaves other cards what is read once a minute', async () => {
    const spx = describeNode({ model: 'mi300x', cards: 2 });
    writeTree(tree, spx);
    const running = await runExporter(tree);
    // They are read file by file, one card after the other.
    const counted = (one: Scrape, gpu: number): number => one.samples('amdgpu_ras_errors_total', { gpu }).length;
    const well = await running.until((one) => counted(one, 1) > 0 && counted(one, 1) === counted(one, 0));
    const cpx = describeNode({ model: 'mi300x', cards: 2, partition: 'cpx' });
    cpx.generation = spx.generation;
    become(cpx);
    const split = await running.scrape();
    for (const gpu of [0, 1])
      expect(split.samples('amdgpu_ras_errors_total', { gpu })).toEqual(
        well?.samples('amdgpu_ras_errors_total', { gpu }),
      );
  });
});

/** As the kernel does when a device goes: nothing names it any more. */
function removeLinks(path: string, node: NodeDescription, gpu: number): [string, string][] {
  const one = node.gpus[gpu];
  if (one === undefined) throw new RangeError(`no GPU ${gpu}`);
  const links = [
    ...[`class/drm/card${one.card}`, `class/drm/renderD${one.render}`, `class/hwmon/hwmon${one.hwmon}`],
    ...[`bus/pci/devices/${one.pci}`, `bus/pci/drivers/amdgpu/${one.pci}`],
  ].map((name) => join(path, 'sys', name));
  const kfd = join(path, `sys/devices/virtual/kfd/kfd/topology/nodes/${one.partitions[0]?.kfdNode}`);
  const aside = `${path}-kfd-node`;
  cpSync(kfd, aside, { recursive: true });
  rmSync(kfd, { recursive: true });
  onTestFinished(() => rmSync(aside, { recursive: true, force: true }));
  const taken = links
    .filter((link) => existsSync(join(link, '..')))
    .map((link): [string, string] => [link, readlinkSync(link)]);
  for (const [link] of taken) rmSync(link);
  return [...taken, [kfd, aside]];
}
