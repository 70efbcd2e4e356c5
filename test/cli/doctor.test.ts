import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLedger } from '../../actuator/ledger/ledger.ts';
import { createLog } from '../../base/log.ts';
import { anythingReadable, type DoctorReport, examine, losesBy } from '../../cli/doctor/report.ts';
import { renderDoctor } from '../../cli/doctor/text.ts';
import { describeNode, type NodeDescription, writeTree } from '../../sim/tree.ts';
import { folderInMemory } from '../support/memory.ts';

let dir: string;
beforeEach(() => {
  dir = folderInMemory('nightshift-doctor-');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function look(): Promise<DoctorReport> {
  const paths = { sysfs: join(dir, 'sys'), procfs: join(dir, 'proc') };
  return examine({
    paths,
    log: createLog({ level: 'error', destination: { write: () => {} } }),
    laneDeadlineMs: 5_000,
  });
}

function write(change: (node: NodeDescription) => void = () => {}, model: 'mi300x' | 'mi210' = 'mi300x'): void {
  const node = describeNode({ model, cards: 2 });
  change(node);
  writeTree(dir, node);
}

const deviceDir = (pci: string): string => join(dir, 'sys/bus/pci/devices', pci);

describe('what a file feeds', () => {
  it.each([
    ['hwmon/power1_cap', 'amdgpu_power_cap_watts'],
    ['ras/umc_err_count', 'amdgpu_ras_errors_total'],
    ['fw_version/smc_fw_version', 'amdgpu_firmware_info'],
    ['mem_info_vram_used', 'amdgpu_vram_used_bytes'],
    ['compute_partition_config/xcc/num_inst', 'amdgpu_partition_resources'],
    ['bridge/max_link_speed', 'amdgpu_pcie_link_speed_max_transfers_per_second'],
  ])('is told for %s', (file, family) => {
    expect(losesBy(file)).toContain(family);
  });

  it('is nothing where nothing is read from it', () => {
    expect(losesBy('pp_table')).toEqual([]);
  });
});

describe('nightshift doctor', () => {
  it('finds nothing wrong with a healthy node, and leaves alone what has a price', async () => {
    write();
    const report = await look();
    expect(anythingReadable(report)).toBe(true);
    expect(report.cards).toHaveLength(2);
    expect(report.kfd).toMatchObject({ present: true, gpuNodes: 2 });
    for (const card of report.cards) {
      expect(card).toMatchObject({ model: 'MI300X', health: 'ok', table: '1.8', kfd: true });
      expect(card.groups.flatMap(({ faults }) => faults)).toEqual([]);
      const ras = card.groups.find(({ group }) => group === 'ras');
      expect(ras?.left).toContain('ras/umc_err_count');
    }
    const text = renderDoctor(report);
    expect(text).toContain('GPU 0, 1\n');
    expect(text).toMatch(/^Driver {7}amdgpu loaded/m);
  }, 30_000);

  it('says of a table that nobody knows which version it is, and that the rest goes on', async () => {
    write();
    const pci = describeNode({ model: 'mi300x', cards: 2 }).gpus[0]?.pci ?? '';
    const table = Buffer.alloc(64);
    table.writeUInt16LE(64, 0);
    table[2] = 1;
    table[3] = 77;
    writeFileSync(join(deviceDir(pci), 'gpu_metrics'), table);
    const report = await look();
    expect(report.cards[0]?.table).toBe('unknown version 1.77');
    expect(report.cards[0]?.health).toBe('ok');
    expect(renderDoctor(report)).toMatch(/unknown version 1\.77\. The single files are read instead/);
  }, 30_000);

  it('leaves a sleeping card asleep', async () => {
    write((node) => {
      for (const gpu of node.gpus.slice(0, 1)) gpu.live.runtimeStatus = 'suspended';
    });
    const report = await look();
    expect(report.cards.map(({ health }) => health)).toEqual(['asleep', 'ok']);
    expect(renderDoctor(report)).toContain('It sleeps and was left asleep');
  }, 30_000);

  it('names the file that fails, why, and what is lost', async () => {
    write(() => {}, 'mi210');
    const pci = describeNode({ model: 'mi210', cards: 2 }).gpus[0]?.pci ?? '';
    const refused = join(deviceDir(pci), 'mem_info_gtt_used');
    rmSync(refused);
    // Listed, and gone when it is opened: an error that root gets too.
    symlinkSync('nowhere', refused);
    writeFileSync(join(deviceDir(pci), 'pp_od_clk_voltage'), '');
    const report = await look();
    const faults = report.cards[0]?.groups.find(({ group }) => group === 'memory')?.faults;
    expect(faults).toEqual([{ file: 'mem_info_gtt_used', reason: 'gone', loses: ['amdgpu_gtt_used_bytes'] }]);
    const text = renderDoctor(report);
    expect(text).toContain('mem_info_gtt_used: gone, no longer there; lost: amdgpu_gtt_used_bytes');
    expect(text).toMatch(/clocks .*empty: pp_od_clk_voltage/);
    // The other card has no such trouble, so the two are told apart.
    expect(text).not.toContain('GPU 0, 1');
  }, 30_000);

  it('on a machine without AMD GPUs says where it looked and what is on the bus', async () => {
    const device = join(dir, 'sys/bus/pci/devices/0000:c1:00.0');
    mkdirSync(device, { recursive: true });
    writeFileSync(join(device, 'vendor'), '0x1002\n');
    writeFileSync(join(device, 'class'), '0x120000\n');
    writeFileSync(join(device, 'uevent'), 'DRIVER=vfio-pci\nPCI_SLOT_NAME=0000:c1:00.0\n');
    const report = await look();
    expect(anythingReadable(report)).toBe(false);
    expect(report.unbound).toEqual([{ pci: '0000:c1:00.0', driver: 'vfio-pci' }]);
    const text = renderDoctor(report);
    expect(text).toContain(`${dir}/sys/class/drm`);
    expect(text).toMatch(/0000:c1:00\.0 +driver vfio-pci/);
  }, 30_000);

  it('turns a fault into a line for people', () => {
    const fault = {
      file: 'compute_partition_config/xcc/num_inst',
      reason: 'denied' as const,
      loses: ['a', 'b', 'c', 'd'],
    };
    const group = { group: 'partition', readable: 3, empty: [], faults: [fault], left: [] };
    const card = { gpu: 0, pci: '0000:c1:00.0', model: 'MI300X', health: 'ok' as const, table: '1.8', partitions: 1 };
    const report: DoctorReport = {
      paths: { sysfs: 's', procfs: 'p' },
      uid: 1000,
      driver: { loaded: true, version: '6.16.13', kernel: '6.8.0' },
      kfd: { present: true, gpuNodes: 1, processes: 2 },
      processes: { seen: 5, denied: 7, clients: 1, state: 'ok' },
      hsmpSockets: 0,
      places: [],
      unbound: [],
      silent: [],
      cards: [{ ...card, kfd: true, readMs: 1, values: 10, groups: [group] }],
      lanes: { lanes: 1, stuck: [], splits: 0 },
    };
    const text = renderDoctor(report);
    expect(text).toContain('num_inst: denied, this user may not read it; lost: a, b, c and 1 more');
    expect(text).toContain('7 processes of other users are closed to us');
    expect(text).toContain('as user 1000');
  });
});

describe('what an actuator would need', () => {
  async function needs(prepare: () => void = () => {}): Promise<{ text: string; checks: Record<string, string> }> {
    write();
    prepare();
    const paths = { sysfs: join(dir, 'sys'), procfs: join(dir, 'proc') };
    const log = createLog({ level: 'error', destination: { write: () => {} } });
    const actuator = { ledger: join(dir, 'state/ledger.db'), rules: join(dir, 'rules'), tokenFile: join(dir, 'token') };
    const report = await examine({ paths, log, laneDeadlineMs: 5_000, actuator });
    const checks = Object.fromEntries(
      report.actuator?.checks.map(({ what, verdict, state }) => [what, `${verdict}: ${state}`]) ?? [],
    );
    return { text: renderDoctor(report), checks };
  }

  it('every knob of a card that may be written is armed, with its range', async () => {
    const { text } = await needs();
    expect(text).toMatch(/Actuator\n[\s\S]*GPU 0, 1\n +power cap +armed +from \d+ W to 750 W\n/);
  }, 30_000);

  it('one that the driver does not show is not, and why', async () => {
    const { text } = await needs(() => {
      for (const { pci } of describeNode({ model: 'mi300x', cards: 2 }).gpus)
        rmSync(join(deviceDir(pci), 'pp_od_clk_voltage'));
    });
    expect(text).toMatch(/graphics clock +not armed +no_file: the driver shows no such file here/);
  }, 30_000);

  it('what is not there is no fault, where nothing is to act here', async () => {
    const { checks } = await needs(() => writeFileSync(join(dir, 'token'), `${'a'.repeat(32)}\n`, { mode: 0o600 }));
    expect(checks).toMatchObject({
      'host lock': expect.stringMatching(/^well: free/),
      ledger: expect.stringMatching(/^missing: its folder/),
      rules: expect.stringMatching(/^missing: /),
      'token file': expect.stringMatching(/^well: .*1 token$/),
    });
  }, 30_000);

  it('what is wrong is told with its hint', async () => {
    const { checks } = await needs(() => {
      mkdirSync(join(dir, 'state'));
      writeFileSync(join(dir, 'state/ledger.db'), 'x'.repeat(8_192));
      mkdirSync(join(dir, 'rules'));
      writeFileSync(join(dir, 'rules/a.yaml'), 'version: 1\npolicies: 3\n');
      writeFileSync(join(dir, 'token'), 'short\n', { mode: 0o644 });
    });
    expect(checks).toMatchObject({
      ledger: expect.stringMatching(/^bad: LEDGER_BROKEN.*revert --offline/),
      rules: expect.stringMatching(/^bad: .* errors, see nightshift check/),
      'token file': expect.stringMatching(/^bad: .*open to every user/),
    });
  }, 30_000);

  it('a ledger that a dead actuator left with settings on cards is told, and how to give them back', async () => {
    const { checks } = await needs(() => {
      mkdirSync(join(dir, 'state'));
      const ledger = openLedger(join(dir, 'state/ledger.db'), { now: () => 1 });
      const knob = { on: '0000:05:00.0', knob: 'power_cap', found: 750, wrote: 600, state: 'settled' } as const;
      ledger.commit([{ put: 'knob', knob: { ...knob, attempts: 0, notBefore: 0, at: 1 } }]);
      ledger.close();
    });
    expect(checks.ledger).toMatch(
      /^bad: .*1 settings on cards of an actuator that does not run: nightshift revert --offline/,
    );
  }, 30_000);
});
