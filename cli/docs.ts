import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { configurationError, environmentError, errnoOf } from '../base/errors.ts';
import { defineFlags } from '../base/flags.ts';
import { FILE_SCHEMAS, renderSchema } from '../rules/language/json-schema.ts';
import { renderMetricsDoc } from './metrics-doc.ts';
import { renderPoliciesDoc, shippedExample } from './policies-doc.ts';

const flags = defineFlags([
  { name: 'check', kind: 'boolean', default: false, help: 'write nothing; fail where a file is not up to date' },
  { name: 'output', kind: 'string', help: 'write the reference of metrics alone, to this file' },
]);

export function docsCommand(command: Command): Command {
  return flags
    .addTo(command.description('write the references and schemas that are made from what the code knows'))
    .action(async () => {
      const { check, output } = flags.read(command);
      for (const [file, text] of await generated(output)) bring(file, text, check);
    });
}

/** Everything that is generated, by file. */
async function generated(output: string | undefined): Promise<[string, string][]> {
  const metrics: [string, string] = [output ?? 'docs/metrics.md', await renderMetricsDoc()];
  if (output !== undefined) return [metrics];
  const schemas = Object.entries(FILE_SCHEMAS).map(([name, schema]): [string, string] => [
    `rules/schema/${name}`,
    renderSchema(schema),
  ]);
  return [metrics, ['docs/policies.md', renderPoliciesDoc(shippedExample())], ...schemas];
}

function bring(file: string, text: string, check: boolean): void {
  const before = readText(file);
  if (check && before !== text) {
    throw configurationError('DOCS_STALE', `${file} is not up to date`, 'Run npm run docs and commit the result.');
  }
  if (!check && before !== text) writeText(file, text);
  process.stdout.write(`${file}: ${check || before === text ? 'up to date' : 'written'}\n`);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function writeText(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    throw environmentError(
      'OUTPUT_UNWRITABLE',
      `${path}: cannot be written (${errnoOf(cause) ?? 'unknown error'})`,
      'Name a file in a folder that exists and that you may write to.',
      { cause },
    );
  }
}
