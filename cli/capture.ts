import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import { configurationError, environmentError, errnoOf } from '../base/errors.ts';
import { defineFlags } from '../base/flags.ts';
import { untilDone } from './alive.ts';
import { LEFT_OUT } from './capture/allow.ts';
import { maskAll, writeArchive } from './capture/archive.ts';
import { Masker } from './capture/mask.ts';
import { take } from './capture/take.ts';
import type { Content } from './capture/walk.ts';
import { PATH_FLAGS, pathsOf } from './paths.ts';
import { version } from './version.ts';

const flags = defineFlags([
  ...PATH_FLAGS,
  {
    name: 'output',
    kind: 'string',
    help: 'archive to write (default: nightshift-capture-TIME.tar.gz here); never overwritten',
  },
  {
    name: 'with-ras-counts',
    kind: 'boolean',
    default: false,
    help: 'read RAS error counts and XGMI error flags once; each of these reads clears hardware state',
  },
  { name: 'mask-comm', kind: 'boolean', default: false, help: 'mask the names of processes too' },
  {
    name: 'lane.deadline',
    kind: 'duration',
    default: '2s',
    minMs: 10,
    help: 'how long one file may take before its card is left and noted as hung',
  },
]);

export function captureCommand(command: Command): Command {
  return flags
    .addTo(command.description('write a masked copy of all files that this node has of its AMD GPUs, for a bug report'))
    .addHelpText(
      'after',
      `
One .tar.gz with sys/, proc/, FAULTS.tsv (reads that failed) and MANIFEST.json. Serial numbers, unique and hive ids, boot id, host and
user names are replaced by fakes of the same shape; command lines and environments are never read. Nothing is changed, sleeping
cards are not woken. To look at one: nightshift exporter --path.sysfs=DIR/sys

Exit codes: 0 written, 1 the environment (nothing to capture, no room), 2 wrong flags.`,
    )
    .action(async () => {
      const given = flags.read(command);
      const at = new Date();
      const output = given.output ?? `nightshift-capture-${at.toISOString().replace(/[:.]/g, '').slice(0, 15)}Z.tar.gz`;
      const paths = pathsOf(given);
      const taken = await untilDone(() =>
        take({ paths, laneDeadlineMs: given['lane.deadline'], withRasCounts: given['with-ras-counts'] }),
      );
      if (taken.cards === 0 && ![...taken.contents.keys()].some((path) => path.includes('/topology/nodes/'))) {
        throw environmentError('CAPTURE_NOTHING', 'there is no AMD GPU here to capture', 'See nightshift doctor.');
      }
      const masker = new Masker();
      if (paths.sysfs === '/sys') learnNames(masker);
      const contents = maskAll(taken.contents, masker, given['mask-comm']);
      const masked = masker.counts;
      const files = [...contents.values()].filter((content) => 'bytes' in content).length;
      const manifest = {
        format: 1,
        version: version(),
        at: at.toISOString(),
        kernel: kernelOf(contents),
        cards: taken.cards,
        files,
        faults: taken.faults.length,
        masked,
        commMasked: given['mask-comm'],
        rasCounts: given['with-ras-counts'],
        leftOut: LEFT_OUT,
      };
      try {
        const file = await open(output, 'wx', 0o600);
        await untilDone(() => writeArchive({ contents, faults: taken.faults, manifest }, file.createWriteStream()));
      } catch (cause) {
        throw unwritable(output, cause);
      }
      const identities = Object.values(masked).reduce((sum, count) => sum + count, 0);
      process.stdout.write(
        `${output}: ${taken.cards} cards, ${files} files, ${taken.faults.length} reads failed, ` +
          `${identities} identities masked\n`,
      );
    });
}

function kernelOf(contents: ReadonlyMap<string, Content>): string {
  const release = contents.get('proc/sys/kernel/osrelease');
  return release !== undefined && 'bytes' in release ? Buffer.from(release.bytes).toString('latin1').trim() : '';
}

function unwritable(output: string, cause: unknown): unknown {
  const errno = errnoOf(cause);
  if (errno === undefined) return cause;
  if (errno === 'EEXIST') {
    return configurationError('OUTPUT_EXISTS', `${output} is there already`, 'Name another file with --output.', {
      cause,
    });
  }
  return environmentError(
    'OUTPUT_UNWRITABLE',
    `${output}: cannot be written (${errno})`,
    'Name another place with --output.',
    {
      cause,
    },
  );
}

/** Names of this machine and of people on it, which may stand in names of processes and of kernels. */
function learnNames(masker: Masker): void {
  const host = hostname();
  for (const name of [host, host.split('.')[0] ?? '']) if (name !== 'localhost') masker.word('host', name);
  for (const name of userNames()) masker.word('user', name);
}

const FIRST_PERSON = 1000;

function userNames(): string[] {
  const names: string[] = [];
  try {
    const me = userInfo();
    if (me.uid >= FIRST_PERSON) names.push(me.username);
    for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
      const [name = '', , uid] = line.split(':');
      if (Number(uid) >= FIRST_PERSON && name !== 'nobody') names.push(name);
    }
  } catch {
    // Without a list of users there are no names to know.
  }
  return names;
}
