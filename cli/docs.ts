import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { configurationError, environmentError, errnoOf } from '../base/errors.ts';
import { defineFlags } from '../base/flags.ts';
import { renderMetricsDoc } from './metrics-doc.ts';

const flags = defineFlags([
  { name: 'check', kind: 'boolean', default: false, help: 'write nothing; fail where the file is not up to date' },
  { name: 'output', kind: 'string', default: 'docs/metrics.md', help: 'file to write' },
]);

export function docsCommand(command: Command): Command {
  return flags
    .addTo(command.description('write the reference of all metrics, made from what the code knows of them'))
    .action(async () => {
      const { check, output } = flags.read(command);
      const text = await renderMetricsDoc();
      const before = readText(output);
      if (check && before !== text) {
        throw configurationError(
          'DOCS_STALE',
          `${output} is not up to date`,
          'Run npm run docs and commit the result.',
        );
      }
      if (!check && before !== text) writeText(output, text);
      process.stdout.write(`${output}: ${check || before === text ? 'up to date' : 'written'}\n`);
    });
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
