/**
 * executor PORT SYSFS WATTS BEFORE: a receiver of Alertmanager's webhook that starts a shell for each alert, as receivers do
 * that run a command. It keeps nothing, reads nothing first and nothing after: below this no receiver of its kind can be.
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';

const [port, sysfs, watts, before] = process.argv.slice(2);
/** Shells at a time; without a bound a storm would be a thousand of them. */
const MOST = 64;
const SCRIPT = `
case "$AMX_STATUS" in firing) watts=${watts} ;; *) watts=${before} ;; esac
for cap in ${sysfs}/bus/pci/devices/"$AMX_LABEL_pci_address"/hwmon/hwmon*/power1_cap; do
  echo "\${watts}000000" > "$cap"
done`;

const waiting = [];
let running = 0;

function run(alert) {
  return new Promise((resolve) => {
    waiting.push({ alert, resolve });
    next();
  });
}

function next() {
  if (running >= MOST || waiting.length === 0) return;
  const { alert, resolve } = waiting.shift();
  running += 1;
  const env = { PATH: process.env.PATH, AMX_STATUS: alert.status };
  for (const [name, value] of Object.entries(alert.labels)) env[`AMX_LABEL_${name}`] = value;
  spawn('/bin/sh', ['-c', SCRIPT], { env, stdio: 'ignore' }).on('close', (code) => {
    running -= 1;
    resolve(code);
    next();
  });
}

createServer(async (request, response) => {
  if (request.method === 'GET') {
    response.end('Ready\n');
    return;
  }
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const codes = await Promise.all(JSON.parse(Buffer.concat(chunks).toString()).alerts.map(run));
  response.writeHead(codes.every((code) => code === 0) ? 202 : 500).end();
}).listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
