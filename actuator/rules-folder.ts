import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { MODEL_NAMES } from '../amdgpu/chips.ts';
import { configurationError, environmentError, errnoOf } from '../base/errors.ts';
import { type Loaded, loadRules } from '../rules/language/load.ts';
import type { RuleFile } from '../rules/language/sheet.ts';

/** A larger file is refused by its size when it is loaded; there is no need to read gigabytes for that. */
const MAX_BYTES = 262_145;
/** More files than anybody has rules: a wrong folder was named. */
const MAX_FILES = 5_000;

const isRuleFile = (name: string): boolean => /\.ya?ml$/.test(name);
export const isTestFile = (name: string): boolean => /\.test\.ya?ml$/.test(name);

/**
 * Reads rule files: a file as named, a folder with all `*.yaml` and `*.yml` below it, but for hidden folders and those of
 * packages. Names are kept as given. Links to folders are not followed, links to files are (ConfigMaps are made of them).
 * @throws RULES_NOT_FOUND, RULES_TOO_MANY (configuration), RULES_UNREADABLE (environment)
 */
export function readRules(paths: readonly string[]): RuleFile[] {
  const files = new Map<string, RuleFile>();
  for (const path of paths) {
    for (const file of filesBelow(path)) {
      if (!files.has(file)) files.set(file, { file, text: textOf(file) });
      if (files.size > MAX_FILES) {
        throw configurationError(
          'RULES_TOO_MANY',
          `${path} has more than ${MAX_FILES} YAML files`,
          'Name the folder of the rules.',
        );
      }
    }
  }
  return [...files.values()];
}

/** As loadRules, knowing which cards there are: a mode for one that nobody has heard of is told. */
export function loadRuleFiles(files: readonly RuleFile[]): Loaded {
  return loadRules(files, { models: MODEL_NAMES });
}

function filesBelow(path: string): string[] {
  if (!attempt(path, () => statSync(path)).isDirectory()) return [path];
  const entries = attempt(path, () => readdirSync(path, { withFileTypes: true }));
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const below = join(path, entry.name);
      if (entry.name.startsWith('.') || entry.name === 'node_modules') return [];
      if (entry.isDirectory()) return filesBelow(below);
      return isRuleFile(entry.name) && isFile(below) ? [below] : [];
    });
}

function isFile(path: string): boolean {
  return attempt(path, () => statSync(path)).isFile();
}

function textOf(path: string): string {
  const bytes = attempt(path, () => readFileSync(path));
  return bytes.subarray(0, MAX_BYTES).toString('utf8');
}

function attempt<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno === 'ENOENT' || errno === 'ENOTDIR') {
      throw configurationError('RULES_NOT_FOUND', `${path}: no such file or folder`, 'Name a rules folder or a file.', {
        cause,
      });
    }
    const hint = 'Give this user read access.';
    throw environmentError('RULES_UNREADABLE', `${path}: cannot be read (${errno ?? 'unknown error'})`, hint, {
      cause,
    });
  }
}
