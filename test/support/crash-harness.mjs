/**
 * An actuator in a process of its own that can end itself at a named point:
 *
 *   node crash-harness.mjs '{"tree": DIR, "ledger": FILE, "socket": PATH, "rules": TEXT, "node": NAME, "crash": ["after-write", 2]}'
 *
 * It loads all that it needs, says "loaded", and begins when its standard input says so; "ready" when it acts. It is killed, by
 * itself as by others, with SIGKILL: nothing is tidied up, which is what it is for. With "count" it prints every point it passes.
 */
import { createInterface } from 'node:readline';
import { createActuator } from '../../dist/actuator/app.js';
import { openLedger } from '../../dist/actuator/ledger/ledger.js';
import { systemClock } from '../../dist/base/clock.js';
import { createWebServer } from '../../dist/base/http.js';
import { createLog } from '../../dist/base/log.js';
import { loadRules } from '../../dist/rules/language/load.js';

const given = JSON.parse(process.argv[2]);
const say = (line) => process.stdout.write(`${line}\n`);
const [point, times] = given.crash ?? [];
const passed = new Map();

function crashPoint(name) {
  const count = (passed.get(name) ?? 0) + 1;
  passed.set(name, count);
  if (given.count) say(`passed ${name}`);
  if (name === point && count === times) process.kill(process.pid, 'SIGKILL');
}

async function begin() {
  const log = createLog({ level: 'warn', destination: { write: (line) => process.stderr.write(line) } });
  const { rules } = loadRules([{ file: 'rules.yaml', text: given.rules }]);
  const now = () => systemClock.now();
  const actuator = createActuator({
    paths: { sysfs: `${given.tree}/sys`, procfs: `${given.tree}/proc` },
    clock: systemClock,
    log,
    node: given.node,
    version: '0.0.0',
    revision: 'test',
    rules,
    ledger: openLedger(given.ledger, { now, log, waitMs: 10_000 }),
    enforce: true,
    protectedCards: new Set(),
    intervalMs: 100,
    laneDeadlineMs: 2_000,
    acts: { acts: 10_000, perMs: 60_000 },
    failures: { failures: 1_000, perMs: 600_000 },
    crashPoint,
  });
  const server = createWebServer({ app: actuator.app, listen: [`unix:${given.socket}`], log });
  await server.start();
  await actuator.start();
  say('ready');
}

// Without whoever started it, it has no reason to be.
createInterface({ input: process.stdin })
  .once('line', begin)
  .once('close', () => process.exit());
say('loaded');
