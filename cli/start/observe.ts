import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { type Daemon, startOrRelease } from '../../base/app.ts';
import { describe } from '../../base/errors.ts';
import { createLog } from '../../base/log.ts';
import { type ActuatorFlags, flags } from '../actuator.ts';
import type { ExporterFlags } from '../exporter.ts';
import { startActuator } from '../run-actuator.ts';

export interface Observed {
  exporter: ExporterFlags;
  /** Address of the actuator. */
  listen: string;
  /** URL of the exporter. */
  url: string;
}

/**
 * Starts an actuator with `--enforce=false` on this machine's own cards, where its rules and the folder of its ledger are
 * there. Where they are not, or it cannot be started, that is logged, and the exporter goes on alone.
 */
export async function observe({ exporter, listen, url }: Observed, daemon: Daemon): Promise<void> {
  const log = createLog({ level: exporter['log.level'], format: exporter['log.format'] });
  const command = new Command();
  flags.addTo(command);
  const given: ActuatorFlags = {
    ...flags.read(command),
    enforce: false,
    'web.listen-address': [listen],
    // The link does not speak TLS; without it the actuator's own numbers of cards have to do.
    'exporter.url': url.startsWith('https:') ? undefined : url,
    'node.name': exporter['node.name'],
    'log.level': exporter['log.level'],
    'log.format': exporter['log.format'],
  };
  const missing = missingOf(given);
  if (missing !== undefined) {
    log.info(`the exporter runs alone: ${missing}, which an actuator needs`);
    return;
  }
  try {
    const life = await startOrRelease((own) => startActuator(given, log, { ...daemon, life: own }));
    daemon.life.add('actuator', () => life.release());
    log.info({ listen }, 'an actuator runs beside the exporter and writes nothing (--enforce=false)');
  } catch (error) {
    log.warn(`the exporter runs alone: ${describe(error)}`);
  }
}

function missingOf({ rules, ledger }: ActuatorFlags): string | undefined {
  const folder = dirname(ledger);
  if (!may(rules, constants.R_OK)) return `${rules} is not there, or not readable`;
  return may(folder, constants.W_OK | constants.X_OK) ? undefined : `${folder} is not there, or not writable`;
}

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
