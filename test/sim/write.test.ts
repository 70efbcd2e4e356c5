import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeNode, renderNode, writeTree } from '../../sim/tree.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nightshift-tree-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('writeTree', () => {
  it('writes files and relative links that lead to them', () => {
    const node = describeNode({ model: 'mi210', cards: 1 });
    writeTree(dir, node);
    expect(readFileSync(join(dir, 'sys/class/drm/card0/device/vendor'), 'utf8')).toBe('0x1002\n');
    expect(readlinkSync(join(dir, 'sys/devices/pci0000:00/0000:00:01.1/0000:03:00.0/drm/card0/device'))).toBe(
      '../../../0000:03:00.0',
    );
    for (const [path, entry] of renderNode(node)) {
      if ('link' in entry) expect(readlinkSync(join(dir, path))).toBe(entry.link);
      else expect(readFileSync(join(dir, path)).equals(Buffer.from(entry.content as string))).toBe(true);
    }
    expect(readdirSync(dir).sort()).toEqual(['.simulated-node', 'proc', 'sys']);
  });

  it('writes into a directory that does not exist yet', () => {
    writeTree(join(dir, 'a/b'), describeNode({ model: 'mi100', cards: 1 }));
    expect(existsSync(join(dir, 'a/b/sys/module/amdgpu/initstate'))).toBe(true);
  });

  it('replaces a tree of its own as a whole', () => {
    writeTree(dir, describeNode({ model: 'mi100', cards: 2 }));
    writeTree(dir, describeNode({ model: 'mi100', cards: 1 }));
    expect(existsSync(join(dir, 'sys/class/drm/card1'))).toBe(false);
    expect(existsSync(join(dir, 'sys/class/drm/card0/device/gpu_metrics'))).toBe(true);
  });

  it('refuses a directory that holds anything else, and leaves it as it was', () => {
    writeFileSync(join(dir, 'precious'), 'data');
    expect(() => writeTree(dir, describeNode({ model: 'mi100', cards: 1 }))).toThrow(
      'was not written by the simulator',
    );
    expect(readdirSync(dir)).toEqual(['precious']);
  });

  it("gives files the kernel's modes where asked", () => {
    const device = 'sys/class/drm/card0/device';
    const mode = (name: string): number => lstatSync(join(dir, device, name)).mode & 0o777;
    const node = describeNode({ model: 'mi300x', cards: 1 });
    writeTree(dir, node, { kernelModes: true });
    expect(mode('gpu_busy_percent')).toBe(0o444);
    expect(mode('pp_dpm_sclk') & 0o600).toBe(0o600);
    expect(mode('compute_partition_config/xcc/num_inst')).toBe(0o400);
    writeTree(dir, node);
    expect(mode('gpu_busy_percent') & 0o200).toBe(0o200);
  });
});
