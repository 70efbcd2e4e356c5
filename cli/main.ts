#!/usr/bin/env node
import { Command } from 'commander';
import { describe, exitCode } from '../base/errors.ts';
import { parseCommandLine } from '../base/flags.ts';
import { captureCommand } from './capture.ts';
import { docsCommand } from './docs.ts';
import { doctorCommand } from './doctor.ts';
import { exporterCommand } from './exporter.ts';
import { startCommand } from './start.ts';
import { version } from './version.ts';

const program = new Command('nightshift')
  .description('Sees AMD Instinct (ROCm) GPUs: a Prometheus exporter that reads the kernel, and its tools.')
  .version(version(), '-V, --version', 'print the version')
  .helpCommand('help [command]', 'help for a command')
  .addHelpText(
    'after',
    `
Examples:
  nightshift exporter                                    this machine, on port 9510
  nightshift exporter --path.sysfs=TREE/sys --path.procfs=TREE/proc
                                                         a captured tree
  nightshift doctor                                      what can be read here, and what not

Exit codes: 0 stopped as told, 1 the environment (port in use, no right), 2 the configuration (flag, path, file).`,
  );
exporterCommand(program.command('exporter'));
startCommand(program.command('start'));
doctorCommand(program.command('doctor'));
captureCommand(program.command('capture'));
// Only of use in a checkout of the sources.
docsCommand(program.command('docs', { hidden: true }));

// `nightshift help | head` closes the pipe early; that is no error.
process.stdout.on('error', () => process.exit(0));

try {
  await parseCommandLine(program, process.argv.slice(2));
} catch (error) {
  process.stderr.write(`nightshift: ${describe(error)}\n`);
  process.exitCode = exitCode(error);
}
