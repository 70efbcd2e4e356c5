import { join } from 'node:path';
import { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ActuatorMetrics, type MetricsOptions } from '../actuator/metrics.ts';
import { readRules } from '../actuator/rules-folder.ts';
import { parseDuration } from '../base/durations.ts';
import { SECTIONS, usersSection } from '../base/webconfig-schema.ts';
import { addExporterFlags, flags as flagsOfExporter } from '../cli/exporter.ts';
import { selfMetrics } from '../cli/metrics-doc.ts';
import { COLLECTORS } from '../exporter/collectors.ts';
import { profilerDocument } from '../exporter/profiler.ts';
import { ALL_QUANTITIES } from '../model/quantities/catalogue.ts';
import { metricName } from '../model/quantities/quantity.ts';
import { loadRules } from '../rules/language/load.ts';
import { EVENT_NAMES, EVENTS, parseEvent, parseScenario, scenarioNames } from '../sim/scenario.ts';
import { COMMANDS, callsIn, fenced, isThere, PAGES, REPOSITORY, readPage as read } from './support/pages.ts';

const flags = new Set([...COMMANDS.values()].flatMap((known) => [...known]));
/** Flags of other programs that pages may name. */
const OTHERS = new Set(
  '--project --config.file --data --system --no-create-home --shell --reload --subsystem-match --action --quiet'.split(
    ' ',
  ),
);
let families: Set<string>;

beforeAll(async () => {
  const { rules } = loadRules(readRules([`${REPOSITORY}rules`]));
  const options = { version: '0', revision: '', lag: { latest: () => undefined, stop() {} }, exporterUp: () => true };
  const actuator = new ActuatorMetrics(options as unknown as MetricsOptions);
  if (rules !== undefined) actuator.know(rules);
  families = new Set([
    ...ALL_QUANTITIES.map(metricName),
    ...(await selfMetrics()).map(({ name }) => name),
    ...actuator.registry.getMetricsAsArray().map(({ name }) => name),
  ]);
});

describe.each(PAGES)('%s', (page) => {
  it('names only flags that exist', () => {
    const named = read(page).match(/(?<![\w-])--[a-z][a-z_.-]*[a-z]/g) ?? [];
    const unknown = named.filter((flag) => !flags.has(flag) && !OTHERS.has(flag) && flag !== '--no-collector');
    expect(unknown).toEqual([]);
  });

  it('calls only commands that exist, each with flags of its own', () => {
    const wrong = callsIn(read(page)).filter(({ command, flags: given }) => {
      if (command === undefined) return true;
      const known = COMMANDS.get(command);
      return given.some((flag) => known?.has(flag) !== true);
    });
    expect(wrong.map(({ line }) => line)).toEqual([]);
  });

  it('names only metrics that exist', () => {
    const named = read(page).match(/\b(?:amdgpu|nightshift)_(?!xcp_|gpu_recover)[a-z0-9_]+[a-z0-9]/g) ?? [];
    expect(named.filter((name) => !families.has(name))).toEqual([]);
  });

  it('links only to files and headings that exist', () => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)];
    const broken = links.filter(([, file, heading]) => {
      const path = file ? [page, '..', file] : [page];
      if (!isThere(...path)) return true;
      return heading !== undefined && !headingsOf(join(...path)).includes(heading);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it('speaks of no file of ours that is not there', () => {
    const named = [
      ...read(page).matchAll(
        /`((?:model|base|amdgpu|linux|rules|exporter|actuator|sim|cli|alerts|docs|test)\/[\w./-]*)`/g,
      ),
    ];
    expect(named.map(([, path]) => path as string).filter((path) => !isThere(path) && !/[A-Z]{4}/.test(path))).toEqual(
      [],
    );
  });
});

/** As GitHub makes links of headings. */
function headingsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('examples', () => {
  it('for Prometheus is YAML that scrapes', () => {
    const [example] = fenced(read('README.md'), 'yaml')
      .map((text) => parse(text))
      .filter(({ scrape_configs }) => scrape_configs);
    expect(example.scrape_configs[0]).toMatchObject({ job_name: 'nightshift-exporter' });
    expect(example.scrape_configs[0].static_configs[0].targets[0]).toMatch(/:9510$/);
  });

  it('of a web configuration has only what we read, and a hash that we take', () => {
    const [example] = fenced(read('docs/exporter.md'), 'yaml').map((text) => parse(text));
    expect(SECTIONS.safeParse(example).success).toBe(true);
    expect(usersSection.safeParse(example.basic_auth_users).success).toBe(true);
  });

  it('of a scenario is one that we read', () => {
    const [example] = fenced(read('docs/simulator.md'), 'yaml');
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
    const [example] = fenced(read('docs/exporter.md'), 'json').map((text) => JSON.parse(text));
    expect(profilerDocument.safeParse(example).success).toBe(true);
  });

  it('of metrics look as they are served', () => {
    const lines = fenced(read('README.md'), 'text').flatMap((text) => text.trim().split('\n'));
    const ours = lines.filter((line) => line.startsWith('amdgpu_'));
    expect(ours.length).toBeGreaterThan(8);
    for (const line of ours) {
      const [, name, labels] = /^([a-z_]+)\{(.*)\} [\d.]+$/.exec(line) ?? [];
      const quantity = ALL_QUANTITIES.find((q) => metricName(q) === name);
      const named = [...(labels ?? '').matchAll(/([a-z_]+)="/g)].map(([, label]) => label);
      expect(named.filter((label) => label !== 'gpu' && !quantity?.labels.includes(label as string))).toEqual([]);
    }
  });

  it('tells each period as the flag has it by default', () => {
    const given: Record<string, unknown> = flagsOfExporter.read(addExporterFlags(new Command()));
    const told = [...read('docs/exporter.md').matchAll(/^\| every (\d+ s) \(`--([a-z.-]+)`/gm)];
    expect(told.length).toBeGreaterThan(2);
    for (const [, period, flag] of told)
      expect(given[flag as string], flag).toBe(parseDuration((period as string).replace(' ', '')));
  });

  it('names the collectors by what they are by default', () => {
    const text = /Each subject is a collector.*?are off/s.exec(read('docs/exporter.md'))?.[0] ?? '';
    for (const { name, byDefault } of COLLECTORS) {
      const [on, off] = text.split(' are on; ');
      expect((byDefault ? on : off)?.includes(name), name).toBe(true);
    }
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
