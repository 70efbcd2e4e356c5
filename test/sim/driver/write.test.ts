import { describe, expect, it } from 'vitest';
import { writeFile } from '../../../sim/driver/write.ts';
import { type NodeDescription, renderNode } from '../../../sim/tree.ts';
import { idleNode, pathOf, read, write } from './support.ts';
import { ROWS, type Row } from './writes.ts';

const title = ({ on, gpu, after = [], file, text, ends, why }: Row): string => {
  const before = after.map(([, earlier]) => `${earlier.trim()}, `).join('');
  return `${on.model}${gpu ? ` GPU ${gpu}` : ''}: ${before}${JSON.stringify(text.slice(0, 30))} to ${file} ends in ${ends} (${why})`;
};

describe('a write to a control file', () => {
  it('is proved on every model, and by errors of every kind', () => {
    expect(ROWS.length).toBeGreaterThan(50);
    expect(new Set(ROWS.map(({ on }) => on.model)).size).toBe(6);
    expect(new Set(ROWS.map(({ ends }) => ends))).toEqual(new Set(['ok', 'EINVAL', 'EACCES', 'EBUSY', 'ENOENT']));
  });

  it.each(ROWS.map((row) => [title(row), row] as const))('%s', (_title, row) => {
    const node = idleNode(row.on);
    for (const [file, text] of row.after ?? [])
      expect([file, text, write(node, file, text, row.gpu)]).toEqual([file, text, 'ok']);
    const before = structuredClone({ gpus: node.gpus });
    expect(write(node, row.file, row.text, row.gpu)).toBe(row.ends);
    if (row.ends !== 'ok') expect({ gpus: node.gpus }).toEqual(before);
    if (row.shows !== undefined) expect(read(node, row.in ?? row.file, row.gpu)).toBe(row.shows);
  });
});

describe('what a write reports as changed', () => {
  /** All paths that read otherwise after the write, by rendering the whole node twice. */
  const difference = (node: NodeDescription, act: () => void): string[] => {
    const before = renderNode(node);
    act();
    const after = renderNode(node);
    return [...new Set([...before.keys(), ...after.keys()])].filter((path) => {
      const [one, other] = [before.get(path), after.get(path)];
      return JSON.stringify(one) !== JSON.stringify(other);
    });
  };

  it.each(ROWS.filter(({ ends }) => ends === 'ok').map((row) => [title(row), row] as const))(
    'covers %s',
    (_title, row) => {
      const node = idleNode(row.on);
      for (const [file, text] of row.after ?? []) write(node, file, text, row.gpu);
      let changed: string[] = [];
      const really = difference(node, () => {
        const gpu = node.gpus[row.gpu ?? 0];
        const result = gpu && writeFile(node, pathOf(gpu, row.file), row.text);
        changed = result?.ok ? result.changed : ['refused'];
      });
      expect(changed).toEqual(expect.arrayContaining(really));
      const present = renderNode(node);
      expect(changed.filter((path) => !present.has(path) && !really.includes(path))).toEqual([]);
    },
  );
});

describe('the path of a write', () => {
  const node = idleNode({ model: 'mi300x', cards: 2 });
  const gpu = node.gpus[1] as NodeDescription['gpus'][number];

  it.each([
    `sys/class/drm/card${gpu.card}/device/hwmon/hwmon${gpu.hwmon}/power1_cap`,
    `sys/class/drm/renderD${gpu.render}/device/hwmon/hwmon${gpu.hwmon}/power1_cap`,
    `sys/class/hwmon/hwmon${gpu.hwmon}/power1_cap`,
    `sys/bus/pci/devices/${gpu.pci}/hwmon/hwmon${gpu.hwmon}/power1_cap`,
    `sys/bus/pci/drivers/amdgpu/${gpu.pci}/hwmon/hwmon${gpu.hwmon}/power1_cap`,
    `sys/class/hwmon/hwmon${gpu.hwmon}/device/hwmon/hwmon${gpu.hwmon}//./power1_cap`,
    `sys/class/hwmon/hwmon${gpu.hwmon}/../hwmon${gpu.hwmon}/power1_cap`,
  ])('may lead over links: %s', (path) => {
    gpu.settings.cap = 750;
    const result = writeFile(node, path, '400000000');
    expect(result).toEqual({ ok: true, changed: [pathOf(gpu, 'power1_cap')] });
    expect([node.gpus[0]?.settings.cap, gpu.settings.cap]).toEqual([750, 400]);
  });

  it.each([
    '',
    'sys',
    'sys/class/drm',
    '/sys/class/drm/card0/device/power_dpm_state',
    '../sys/class/drm/card0/device/power_dpm_state',
    'sys/../../etc/passwd',
    'sys/class/drm/card99/device/power1_cap',
    'sys/class/drm/card0/device/power_dpm_state/x',
    'etc/passwd',
  ])('that leads to no file of the node is ENOENT: %j', (path) => {
    expect(writeFile(node, path, 'auto')).toEqual({ ok: false, errno: 'ENOENT' });
  });

  it('leads to files of other cores too, which take nothing but what they hold', () => {
    const control = pathOf(gpu, 'power/control');
    expect(writeFile(node, control, 'on\n')).toEqual({ ok: true, changed: [] });
    expect(writeFile(node, control, 'auto\n')).toEqual({ ok: false, errno: 'EPERM' });
    expect(writeFile(node, pathOf(gpu, 'sriov_numvfs'), '8')).toEqual({ ok: false, errno: 'EPERM' });
  });
});

describe('the text of a write', () => {
  it('ends at a NUL, as a C program may send it', () => {
    const node = idleNode({ model: 'mi210', cards: 1 });
    expect(write(node, 'power1_cap', '250000000\0')).toBe('ok');
    expect(node.gpus[0]?.settings.cap).toBe(250);
  });
});
