import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseDocument, type YAMLMap } from 'yaml';

/** The shipped rules, as far as they may act on cards that do not exist and in minutes instead of nights. */

/** Where the shipped files lie, seen from the sources and from dist/. */
const PLACES = ['../../rules/', '../../../rules/'].map((place) => fileURLToPath(new URL(place, import.meta.url)));

/** Policies by heat, and the one that a person calls; times are the demo's, which a person waits for. */
const ACTING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'hot-junction': { dwell: '3s', cooldown: '15s' },
  'hot-memory': { dwell: '5s', cooldown: '30s' },
  'quiet-by-hand': { cooldown: '5s' },
};

/**
 * Writes the shipped rules into a folder, with `mode: enforce` for heat and for what a person calls. What goes by the hour is
 * off: the node has its own. Where no Alertmanager will tell alerts, policies have no `on`, and act on two readings of their own.
 */
export function writeDemoRules(dir: string, alerted: boolean): void {
  const from = PLACES.find((place) => existsSync(join(place, 'thresholds.yaml'))) ?? (PLACES[0] as string);
  for (const name of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
    if (!/^(policies\/)?[\w-]+\.yaml$/.test(name)) continue;
    const to = join(dir, name);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, demoRules(readFileSync(join(from, name), 'utf8'), alerted));
  }
}

/** One rules file as the demo has it; a file without policies stays as it is. */
export function demoRules(text: string, alerted: boolean): string {
  const document = parseDocument(text);
  const policies = document.get('policies') as { items: YAMLMap[] } | undefined;
  if (policies === undefined) return text;
  for (const policy of policies.items) {
    const on = sourcesOf(policy);
    const acting = ACTING[String(policy.get('name'))];
    if (acting !== undefined) {
      policy.set('mode', 'enforce');
      for (const [key, value] of Object.entries(acting)) policy.set(key, value);
    } else if (on.includes('schedule')) policy.set('mode', 'off');
    if (!alerted && on.includes('alert')) policy.delete('on');
  }
  // The head of a shipped file speaks of the file as it is shipped.
  document.commentBefore =
    ' The shipped rules as the demo changes them: mode, waiting times, and where no alerts come, `on`.';
  return document.toString({ lineWidth: 0 });
}

function sourcesOf(policy: YAMLMap): string[] {
  const on = policy.get('on') as { items: YAMLMap[] } | undefined;
  return (on?.items ?? []).flatMap(({ items }) => items.map(({ key }) => String(key)));
}
