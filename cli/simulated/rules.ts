import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';

/** The shipped rules, as far as they may act on cards that do not exist and in minutes instead of nights. */

/** Where the shipped files lie, seen from the sources and from dist/. */
const PLACES = ['../../rules/', '../../../rules/'].map((place) => fileURLToPath(new URL(place, import.meta.url)));

/** Policies by heat, and the one that a person calls; times are the demo's, which a person waits for. */
const ACTING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'hot-junction': { dwell: '3s', cooldown: '15s' },
  'hot-memory': { dwell: '5s', cooldown: '30s' },
  'quiet-by-hand': { cooldown: '5s' },
};

const MODE_BY_HAND = 'eco';

/**
 * Writes the shipped rules into a folder, with `mode: enforce` for heat and for what a person calls. What goes by the hour is
 * left out: the node has its own. Where no Alertmanager will tell alerts, hot-junction has no `on`, and acts on two readings of
 * its own; hot-memory then stays as it is shipped, for two that look by themselves at one cap are one too many.
 */
export function writeDemoRules(dir: string, alerted: boolean): void {
  const from = PLACES.find((place) => existsSync(join(place, 'thresholds.yaml'))) ?? (PLACES[0] as string);
  for (const name of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
    // Windows are for policies by the hour alone.
    if (!/^(policies\/)?[\w-]+\.yaml$/.test(name) || name === 'windows.yaml') continue;
    const text = demoRules(readFileSync(join(from, name), 'utf8'), alerted);
    if (text === undefined) continue;
    const to = join(dir, name);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, text);
  }
}

/** One rules file as the demo has it, with those modes that are used; undefined is one of which no policy is left. */
export function demoRules(text: string, alerted: boolean): string | undefined {
  const document = parseDocument(text);
  const policies = document.get('policies') as YAMLSeq<YAMLMap> | undefined;
  if (policies === undefined) {
    const modes = document.get('modes') as YAMLMap | undefined;
    if (modes !== undefined) modes.items = modes.items.filter(({ key }) => String(key) === MODE_BY_HAND);
    return document.toString({ lineWidth: 0 });
  }
  policies.items = policies.items.filter((policy) => !sourcesOf(policy).includes('schedule'));
  if (policies.items.length === 0) return undefined;
  for (const policy of policies.items) {
    const acting = ACTING[nameOf(policy)];
    if (acting === undefined || (!alerted && nameOf(policy) === 'hot-memory')) continue;
    policy.set('mode', 'enforce');
    for (const [key, value] of Object.entries(acting)) policy.set(key, value);
    if (!alerted && sourcesOf(policy).includes('alert')) policy.delete('on');
  }
  // The head of a shipped file speaks of the file as it is shipped.
  document.commentBefore =
    ' The shipped rules as the demo changes them: which policies, mode, waiting times, and where no alerts come, `on`.';
  return document.toString({ lineWidth: 0 });
}

const nameOf = (policy: YAMLMap): string => String(policy.get('name'));

function sourcesOf(policy: YAMLMap): string[] {
  const on = policy.get('on') as YAMLSeq<YAMLMap> | undefined;
  return (on?.items ?? []).flatMap(({ items }) => items.map(({ key }) => String(key)));
}
