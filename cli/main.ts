#!/usr/bin/env node
import { Command } from 'commander';
import { describe, exitCode } from '../base/errors.ts';
import { parseCommandLine } from '../base/flags.ts';
import { version } from './version.ts';

const program = new Command('nightshift')
  .description(
    'Sees AMD Instinct (ROCm) GPUs, and limits them as rules say: a Prometheus exporter and an actuator, straight on the kernel.',
  )
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
  nightshift actuator                                    acts as /etc/nightshift/rules say
  nightshift cases                                       what is held now, why, and for how long
  nightshift demo                                        a simulated node, with both at work on it

Exit codes: 0 stopped as told, 1 the environment (port in use, no right), 2 the configuration (flag, path, file).`,
  );
/** Each is loaded when it is asked for: what one of them needs must not slow the start of another. */
const COMMANDS: Readonly<Record<string, () => Promise<(command: Command) => Command>>> = {
  exporter: async () => (await import('./exporter.ts')).exporterCommand,
  actuator: async () => (await import('./actuator.ts')).actuatorCommand,
  cases: async () => (await import('./cases.ts')).casesCommand,
  explain: async () => (await import('./explain.ts')).explainCommand,
  history: async () => (await import('./history.ts')).historyCommand,
  pause: async () => (await import('./pause.ts')).pauseCommand,
  resume: async () => (await import('./resume.ts')).resumeCommand,
  revert: async () => (await import('./revert.ts')).revertCommand,
  trigger: async () => (await import('./trigger.ts')).triggerCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  test: async () => (await import('./test.ts')).testCommand,
  start: async () => (await import('./start.ts')).startCommand,
  demo: async () => (await import('./demo.ts')).demoCommand,
  sim: async () => (await import('./sim.ts')).simCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  capture: async () => (await import('./capture.ts')).captureCommand,
  docs: async () => (await import('./docs.ts')).docsCommand,
};
/** Only of use in a checkout of the sources. */
const HIDDEN = new Set(['docs']);

async function addCommands(asked: string | undefined): Promise<void> {
  const names = asked !== undefined && asked in COMMANDS ? [asked] : Object.keys(COMMANDS);
  for (const name of names) {
    const define = await COMMANDS[name]?.();
    define?.(program.command(name, { hidden: HIDDEN.has(name) }));
  }
}

// `nightshift help | head` closes the pipe early; that is no error.
process.stdout.on('error', () => process.exit(0));

try {
  const argv = process.argv.slice(2);
  await addCommands(argv[0]);
  await parseCommandLine(program, argv);
} catch (error) {
  process.stderr.write(`nightshift: ${describe(error)}\n`);
  process.exitCode = exitCode(error);
}
