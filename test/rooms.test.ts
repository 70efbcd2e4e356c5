// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the sources under test are strings
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { circularImports, forbiddenImports, kernelPaths, processStarters, readSources } from './support/rooms.ts';

const sources = readSources(fileURLToPath(new URL('..', import.meta.url)));
const house = (files: Record<string, string>) => new Map(Object.entries(files));

describe('our own sources', () => {
  it('are found', () => {
    expect([...sources.keys()]).toContain('model/reading.ts');
  });

  it('import only what their room may', () => {
    expect(forbiddenImports(sources)).toEqual([]);
  });

  it('import in no circle', () => {
    expect(circularImports(sources)).toEqual([]);
  });

  it('start processes only where that is the work', () => {
    expect(processStarters(sources)).toEqual([]);
  });

  it('spell paths of /sys and /proc only where the kernel is known', () => {
    expect(kernelPaths(sources)).toEqual([]);
  });
});

describe('the table of rooms', () => {
  it.each([
    ['base/log.ts', '../model/card.ts', 'model/card.ts'],
    ['model/card.ts', '../base/clock.ts', 'base/clock.ts'],
    ['linux/process.ts', '../base/clock.ts', 'base/clock.ts'],
    ['amdgpu/lanes/lane.ts', '../../linux/process.ts', 'linux/process.ts'],
    ['sim/driver.ts', '../amdgpu/knobs/plan.ts', 'amdgpu/knobs/plan.ts'],
    ['sim/driver.ts', '../amdgpu/tables.ts', 'amdgpu/tables.ts'],
    ['exporter/app.ts', '../amdgpu/knobs/probe.ts', 'amdgpu/knobs/probe.ts'],
    ['exporter/app.ts', '../linux/dmem.ts', 'linux/dmem.ts'],
    ['exporter/app.ts', '../sim/tree.ts', 'sim/tree.ts'],
    ['actuator/app.ts', '../exporter/app.ts', 'exporter/app.ts'],
    ['exporter/app.ts', '../actuator/app.ts', 'actuator/app.ts'],
    ['exporter/app.ts', '../cli/main.ts', 'cli/main.ts'],
    ['cli/demo.ts', '../test/support/faultfs.ts', 'test/support/faultfs.ts'],
    ['cli/demo.ts', '../../elsewhere/file.ts', '../elsewhere/file.ts'],
    ['cli/demo.ts', '/opt/file.ts', '/opt/file.ts'],
  ])('forbids %s to import %s', (from, name, to) => {
    expect(forbiddenImports(house({ [from]: `import { x } from '${name}';` }))).toEqual([`${from} imports ${to}`]);
  });

  it.each([
    ['model/card.ts', './reading.ts'],
    ['amdgpu/discover.ts', '../base/errors.ts'],
    ['sim/tree.ts', '../amdgpu/tables/encode.ts'],
    ['exporter/collectors/power.ts', '../../amdgpu/resolve.ts'],
    ['exporter/app.ts', '../linux/process.ts'],
    ['actuator/settings/reconcile.ts', '../../amdgpu/knobs/plan.ts'],
    ['cli/main.ts', '../actuator/app.ts'],
    ['cli/main.ts', '../package.json'],
    ['base/http.ts', 'express'],
  ])('lets %s import %s', (from, name) => {
    expect(forbiddenImports(house({ [from]: `import { x } from '${name}';` }))).toEqual([]);
  });

  it.each([
    "export * from '../exporter/app.ts';",
    "export { start } from '../exporter/app.ts';",
    "import type { App } from '../exporter/app.ts';",
    "import '../exporter/app.ts';",
    "const app = await import('../exporter/app.ts');",
    'const app = await import(`../exporter/app.ts`);',
    "let app: import('../exporter/app.ts').App;",
    "import {\n  start, // the door\n  type App,\n} from '../exporter/app.ts';",
  ])('sees %j', (source) => {
    expect(forbiddenImports(house({ 'actuator/app.ts': source }))).toEqual(['actuator/app.ts imports exporter/app.ts']);
  });
});

describe('circles', () => {
  it('are told once, along their files', () => {
    const circle = {
      'model/c.ts': "import './a.ts';",
      'model/a.ts': "import './b.ts';",
      'model/b.ts': "import './c.ts'; import './d.ts';",
      'model/d.ts': '',
    };
    expect(circularImports(house(circle))).toEqual([['model/a.ts', 'model/b.ts', 'model/c.ts']]);
  });

  it('include a file that imports itself, and two that share a file', () => {
    const two = {
      'model/a.ts': "import './b.ts'; import './a.ts';",
      'model/b.ts': "import { type C } from './c.ts'; export * from './a.ts';",
      'model/c.ts': "import './b.ts';",
    };
    const told = circularImports(house(two)).map((circle) => circle.join(' '));
    expect(told.sort()).toEqual(['model/a.ts', 'model/a.ts model/b.ts', 'model/b.ts model/c.ts']);
  });

  it('are not made by what is imported as type alone, which the table still holds', () => {
    const types = {
      'model/a.ts': "import { b } from './b.ts';",
      'model/b.ts': "import type { A } from './a.ts'; export type { B } from './a.ts';",
    };
    expect(circularImports(house(types))).toEqual([]);
    const source = "import type { App } from '../exporter/app.ts';";
    expect(forbiddenImports(house({ 'actuator/app.ts': source }))).not.toEqual([]);
  });

  it('are not seen in files that two others import', () => {
    const diamond = {
      'model/a.ts': "import './b.ts'; import './c.ts';",
      'model/b.ts': "import './d.ts';",
      'model/c.ts': "import './d.ts';",
    };
    expect(circularImports(house(diamond))).toEqual([]);
  });
});

describe('starting processes', () => {
  it.each(['node:child_process', 'child_process', 'execa', 'node:cluster'])('is seen by %s', (name) => {
    const source = `import { run } from '${name}';`;
    expect(processStarters(house({ 'exporter/app.ts': source }))).toEqual([`exporter/app.ts imports ${name}`]);
    expect(processStarters(house({ 'cli/main.ts': source }))).toEqual([`cli/main.ts imports ${name}`]);
    expect(processStarters(house({ 'cli/demo.ts': source, 'amdgpu/lanes/lane.ts': source }))).toEqual([]);
  });

  it('is seen where the module is loaded by a call', () => {
    const source = "const { fork } = process.getBuiltinModule('node:child_process');";
    expect(processStarters(house({ 'base/app.ts': source }))).toEqual(['base/app.ts imports node:child_process']);
  });
});

describe('paths of the kernel', () => {
  it.each([
    ["const root = '/sys';", '/sys'],
    ["read('/sys/class/drm');", '/sys/class/drm'],
    ['read(`/proc/${pid}/stat`);', '/proc/'],
    ["const half = a / b; read('/proc/self/fd'); // it's", '/proc/self/fd'],
  ])('are seen in %s', (source, path) => {
    expect(kernelPaths(house({ 'exporter/app.ts': source }))).toEqual([`exporter/app.ts spells ${path}`]);
    expect(
      kernelPaths(house({ 'amdgpu/discover.ts': source, 'linux/process.ts': source, 'sim/tree.ts': source })),
    ).toEqual([]);
  });

  it.each([
    "/** below '/sys/class' */",
    "// '/proc/self'",
    "const help = 'below /sys/class/drm';",
    "const p = '/system';",
  ])('are not seen in %s', (source) => {
    expect(kernelPaths(house({ 'exporter/app.ts': source }))).toEqual([]);
  });

  it('are for cli/ the root alone, as default of a flag, and more for capture', () => {
    const source = "const root = '/sys'; const drm = '/sys/class/drm';";
    expect(kernelPaths(house({ 'cli/main.ts': source, 'cli/capture.ts': source }))).toEqual([
      'cli/main.ts spells /sys/class/drm',
    ]);
  });
});
