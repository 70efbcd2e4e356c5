import { describe, expect, it } from 'vitest';
import { assemble, comparePci, Numbering } from '../../amdgpu/cards.ts';
import type { KfdNode } from '../../amdgpu/kfd.ts';
import { RawFiles } from '../../amdgpu/raw.ts';
import type { Device, Survey } from '../../amdgpu/survey.ts';
import { kfdNode } from './resolve/fixture.ts';

function device(pci: string, id: string, more: Partial<Device> & { names?: string[] } = {}): Device {
  const statics = new RawFiles();
  statics.set('device', Buffer.from(`${id}\n`));
  const { names = [], ...rest } = more;
  return { pci, dir: `/x/${pci}`, files: new Map(names.map((name) => [name, name])), statics, complete: true, ...rest };
}

function surveyed(devices: Device[], kfd: KfdNode[] = [], xcps: Survey['xcps'] = []): Survey {
  return { devices, xcps, kfd, node: new RawFiles(), silent: [], answered: true, coredumps: 0 };
}

const found = (survey: Survey, numbering = new Numbering()) => assemble(survey, numbering, 1).map(({ card }) => card);

describe('addresses', () => {
  it('are ordered as numbers, domain first', () => {
    const sorted = ['0001:01:00.0', '10000:01:00.0', '0000:c1:00.0', '0000:05:00.1', '0000:05:00.0'].sort(comparePci);
    expect(sorted).toEqual(['0000:05:00.0', '0000:05:00.1', '0000:c1:00.0', '0001:01:00.0', '10000:01:00.0']);
  });
});

describe('numbers', () => {
  it('follow the addresses at first sight, whatever the card numbers', () => {
    const cards = found(
      surveyed([
        device('0000:c1:00.0', '0x740f', { cardMinor: 0 }),
        device('0000:03:00.0', '0x740f', { cardMinor: 9 }),
      ]),
    );
    expect(cards.map(({ pci, gpu }) => [pci, gpu])).toEqual([
      ['0000:03:00.0', 0],
      ['0000:c1:00.0', 1],
    ]);
  });

  it('stay with their card when another goes, and a new card gets the next', () => {
    const numbering = new Numbering();
    const [a, b, c] = ['0000:03:00.0', '0000:43:00.0', '0000:01:00.0'].map((pci) => device(pci, '0x740f')) as [
      Device,
      Device,
      Device,
    ];
    found(surveyed([a, b]), numbering);
    expect(found(surveyed([b]), numbering).map(({ gpu }) => gpu)).toEqual([1]);
    expect(found(surveyed([a, b, c]), numbering).map(({ pci, gpu }) => [pci, gpu])).toEqual([
      ['0000:01:00.0', 2],
      ['0000:03:00.0', 0],
      ['0000:43:00.0', 1],
    ]);
  });

  it('tell equal buses of different domains apart', () => {
    const cards = found(surveyed(['0003', '0000', '0001'].map((domain) => device(`${domain}:01:00.0`, '0x74a0'))));
    expect(cards.map(({ pci }) => pci)).toEqual(['0000:01:00.0', '0001:01:00.0', '0003:01:00.0']);
  });
});

it('a device that lies in a tree twice, in plain folders, is one card: the one with more files', () => {
  const pci = '0000:26:00.0';
  const whole = device(pci, '0x74a1', { dir: '/class/drm/card1/device', names: ['vendor', 'hwmon/power1_input'] });
  const bare = device(pci, '0x74a1', { dir: '/bus/pci/devices/x', names: ['vendor'] });
  for (const devices of [
    [whole, bare],
    [bare, whole],
  ]) {
    expect(assemble(surveyed(devices), new Numbering(), 1).map((one) => one.device?.dir)).toEqual([whole.dir]);
  }
});

describe('topology nodes', () => {
  it('join by address, in the order of their partitions', () => {
    const pci = '0000:05:00.0';
    const kfd = [
      kfdNode(3, {}, { pci, partition: 1, renderMinor: 129, gfx: 'gfx942' }),
      kfdNode(2, {}, { pci, partition: 0, renderMinor: 128, gfx: 'gfx942' }),
    ];
    const xcps = [{ index: 0, dir: '/xcp0', renderMinor: 129, hasMetrics: true }];
    const [one] = assemble(surveyed([device(pci, '0x74a1')], kfd, xcps), new Numbering(), 1);
    expect(one?.card.partitions).toEqual([
      { number: 0, kfdNode: 2, kfdGpuId: 1002, renderMinor: 128 },
      { number: 1, kfdNode: 3, kfdGpuId: 1003, renderMinor: 129 },
    ]);
    expect(one?.xcpDirs).toEqual(new Map([[1, '/xcp0']]));
    expect(one?.card.model.gfx).toBe('gfx942');
  });

  it('do not name tables that older drivers do not have', () => {
    const kfd = [kfdNode(2, {}, { pci: '0000:05:00.0', renderMinor: 129 })];
    const xcps = [{ index: 0, dir: '/xcp0', renderMinor: 129, hasMetrics: false }];
    const [one] = assemble(surveyed([device('0000:05:00.0', '0x74a1')], kfd, xcps), new Numbering(), 1);
    expect(one?.xcpDirs.size).toBe(0);
  });

  it('join by render minor where their address says nothing', () => {
    const kfd = [kfdNode(1, {}, { renderMinor: 130 })];
    const cards = found(surveyed([device('0000:05:00.0', '0x740f', { renderMinor: 130 })], kfd));
    expect(cards).toHaveLength(1);
    expect(cards[0]?.partitions[0]?.kfdNode).toBe(1);
  });

  it('that no device stands for are GPUs of their own', () => {
    const kfd = [
      kfdNode(2, { device_id: 0x74a1 }, { pci: '0000:05:00.0', partition: 0 }),
      kfdNode(3, { device_id: 0x74a1 }, { pci: '0000:05:00.0', partition: 1 }),
      kfdNode(4, {}, {}),
    ];
    const cards = found(surveyed([], kfd));
    expect(cards.map(({ pci, partitions }) => [pci, partitions.length])).toEqual([
      ['0000:05:00.0', 2],
      ['kfd-1004', 1],
    ]);
    expect(cards[0]?.model).toMatchObject({ deviceId: '0x74a1', family: 'mi300' });
  });

  it('without an address may be those of a card whose own node a cgroup hides, and make no second one', () => {
    expect(found(surveyed([device('0000:05:00.0', '0x740f')], [kfdNode(1, {})]))).toHaveLength(1);
  });
});

describe('the two dies of an MI250', () => {
  const power = ['hwmon/power1_average'];

  it('belong together in the order of their addresses', () => {
    const cards = found(surveyed(['c1', 'c6', 'c9', 'ce'].map((bus) => device(`0000:${bus}:00.0`, '0x7408'))));
    expect(cards.map((card) => card.package)).toEqual(['0000:c1:00.0', '0000:c1:00.0', '0000:c9:00.0', '0000:c9:00.0']);
  });

  it('are told apart by the power reading that the secondary one lacks', () => {
    const cards = found(
      surveyed([
        device('0000:c1:00.0', '0x740c', { names: power }),
        device('0000:c6:00.0', '0x740c'),
        device('0000:c9:00.0', '0x740c', { names: power }),
        device('0000:ce:00.0', '0x740c'),
      ]),
    );
    expect(cards.map((card) => card.package)).toEqual(['0000:c1:00.0', '0000:c1:00.0', '0000:c9:00.0', '0000:c9:00.0']);
  });

  it('come together also where the secondary one was seen first', () => {
    const numbering = new Numbering();
    const primary = device('0000:c1:00.0', '0x740c', { names: power });
    const secondary = device('0000:c6:00.0', '0x740c');
    expect(found(surveyed([secondary]), numbering)[0]?.package).toBe('0000:c6:00.0');
    const packages = found(surveyed([primary, secondary]), numbering).map((card) => card.package);
    expect(packages).toEqual(['0000:c1:00.0', '0000:c1:00.0']);
  });

  it('stay together when one of them goes for a while', () => {
    const numbering = new Numbering();
    const [a, b] = ['c1', 'c6'].map((bus) => device(`0000:${bus}:00.0`, '0x7408')) as [Device, Device];
    found(surveyed([a, b]), numbering);
    expect(found(surveyed([b]), numbering)[0]?.package).toBe('0000:c1:00.0');
    expect(found(surveyed([a, b]), numbering).map((card) => card.package)).toEqual(['0000:c1:00.0', '0000:c1:00.0']);
  });
});

it('a card without topology has one partition, and a virtual function says what it is', () => {
  const [card] = found(surveyed([device('0000:05:00.0', '0x74b5', { renderMinor: 128 })]));
  expect(card?.partitions).toEqual([{ number: 0, renderMinor: 128 }]);
  expect(card?.virtual).toBe(true);
});
