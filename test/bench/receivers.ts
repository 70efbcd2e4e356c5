import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { ALERT, NODE } from './alerts.ts';
import { CLI, type Program, startProgram } from './program.ts';

/** Receivers of alerts that are measured: the actuator as people start it, and one that starts a process for each alert. */

const EXECUTOR = fileURLToPath(new URL('executor.mjs', import.meta.url));

/** What both set: 70 % of the default of an MI300X, and what was there before. W. */
export const CAPPED = 525;
export const FOUND = 750;

/**
 * Acts on the alert where the card is hot by our own reading, which on a node that stands still it always is, and gives back
 * when the alert ends.
 */
const POLICY = `version: 1
policies:
  - name: hot
    mode: enforce
    on: [{ alert: ${ALERT} }]
    target: gpu
    when: { ">=": [{ var: gpu.temperature.junction }, 1] }
    do: [{ throttle: { power_cap: 70% } }]
    until: { "!": [{ known: alert.name }] }
    dwell: 0s
    lease: 1h
    cooldown: 0s
    limits: { percent: 100 }
`;

/** A folder on a disk, where commits have to be durable; a folder in memory would flatter. Goes when this process ends. */
export function folderOnDisk(): string {
  const folder = mkdtempSync('/var/tmp/nightshift-bench-');
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The built actuator with default flags, but for the most acts in a minute, which a bench exceeds. */
export async function startActuator(tree: string, folder: string, flags: readonly string[] = []): Promise<Program> {
  const rules = join(folder, 'rules');
  mkdirSync(rules, { recursive: true });
  writeFileSync(join(rules, 'hot.yaml'), POLICY);
  const program = await startProgram(
    execPath,
    (port) => [
      ...flags,
      ...[
        CLI,
        'actuator',
        `--rules=${rules}`,
        `--ledger=${folder}/ledger.db`,
        `--node.name=${NODE}`,
        '--log.level=error',
      ],
      ...[`--path.sysfs=${tree}/sys`, `--path.procfs=${tree}/proc`, '--limits.acts=1000000'],
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    (body) => body === 'Ready\n',
    { path: '/-/ready' },
  );
  return program;
}

/** A receiver in Node that starts a shell for each alert, which sets the cap of the card that the labels name. */
export function startExecutor(tree: string): Promise<Program> {
  return startProgram(
    execPath,
    (port) => [EXECUTOR, String(port), join(tree, 'sys'), String(CAPPED), String(FOUND)],
    (body) => body === 'Ready\n',
    { path: '/-/ready' },
  );
}
