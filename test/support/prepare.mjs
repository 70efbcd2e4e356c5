/**
 * Run before `npm test`: the programs of others that the real tests start. As root on Debian the missing ones are installed;
 * otherwise the command to install them is said and the run ends there. Where all is present it only looks, and says nothing.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { env, exit, getuid } from 'node:process';

/** Debian package → the files or programs whose presence shows it. A name without a slash is looked up on the PATH. */
export const NEEDED = {
  prometheus: ['prometheus', 'promtool'],
  'prometheus-alertmanager': ['prometheus-alertmanager', 'amtool'],
  'prometheus-node-exporter': ['prometheus-node-exporter'],
  'rocm-smi': ['rocm-smi'],
  fuse3: ['fusermount3'],
  python3: ['/usr/bin/python3'],
  'python3-fusepy': ['/usr/lib/python3/dist-packages/fusepy.py'],
  gcc: ['gcc'],
  'libc6-dev': ['/usr/include/stdio.h'],
  openssl: ['openssl'],
  'util-linux': ['unshare'],
};

/** What the packages are for the tests, in words that any distribution understands. */
const IN_WORDS = [
  'prometheus and promtool (prometheus)',
  'alertmanager and amtool (alertmanager)',
  'prometheus-node-exporter (its node_exporter, under that name)',
  'rocm-smi (5.2)',
  'fusermount3 (fuse 3), libfuse 2, and fusepy for /usr/bin/python3',
  'gcc with the C library headers',
  'openssl',
  'unshare (util-linux)',
];

// An ordinary user's PATH often lacks the sbin directories.
const searched = [...(env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin'];

function present(name) {
  if (name.includes('/')) return existsSync(name);
  return searched.some((directory) => {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** fusepy is a module, and outside Debian it has another name and place: there only the interpreter can tell. */
function fusepyElsewhere() {
  return spawnSync('/usr/bin/python3', ['-c', 'import fuse; fuse.FUSE']).status === 0;
}

function isDebian() {
  if (!existsSync('/etc/os-release')) return false;
  const release = readFileSync('/etc/os-release', 'utf8');
  return /^ID(_LIKE)?=.*\bdebian\b/m.test(release) && present('apt-get');
}

export function missingPackages() {
  return Object.entries(NEEDED)
    .filter(([, names]) => !names.every(present))
    .map(([name]) => name);
}

const POLICY = '/usr/sbin/policy-rc.d';

/** Installs with the packages' daemons kept from starting: their ports and data are not the tests' business. */
function install(packages) {
  const ours = !existsSync(POLICY);
  if (ours) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    return [['update'], ['install', '--yes', '--no-install-recommends', ...packages]].every((args) => {
      const quiet = { ...env, DEBIAN_FRONTEND: 'noninteractive' };
      return (
        spawnSync('apt-get', ['-qq', ...args], { stdio: ['ignore', 'inherit', 'inherit'], env: quiet }).status === 0
      );
    });
  } finally {
    if (ours) rmSync(POLICY);
  }
}

function fail(...lines) {
  console.error(lines.join('\n'));
  exit(1);
}

const missing = missingPackages();
if (missing.length > 0 && !isDebian()) {
  const stillMissing = missing.filter((name) => name !== 'python3-fusepy' || !fusepyElsewhere());
  if (stillMissing.length > 0) {
    fail(
      `The tests start programs that are not here (as Debian names them: ${stillMissing.join(' ')}).`,
      'They need:',
      ...IN_WORDS.map((line) => `  ${line}`),
    );
  }
} else if (missing.length > 0) {
  const command = `apt-get install ${missing.join(' ')}`;
  if (getuid?.() !== 0) fail('The tests start programs that are not installed here. As root:', command);
  console.error(`The tests start programs that are not installed here; installing ${missing.join(' ')}.`);
  if (!install(missing)) fail('Installing failed, see above. What was wanted:', command);
  const left = missingPackages();
  if (left.length > 0) fail(`Still missing after the installation: ${left.join(' ')}.`);
}
