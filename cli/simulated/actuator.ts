import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Daemon } from '../../base/app.ts';
import type { Log } from '../../base/log.ts';
import { flags } from '../actuator.ts';
import { startActuator } from '../run-actuator.ts';
import { writeDemoRules } from './rules.ts';

/** The actuator of a simulated node: everything of it lies in the node's folder, and goes with it. */

const PATIENCE_MS = 2_000;

export interface Acting {
  url: string;
  ledger: string;
  rules: string;
}

export interface ActingOptions {
  /** As alerts name it. */
  node: string;
  listen: readonly string[];
  /** An Alertmanager tells it what is hot; without one its policies look for themselves. */
  alerted: boolean;
  /** URL of the exporter. */
  exporter: string;
}

export async function actOn(
  dir: string,
  { node, listen, alerted, exporter }: ActingOptions,
  log: Log,
  daemon: Daemon,
): Promise<Acting> {
  const home = join(dir, 'actuator');
  const rules = join(home, 'rules');
  const ledger = join(home, 'ledger.db');
  mkdirSync(rules, { recursive: true });
  writeDemoRules(rules, alerted);
  const command = new Command();
  flags.addTo(command);
  const running = await startActuator(
    {
      ...flags.read(command),
      rules,
      ledger,
      'path.sysfs': join(dir, 'sys'),
      'path.procfs': join(dir, 'proc'),
      'web.listen-address': [...listen],
      'node.name': node,
      'exporter.url': exporter,
      // The node lives in this very process, which is busy with it at times: that is no card that hangs.
      'lane.deadline': PATIENCE_MS,
    },
    log,
    daemon,
  );
  return { url: (running.addresses[0]?.url ?? '').replace(/\/$/, ''), ledger, rules };
}
