import type { Action, Condition, Policy } from '../../model/policy.ts';
import { actionOf, type Path, patternsOf } from './actions.ts';
import type { Tables } from './collect.ts';
import { compileCondition } from './condition.ts';
import { collectMentions, type Mentions, noMentions } from './mentions.ts';
import { DEFAULTS, policy as policySchema, type WrittenDefaults } from './schema.ts';
import { checkPartly, isBlock } from './shape.ts';
import type { Sheet } from './sheet.ts';
import { type LoadedPolicy, type Uses, versionOf } from './version.ts';
import type { Vocabulary } from './vocabulary.ts';

/** What a policy of one file is read against. */
export interface Surroundings {
  sheet: Sheet;
  vocabulary: Vocabulary;
  tables: Tables;
  /** Named conditions of the file, as written. */
  conditions: Readonly<Record<string, unknown>>;
  defaults: Partial<WrittenDefaults>;
  /** Of `time.*`, one for all files. */
  zone: string | undefined;
  /** Collects the named conditions that are used. */
  usedConditions: Set<string>;
}

/** One policy as written, with defaults, units and conditions; undefined where something in it is wrong (and was told). */
export function resolvePolicy(around: Surroundings, path: Path, raw: unknown): LoadedPolicy | undefined {
  const { sheet, tables, defaults } = around;
  const before = sheet.problems.filter(({ severity }) => severity === 'error').length;
  const written = checkPartly(sheet, path, raw, policySchema);
  if (!isBlock(raw)) return undefined;
  const mentions = noMentions();
  const when = compileIn(around, [...path, 'when'], raw.when, mentions);
  const until = compileIn(around, [...path, 'until'], raw.until, mentions);
  const actions = positions(raw.do).map(([i, one]) => actionOf(around, [...path, 'do', i], one));
  const on = positions(raw.on).flatMap(([i, one]) => patternsOf(around, [...path, 'on', i], one));
  if (written.target === 'workload') {
    sheet.add(
      'RULE_TARGET_LATER',
      [...path, 'target'],
      'workloads are not known in this version: the policy will never act',
      'Use target: gpu.',
    );
  }
  if (written.name !== undefined && raw.when === undefined && positions(raw.on).length === 0) {
    const hint = 'Add on (what makes it look), when (what must be true), or both.';
    sheet.add('RULE_KEY_MISSING', path, 'the policy would act always: it has neither on nor when', hint);
  }
  const errors = sheet.problems.filter(({ severity }) => severity === 'error').length;
  // Where a mode is declared and wrong, its own file tells so.
  if (errors > before || actions.includes(undefined)) return undefined;

  const { name = '', description = '', target = 'gpu' } = written;
  const ladders = actions.flatMap((action) => (action?.kind === 'ladder' ? [action.variable] : []));
  for (const ladder of ladders) mentions.variables.add(ladder);
  const loaded: Omit<LoadedPolicy, 'version'> = {
    name,
    description,
    mode: written.mode ?? defaults.mode ?? DEFAULTS.mode,
    on,
    target,
    ...(when === undefined ? {} : { when }),
    forMs: written.for ?? defaults.for ?? DEFAULTS.for,
    do: actions as Action[],
    ...(until === undefined ? {} : { until }),
    dwellMs: written.dwell ?? defaults.dwell ?? DEFAULTS.dwell,
    leaseMs: written.lease ?? defaults.lease ?? DEFAULTS.lease,
    cooldownMs: written.cooldown ?? defaults.cooldown ?? DEFAULTS.cooldown,
    limits: limitsOf(written.limits ?? defaults.limits),
    notify: written.notify ?? defaults.notify ?? [],
    thermal: isThermal(mentions, around.vocabulary),
    at: { file: sheet.file, line: sheet.lineOf(path) },
    uses: usesOf(mentions, tables, around.zone),
  };
  return { ...loaded, version: versionOf(loaded) };
}

function limitsOf(limits: { gpus?: number | undefined; percent?: number | undefined } = {}): Policy['limits'] {
  return {
    ...(limits.gpus === undefined ? {} : { gpus: limits.gpus }),
    ...(limits.percent === undefined ? {} : { percent: limits.percent }),
  };
}

function positions(raw: unknown): [number, unknown][] {
  return Array.isArray(raw) ? [...raw.entries()] : [];
}

/** Compiles a condition, tells its errors in place, and adds what it names to `mentions`. */
export function compileIn(
  around: Surroundings,
  path: Path,
  raw: unknown,
  mentions: Mentions = noMentions(),
): Condition | undefined {
  if (raw === undefined) return undefined;
  const { sheet, vocabulary, conditions, tables } = around;
  const direct = collectMentions(raw);
  spread(direct, conditions, around.usedConditions);
  for (const name of direct.thresholds) tables.thresholds.used.add(name);
  for (const name of direct.windows) tables.windows.used.add(name);
  for (const key of ['variables', 'thresholds', 'windows'] as const)
    for (const one of direct[key]) mentions[key].add(one);
  const { condition, errors } = compileCondition(raw, vocabulary, conditions);
  for (const { code, path: within, message, hint } of errors) {
    // Told where the named condition, the threshold or the window itself is wrong.
    if (code === 'CONDITION_NAMED_INVALID' || isOfBroken(message, tables)) continue;
    const atKey = code === 'CONDITION_OPERATOR_UNKNOWN' || code === 'CONDITION_OPERATOR_REFUSED';
    sheet.addForeign(code, [...path, ...within], message, hint, atKey);
  }
  return condition;
}

/** Adds what the named conditions in it name, and those in them. */
function spread(mentions: Mentions, conditions: Readonly<Record<string, unknown>>, used: Set<string>): void {
  const open = [...mentions.conditions];
  const seen = new Set(open);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    used.add(name);
    if (!Object.hasOwn(conditions, name)) continue;
    const inner = collectMentions(conditions[name]);
    for (const key of ['variables', 'thresholds', 'windows'] as const) {
      for (const one of inner[key]) mentions[key].add(one);
    }
    for (const next of inner.conditions) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(next);
    }
  }
}

function isOfBroken(message: string, { thresholds, windows }: Tables): boolean {
  const broken = [
    ...[...thresholds.declared.keys()]
      .filter((name) => !thresholds.values.has(name))
      .map((name) => `threshold.${name}`),
    ...[...windows.declared.keys()]
      .filter((name) => !windows.values.has(name))
      .flatMap((name) => [`window.${name}`, `"${name}"`]),
  ];
  return broken.some((name) => message.includes(name));
}

function isThermal({ variables }: Mentions, vocabulary: Vocabulary): boolean {
  return [...variables].some((path) => {
    const found = vocabulary.find(path);
    return path.startsWith('gpu.') && 'variable' in found && found.variable.unit === 'celsius';
  });
}

function usesOf({ variables, thresholds, windows }: Mentions, tables: Tables, zone: string | undefined): Uses {
  const taken = <T>(names: Set<string>, values: ReadonlyMap<string, T>): T[] =>
    [...names].sort().flatMap((name) => values.get(name) ?? []);
  const usesTime = [...variables].some((path) => path.startsWith('time.'));
  return {
    thresholds: taken(thresholds, tables.thresholds.values),
    windows: taken(windows, tables.windows.values),
    ...(zone !== undefined && usesTime ? { zone } : {}),
  };
}
