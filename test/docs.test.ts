import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { BASE_CODES } from '../base/codes.ts';
import { SECTIONS, usersSection } from '../base/webconfig-schema.ts';
import { captureCommand } from '../cli/capture.ts';
import { demoCommand } from '../cli/demo.ts';
import { doctorCommand } from '../cli/doctor.ts';
import { exporterCommand } from '../cli/exporter.ts';
import { selfMetrics } from '../cli/metrics-doc.ts';
import { simCommand } from '../cli/sim.ts';
import { startCommand } from '../cli/start.ts';
import { COLLECTORS } from '../exporter/collectors.ts';
import { profilerDocument } from '../exporter/profiler.ts';
import { ALL_QUANTITIES } from '../model/quantities/catalogue.ts';
import { metricName } from '../model/quantities/quantity.ts';
import { REASONS } from '../model/reading.ts';
import { EVENT_NAMES, EVENTS, parseEvent, parseScenario, scenarioNames } from '../sim/scenario.ts';
import { readSources } from './support/rooms.ts';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(join(REPOSITORY, file), 'utf8');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'docs/exporter.md',
  'docs/architecture.md',
  'docs/errors.md',
  'docs/simulator.md',
];

/** Fenced examples of one language. */
const fenced = (file: string, language: string): string[] =>
  [...read(file).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, body]) => body as string);

const flags = new Set(
  [exporterCommand, startCommand, demoCommand, simCommand, doctorCommand, captureCommand].flatMap((make) => {
    const command = make(new Command());
    return [command, ...command.commands].flatMap(({ options }) => options.map((option) => option.long as string));
  }),
);
/** Flags of git, npm, vitest and our own docs command, which pages may name. */
const OTHERS = new Set(['--help', '--check', '--project']);
let families: Set<string>;

beforeAll(async () => {
  families = new Set([...ALL_QUANTITIES.map(metricName), ...(await selfMetrics()).map(({ name }) => name)]);
});

describe.each(PAGES)('%s', (page) => {
  it('names only flags that exist', () => {
    const named = read(page).match(/(?<![\w-])--[a-z][a-z_.-]*[a-z]/g) ?? [];
    const unknown = named.filter((flag) => !flags.has(flag) && !OTHERS.has(flag) && flag !== '--no-collector');
    expect(unknown).toEqual([]);
  });

  it('names only metrics that exist', () => {
    const named = read(page).match(/\bamdgpu_(?!xcp_|gpu_recover)[a-z0-9_]+[a-z0-9]/g) ?? [];
    expect(named.filter((name) => !families.has(name))).toEqual([]);
  });

  it('links only to files that exist', () => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => link as string);
    expect(links.filter((link) => !existsSync(join(REPOSITORY, page, '..', link)))).toEqual([]);
  });

  it('speaks of no file of ours that is not there', () => {
    const named = [...read(page).matchAll(/`((?:model|base|amdgpu|linux|exporter|sim|cli|test)\/[\w./-]*)`/g)];
    expect(
      named
        .map(([, path]) => path as string)
        .filter((path) => !existsSync(join(REPOSITORY, path)) && !/[A-Z]{4}/.test(path)),
    ).toEqual([]);
  });
});

describe('examples', () => {
  it('for Prometheus is YAML that scrapes', () => {
    const [example] = fenced('README.md', 'yaml').map((text) => parse(text));
    expect(example.scrape_configs[0]).toMatchObject({ job_name: 'amdgpu' });
    expect(example.scrape_configs[0].static_configs[0].targets[0]).toMatch(/:9510$/);
  });

  it('of a web configuration has only what we read, and a hash that we take', () => {
    const [example] = fenced('docs/exporter.md', 'yaml').map((text) => parse(text));
    expect(SECTIONS.safeParse(example).success).toBe(true);
    expect(usersSection.safeParse(example.basic_auth_users).success).toBe(true);
  });

  it('of a scenario is one that we read', () => {
    const [example] = fenced('docs/simulator.md', 'yaml');
    expect(parseScenario(example as string, 'docs/simulator.md', 2).timeline).toHaveLength(2);
  });

  it('of events are ones that we take, and each event and scenario stands there', () => {
    const text = read('docs/simulator.md');
    for (const [, words] of text.matchAll(/^\| `[a-z_`, ]+` \| ((?:`[^`]+`(?:, )?)+) \|/gm))
      for (const [, example] of (words as string).matchAll(/`([^`]+)`/g)) {
        const [name, ...args] = (example as string).split(' ');
        if (name !== undefined && name in EVENTS) expect(parseEvent(name, args, 8).event).toBe(name);
      }
    for (const name of EVENT_NAMES) expect(text).toMatch(new RegExp(`^\\|.*\`${name}\``, 'm'));
    for (const name of scenarioNames()) expect(text).toMatch(new RegExp(`^\\| \`${name}\` \\|`, 'm'));
  });

  it('of a profiler’s document is one that we read', () => {
    const [example] = fenced('docs/exporter.md', 'json').map((text) => JSON.parse(text));
    expect(profilerDocument.safeParse(example).success).toBe(true);
  });

  it('of metrics look as they are served', () => {
    const lines = fenced('README.md', 'text').flatMap((text) => text.trim().split('\n'));
    const ours = lines.filter((line) => line.startsWith('amdgpu_'));
    expect(ours.length).toBeGreaterThan(8);
    for (const line of ours) {
      const [, name, labels] = /^([a-z_]+)\{(.*)\} [\d.]+$/.exec(line) ?? [];
      const quantity = ALL_QUANTITIES.find((q) => metricName(q) === name);
      const named = [...(labels ?? '').matchAll(/([a-z_]+)="/g)].map(([, label]) => label);
      expect(named.filter((label) => label !== 'gpu' && !quantity?.labels.includes(label as string))).toEqual([]);
    }
  });

  it('names the collectors by what they are by default', () => {
    const text = /Each subject is a collector.*?are off/s.exec(read('docs/exporter.md'))?.[0] ?? '';
    for (const { name, byDefault } of COLLECTORS) {
      const [on, off] = text.split(' are on; ');
      expect((byDefault ? on : off)?.includes(name), name).toBe(true);
    }
  });
});

describe('docs/errors.md', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `([A-Z_]+)` \| (\w+) \|/gm)];
  const documented = new Map(rows.map(([, code, fault]) => [code as string, fault as string]));
  const raised = new Map<string, string>();
  for (const [, source] of readSources(REPOSITORY)) {
    for (const [, fault, code] of source.matchAll(/\b(configuration|environment|hardware|bug)Error\(\s*'([A-Z_]+)'/g))
      raised.set(code as string, fault as string);
    for (const [, code] of source.matchAll(/code: '([A-Z]+_[A-Z_]+)'/g)) raised.set(code as string, 'configuration');
  }
  for (const [code, { fault }] of Object.entries(BASE_CODES)) raised.set(code, fault);

  it('has every code that we raise, with whose fault it is, in order, and no other', () => {
    expect([...documented].sort()).toEqual([...raised].sort());
    expect([...documented.keys()]).toEqual([...documented.keys()].sort());
  });

  it('explains every reason that a reading may be absent for', () => {
    const reasons = [...read('docs/errors.md').matchAll(/^\| `([a-z]+)` \|/gm)].map(([, reason]) => reason);
    expect(reasons).toEqual([...REASONS].sort());
  });
});

describe('CHANGELOG.md', () => {
  it('begins with the version that package.json has', () => {
    const { version } = JSON.parse(read('package.json'));
    expect(read('CHANGELOG.md')).toMatch(new RegExp(`^## ${version} / \\d{4}-\\d\\d-\\d\\d\\n`));
    const entries = read('CHANGELOG.md')
      .split('\n')
      .filter((line) => line.startsWith('- '));
    expect(entries.filter((line) => !/^- \[(CHANGE|FEATURE|ENHANCEMENT|BUGFIX)\] /.test(line))).toEqual([]);
  });
});
