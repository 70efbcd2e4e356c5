import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { skipUnless } from '../support/skips.ts';

const PROGRAM = fileURLToPath(new URL('../support/prepare.mjs', import.meta.url));
const prepare = (env: NodeJS.ProcessEnv) => spawnSync(process.execPath, [PROGRAM], { encoding: 'utf8', env });

it('prepare says nothing where every program is there', () => {
  const { status, stdout, stderr } = prepare(process.env);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});

/** A PATH with nothing on it but an apt-get that writes down how it was called. */
function poorPath(): { directory: string; calls: () => string[] } {
  const directory = mkdtempSync(join(tmpdir(), 'prepare-'));
  const log = join(directory, 'calls');
  const script = `#!/bin/sh\necho "$DEBIAN_FRONTEND $*" >> ${log}\ntest -e /usr/sbin/policy-rc.d || echo 'daemons would start' >> ${log}\n`;
  writeFileSync(join(directory, 'apt-get'), script);
  chmodSync(join(directory, 'apt-get'), 0o755);
  return { directory, calls: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []) };
}

it('prepare installs what is missing as root, or says the command and fails', () => {
  skipUnless(existsSync('/etc/debian_version'), 'installing is for Debian and its kin');
  const policyBefore = existsSync('/usr/sbin/policy-rc.d');
  const { directory, calls } = poorPath();
  const { status, stderr } = prepare({ PATH: directory });
  const missing = 'prometheus prometheus-alertmanager prometheus-node-exporter rocm-smi fuse3 gcc openssl util-linux';
  expect(status).toBe(1);
  if (process.getuid?.() === 0) {
    const install = `noninteractive -qq install --yes --no-install-recommends ${missing}`;
    expect(calls()).toEqual(['noninteractive -qq update', install]);
    expect(stderr).toContain(`Still missing after the installation: ${missing}.`);
  } else {
    expect(calls()).toEqual([]);
    expect(stderr.trim().split('\n').at(-1)).toBe(`apt-get install ${missing}`);
  }
  expect(existsSync('/usr/sbin/policy-rc.d')).toBe(policyBefore);
  rmSync(directory, { recursive: true });
});
