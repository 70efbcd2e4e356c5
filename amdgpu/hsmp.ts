import type { Clock } from '../base/clock.ts';
import { apu } from '../model/quantities/apu.ts';
import type { Quantity } from '../model/quantities/quantity.ts';
import type { LanePool } from './lanes/pool.ts';
import type { Paths } from './paths.ts';
import { Readings } from './readings.ts';
import { decodeHsmp } from './tables/hsmp.ts';
import type { Table } from './tables/types.ts';

/** Each read is a message to the socket's firmware, up to a millisecond: seldom, and never in a scrape. */
const PERIOD_MS = 10_000;
const ASK_MS = 2_000;

/**
 * The host side of MI300A sockets: tables of the host system management port, mode 0444 where the firmware speaks protocol 6.
 * Source: torvalds/linux drivers/platform/x86/amd/hsmp/plat.c, arch/x86/include/uapi/asm/amd_hsmp.h.
 */
export class Hsmp {
  readonly readings = new Readings();
  readonly #pool: LanePool;
  readonly #clock: Clock;
  readonly #dir: string;
  #timer: { stop(): void } | undefined;

  constructor(pool: LanePool, paths: Paths, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
    this.#dir = `${paths.sysfs}/devices/platform/amd_hsmp`;
  }

  /** Reads on, where there are sockets; hosts without the port cost one directory listing. */
  async start(): Promise<void> {
    const [listing] = await this.#pool.run(
      [{ owner: 'hsmp', item: { op: 'list', dirs: [this.#dir], names: true } }],
      ASK_MS,
    );
    const names = listing?.op === 'list' && typeof listing.dirs[0] === 'object' ? listing.dirs[0] : [];
    const sockets = names.map((entry) => /^socket(\d+)$/.exec(entry.name)?.[1]).filter((n) => n !== undefined);
    if (sockets.length === 0) return;
    await this.#read(sockets);
    this.#timer = this.#clock.every(PERIOD_MS, () => void this.#read(sockets));
  }

  close(): void {
    this.#timer?.stop();
  }

  async #read(sockets: readonly string[]): Promise<void> {
    const files = sockets.map((n) => `${this.#dir}/socket${n}/metrics_bin`);
    const [outcome] = await this.#pool.run([{ owner: 'hsmp', item: { op: 'read', files } }], ASK_MS);
    const { readings } = this;
    readings.begin(this.#clock.now());
    if (outcome?.op !== 'read') return;
    sockets.forEach((socket, i) => {
      const bytes = outcome.files[i];
      if (bytes === undefined || typeof bytes === 'number') return;
      const result = decodeHsmp(bytes);
      if (!result.ok) return;
      publishSums(readings, socket, result.table);
      publishClocks(readings, socket, result.table);
      const num = (name: string): number | undefined => result.table.num(name);
      const share = (name: string): number | undefined => {
        const value = num(name);
        return value === undefined ? undefined : value / 100;
      };
      const source = 'hsmp metrics_bin';
      for (const rail of ['socket', 'ccd', 'xcd', 'aid', 'hbm']) {
        readings.put(apu.socketEnergy, num(`${rail}_energy_acc`), source, socket, rail);
      }
      readings.put(apu.socketActivity, share('socket_c0_residency'), source, socket, 'cores');
      readings.put(apu.socketActivity, share('socket_gfx_busy'), source, socket, 'accelerators');
      const peak = num('max_dram_bandwidth');
      readings.put(apu.socketBandwidth, peak === undefined ? undefined : peak * 1e9, source, socket);
      readings.put(apu.socketBandwidthUse, share('dram_bandwidth_utilization'), source, socket);
      readings.put(apu.socketPower, num('socket_power'), source, socket);
      for (const [field, sensor] of [
        ['max_socket_temperature', 'die'],
        ['max_vr_temperature', 'vr'],
        ['max_hbm_temperature', 'hbm'],
      ] as const) {
        readings.put(apu.socketTemperature, num(field), source, socket, sensor);
      }
    });
  }
}

const SOURCE = 'hsmp metrics_bin';

/** What only makes sense as the difference of two reads, and the ticks that it is divided by. */
function publishSums(readings: Readings, socket: string, table: Table): void {
  readings.put(apu.socketTicks, table.num('accumulation_counter'), SOURCE, socket);
  for (const [field, component] of [
    ['socket_c0_residency_acc', 'cores'],
    ['socket_gfx_busy_acc', 'accelerators'],
    ['dram_bandwidth_utilization_acc', 'memory'],
  ] as const) {
    readings.put(apu.socketActivityAccumulator, table.num(field), SOURCE, socket, component);
  }
  readings.put(apu.socketBandwidthAccumulator, table.num('dram_bandwidth_acc'), SOURCE, socket, 'memory');
  table.nums('pcie_bandwidth_acc')?.forEach((sum, link) => {
    readings.put(apu.socketBandwidthAccumulator, sum, SOURCE, socket, `pcie${link}`);
  });
  for (const [field, cause] of [
    ['prochot_residency_acc', 'prochot'],
    ['ppt_residency_acc', 'ppt'],
    ['socket_thm_residency_acc', 'socket_thermal'],
    ['vr_thm_residency_acc', 'vr_thermal'],
    ['hbm_thm_residency_acc', 'hbm_thermal'],
  ] as const) {
    readings.put(apu.socketThrottle, table.num(field), SOURCE, socket, cause);
  }
}

/** Firmware leaves 0 where it has nothing to say; no clock, width or limit of a running socket is 0. */
function publishClocks(readings: Readings, socket: string, table: Table): void {
  const filled = (value: number | undefined, factor: number): number | undefined =>
    value === undefined || value === 0 ? undefined : value * factor;
  const put = (quantity: Quantity, field: string, factor: number, ...labels: string[]): void =>
    readings.putAll(quantity, filled(table.num(field), factor), SOURCE, [socket, ...labels]);
  table.nums('gfxclk_frequency')?.forEach((megahertz, die) => {
    readings.put(apu.socketClock, filled(megahertz, 1e6), SOURCE, socket, `gfx${die}`);
  });
  put(apu.socketClock, 'uclk_frequency', 1e6, 'mem');
  put(apu.socketClock, 'fclk_frequency', 1e6, 'fabric');
  put(apu.socketClockLimit, 'min_gfxclk_frequency', 1e6, 'gfx', 'min');
  put(apu.socketClockLimit, 'max_gfxclk_frequency', 1e6, 'gfx', 'max');
  put(apu.socketClockLimit, 'gfxclk_frequency_limit', 1e6, 'gfx', 'in_force');
  put(apu.socketPowerLimit, 'socket_power_limit', 1, 'in_force');
  put(apu.socketPowerLimit, 'max_socket_power_limit', 1, 'max');
  put(apu.socketLinkWidth, 'xgmi_width', 1);
  put(apu.socketLinkSpeed, 'xgmi_bitrate', 1e9);
}
