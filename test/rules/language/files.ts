import { loadRules } from '../../../rules/language/load.ts';
import type { RuleFile } from '../../../rules/language/sheet.ts';

export function file(text: string, name = 'rules.yaml'): RuleFile {
  return { file: name, text };
}

/** `file:line:column CODE` of everything that is found. */
export function findings(files: readonly RuleFile[]): string[] {
  return loadRules(files).problems.map(({ file: name, line, column, code }) => `${name}:${line}:${column} ${code}`);
}

/** A policy in which nothing is wrong but what the test puts into it. */
export function policyWith(own: Readonly<Record<string, string>>): string {
  const keys = {
    name: 'a',
    on: '[{ alert: AmdGpuJunctionHot }]',
    target: 'gpu',
    do: '[{ throttle: { power_cap: 70% } }]',
    limits: '{ gpus: 1 }',
    ...own,
  };
  const lines = Object.entries(keys).map(([key, value]) => `    ${key}: ${value}`);
  return `version: 1\npolicies:\n  - ${lines.join('\n').trimStart()}\n`;
}
