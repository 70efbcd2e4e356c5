import { describe, expect, it } from 'vitest';
import { Hsmp } from '../../amdgpu/hsmp.ts';
import type { LanePool, Task } from '../../amdgpu/lanes/pool.ts';
import type { Item } from '../../amdgpu/lanes/protocol.ts';
import { encodeHsmp } from '../../amdgpu/tables/hsmp.ts';
import { fakeClock } from '../../base/clock.ts';
import { apu } from '../../model/quantities/apu.ts';
import type { Quantity } from '../../model/quantities/quantity.ts';

const DIR = '/tree/devices/platform/amd_hsmp';

async function readingsOf(bytes: Uint8Array): Promise<(quantity: Quantity, ...labels: string[]) => unknown> {
  const answer = (item: Item) =>
    item.op === 'list'
      ? {
          op: 'list',
          dirs: [
            [
              { name: 'socket0', kind: 'dir' },
              { name: 'driver', kind: 'link' },
            ],
          ],
        }
      : {
          op: 'read',
          asleep: false,
          milliseconds: 0,
          files: item.files?.map((f) => (f === `${DIR}/socket0/metrics_bin` ? bytes : 2)),
        };
  const pool = { run: async (tasks: readonly Task[]) => tasks.map(({ item }) => answer(item)) } as unknown as LanePool;
  const hsmp = new Hsmp(pool, { sysfs: '/tree', procfs: '' }, fakeClock());
  await hsmp.start();
  hsmp.close();
  return (quantity, ...labels) => hsmp.readings.get(quantity, '0', ...labels)?.value;
}

describe('the host side of an MI300A socket', () => {
  it('is told in base units, sums beside the ticks that divide them', async () => {
    const get = await readingsOf(
      encodeHsmp({
        accumulation_counter: 5000,
        socket_power: 512,
        socket_power_limit: 550,
        max_socket_power_limit: 760,
        socket_energy_acc: 7,
        socket_gfx_busy: 50,
        socket_gfx_busy_acc: 250_000,
        socket_c0_residency_acc: 100_000,
        dram_bandwidth_acc: 9_000,
        pcie_bandwidth_acc: [1, 2, 0, 0],
        ppt_residency_acc: 42,
        gfxclk_frequency: [2100, 0, 0, 0, 0, 0, 0, 0],
        fclk_frequency: 1800,
        max_gfxclk_frequency: 2100,
        xgmi_width: 16,
        xgmi_bitrate: 32,
      }),
    );
    expect(get(apu.socketTicks)).toBe(5000);
    expect(get(apu.socketPower)).toBe(512);
    expect(get(apu.socketPowerLimit, 'in_force')).toBe(550);
    expect(get(apu.socketPowerLimit, 'max')).toBe(760);
    expect(get(apu.socketEnergy, 'socket')).toBe(7);
    expect(get(apu.socketActivity, 'accelerators')).toBe(0.5);
    expect(get(apu.socketActivityAccumulator, 'accelerators')).toBe(250_000);
    expect(get(apu.socketActivityAccumulator, 'cores')).toBe(100_000);
    expect(get(apu.socketBandwidthAccumulator, 'memory')).toBe(9_000);
    expect(get(apu.socketBandwidthAccumulator, 'pcie1')).toBe(2);
    expect(get(apu.socketThrottle, 'ppt')).toBe(42);
    expect(get(apu.socketClock, 'gfx0')).toBe(2.1e9);
    expect(get(apu.socketClock, 'fabric')).toBe(1.8e9);
    expect(get(apu.socketClockLimit, 'gfx', 'max')).toBe(2.1e9);
    expect(get(apu.socketLinkWidth)).toBe(16);
    expect(get(apu.socketLinkSpeed)).toBe(32e9);
  });

  it('has no clock, limit or link where the firmware left 0', async () => {
    const get = await readingsOf(encodeHsmp({ accumulation_counter: 1 }));
    expect(get(apu.socketTicks)).toBe(1);
    expect(get(apu.socketClock, 'gfx0')).toBeUndefined();
    expect(get(apu.socketPowerLimit, 'in_force')).toBeUndefined();
    expect(get(apu.socketLinkWidth)).toBeUndefined();
  });

  it('says nothing of a table that is too short', async () => {
    const get = await readingsOf(new Uint8Array(100));
    expect(get(apu.socketPower)).toBeUndefined();
  });
});
