import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { importsOf, stringsOf } from './source.ts';

/** Folders in which our code lives, and what each may import besides itself: a room, or a folder or file of one. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  base: [],
  amdgpu: ['model', 'base'],
  linux: ['model'],
  // Of the plumbing only what is pure: places in YAML, durations, errors with a code.
  rules: ['model', 'base/yaml.ts', 'base/errors.ts', 'base/codes.ts', 'base/durations.ts', 'base/closest.ts'],
  exporter: ['model', 'base', 'amdgpu', 'linux', 'rules'],
  actuator: ['model', 'base', 'amdgpu', 'linux', 'rules'],
  sim: ['model', 'base', 'amdgpu/tables'],
  cli: ['model', 'base', 'amdgpu', 'linux', 'rules', 'exporter', 'actuator', 'sim'],
};

/** Exceptions to the table: what reads must not be able to write. */
export const MAY_NOT_IMPORT: Readonly<Record<string, readonly string[]>> = {
  exporter: ['amdgpu/knobs', 'linux/dmem.ts'],
};

/** Who may start processes, and the modules that do. */
export const MAY_START_PROCESSES: readonly string[] = [
  'amdgpu/lanes',
  'actuator/procedures/exec.ts',
  'cli/demo.ts',
  'sim/live/children.ts',
];
const STARTS_PROCESSES = ['child_process', 'cluster', 'execa'];

/** Who may spell paths of /sys and /proc; a flag's default in cli/ is the root alone. */
export const MAY_SPELL_KERNEL_PATHS: readonly string[] = ['amdgpu', 'linux', 'sim', 'cli/capture', 'cli/capture.ts'];
const MAY_SPELL_KERNEL_ROOTS = ['cli'];

/** Files by path relative to the repository, e.g. `model/card.ts`, with their text. */
export type Sources = ReadonlyMap<string, string>;

/** Every TypeScript file of the rooms that exist. */
export function readSources(repository: string): Map<string, string> {
  const present = readdirSync(repository, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const rooms = present.map(({ name }) => name).filter((name) => name in MAY_IMPORT);
  const files = rooms.flatMap((room) =>
    readdirSync(join(repository, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.[cm]?tsx?$/.test(file))
      .map((file) => join(room, file)),
  );
  return new Map(files.sort().map((file) => [file, readFileSync(join(repository, file), 'utf8')]));
}

/** Breaches of the table, one sentence each. */
export function forbiddenImports(sources: Sources): string[] {
  return edges(sources)
    .filter(({ from, to }) => !mayImport(from, to))
    .map(({ from, to }) => `${from} imports ${to}`);
}

function mayImport(from: string, to: string): boolean {
  const room = roomOf(from);
  if (within(to, MAY_NOT_IMPORT[room] ?? [])) return false;
  return within(to, [room, ...(MAY_IMPORT[room] ?? [])]) || to === 'package.json';
}

/**
 * Each circle once, as the files along it, beginning with the first by name. What is imported as type alone makes no circle:
 * it is gone when the files are loaded, and a loader is whom circles hurt.
 */
export function circularImports(sources: Sources): string[][] {
  const imports = new Map<string, string[]>();
  for (const { from, to, typeOnly } of edges(sources)) {
    if (typeOnly) continue;
    imports.set(from, [...(imports.get(from) ?? []), to]);
  }
  const circles = new Map<string, string[]>();
  const done = new Set<string>();
  const visit = (file: string, trail: string[]): void => {
    const start = trail.indexOf(file);
    if (start >= 0) {
      const circle = startingWithFirst(trail.slice(start));
      circles.set(circle.join(), circle);
      return;
    }
    if (done.has(file)) return;
    for (const next of imports.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return [...circles.values()];
}

function startingWithFirst(circle: string[]): string[] {
  const start = circle.indexOf([...circle].sort()[0]!);
  return [...circle.slice(start), ...circle.slice(0, start)];
}

/** Files that import what starts processes and may not. */
export function processStarters(sources: Sources): string[] {
  return [...sources].flatMap(([file, source]) => {
    if (within(file, MAY_START_PROCESSES)) return [];
    const starters = importsOf(source).map(({ module }) => module);
    return starters
      .filter((name) => STARTS_PROCESSES.includes(name.replace(/^node:/, '')))
      .map((name) => `${file} imports ${name}`);
  });
}

/** Strings that begin like a path of the kernel, in files that may not know one. */
export function kernelPaths(sources: Sources): string[] {
  return [...sources].flatMap(([file, source]) => {
    if (within(file, MAY_SPELL_KERNEL_PATHS)) return [];
    const rootsToo = !within(file, MAY_SPELL_KERNEL_ROOTS);
    const spelled = stringsOf(source).filter((text) => /^\/(?:sys|proc)(?:\/|$)/.test(text));
    return spelled.filter((text) => rootsToo || text.split('/').length > 2).map((text) => `${file} spells ${text}`);
  });
}

interface Edge {
  from: string;
  /** A name that leads out of the repository is kept as it is, so that the table refuses it. */
  to: string;
  typeOnly: boolean;
}

/** Imports between our own files. */
function edges(sources: Sources): Edge[] {
  return [...sources].flatMap(([from, source]) =>
    importsOf(source)
      .filter(({ module }) => module.startsWith('.') || module.startsWith('/'))
      .map(({ module, typeOnly }) => {
        const to = module.startsWith('/') ? module : normalize(join(dirname(from), module));
        return { from, to, typeOnly };
      }),
  );
}

const roomOf = (file: string): string => file.split('/')[0]!;

/** The file is one of these, or lies in one of these folders. */
function within(file: string, places: readonly string[]): boolean {
  return places.some((place) => file === place || file.startsWith(`${place}/`));
}
