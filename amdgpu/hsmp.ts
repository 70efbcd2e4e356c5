import type { Clock } from '../base/clock.ts';
import { apu } from '../model/quantities/apu.ts';
import type { LanePool } from './lanes/pool.ts';
import type { Paths } from './paths.ts';
import { Readings } from './readings.ts';
import { decodeHsmp } from './tables/hsmp.ts';

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
