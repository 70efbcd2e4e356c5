import { createReadStream, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { execa } from 'execa';
import { extract } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeNode, writeTree } from '../../sim/tree.ts';
import { hardwareOnly, startExporter } from '../support/exporter.ts';
import { folderInMemory } from '../support/memory.ts';

const MAIN = join(import.meta.dirname, '../../dist/cli/main.js');
const PATIENCE = 60_000;
let dir: string;

beforeEach(() => {
  dir = folderInMemory('nightshift-capture-');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const nightshift = (...args: string[]) => execa('node', [MAIN, ...args], { cwd: dir, reject: false });

async function unpack(archive: string, to: string): Promise<void> {
  const tar = extract();
  tar.on('entry', (header, stream, next) => {
    const path = join(to, header.name);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk) => {
      chunks.push(chunk as Buffer);
    });
    stream.on('end', () => {
      mkdirSync(header.type === 'directory' ? path : dirname(path), { recursive: true });
      if (header.type === 'symlink') symlinkSync(header.linkname ?? '', path);
      else if (header.type === 'file') writeFileSync(path, Buffer.concat(chunks));
      next();
    });
  });
  await pipeline(createReadStream(archive), createGunzip(), tar);
}

async function scrapeOf(tree: string): Promise<string> {
  const running = await startExporter(tree);
  try {
    return hardwareOnly(await running.settled());
  } finally {
    running.close();
  }
}

/** Identities differ, and how often a read failed is not the card's business. */
const comparable = (text: string): string[] =>
  text
    .replace(/(unique_id|serial|hive|device_id)="[^"]*"/g, '$1="…"')
    .split('\n')
    .filter((line) => !/amdgpu_(read_errors_total|xgmi_errors_seen_total|ras_errors_total)\b/.test(line));

describe('nightshift capture', () => {
  it.each([
    { model: 'mi300x', cards: 2 },
    { model: 'mi300x', cards: 1, partition: 'cpx' },
    { model: 'mi250x', cards: 1 },
  ] as const)(
    'of %o makes a tree that says the same, with nobody’s identity in it',
    async (options) => {
      const tree = join(dir, 'tree');
      const node = describeNode({ ...options, outOfTree: '6.16.13' });
      writeTree(tree, node);
      const { stdout, exitCode } = await nightshift('capture', `--path.sysfs=${tree}/sys`, '--output=c.tar.gz');
      expect(stdout).toMatch(/^c\.tar\.gz: \d cards, \d+ files, 0 reads failed, \d+ identities masked$/);
      expect(exitCode).toBe(0);
      await unpack(join(dir, 'c.tar.gz'), dir);
      const taken = join(dir, 'nightshift-capture');
      const manifest = JSON.parse(readFileSync(join(taken, 'MANIFEST.json'), 'utf8'));
      expect(manifest).toMatchObject({
        cards: node.gpus.length,
        rasCounts: false,
        masked: { serial: node.gpus.length },
      });

      const secrets = node.gpus.flatMap((gpu) => [
        gpu.serial,
        gpu.uniqueId.toString(16),
        gpu.uniqueId.toString(),
        gpu.hive.id.toString(16),
        gpu.hive.id.toString(),
      ]);
      const leaks: string[] = [];
      for (const file of readdirSync(taken, { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        const text = readFileSync(join(file.parentPath, file.name), 'latin1');
        for (const secret of secrets.filter((one) => one.length >= 8))
          if (text.includes(secret)) leaks.push(`${file.name}: ${secret}`);
        if (/^(cmdline|environ)$|_err_count$/.test(file.name)) leaks.push(file.name);
      }
      expect(leaks).toEqual([]);

      const [before, after] = [await scrapeOf(tree), await scrapeOf(taken)];
      expect(comparable(before).length).toBeGreaterThan(200);
      expect(comparable(after)).toEqual(comparable(before));
    },
    PATIENCE,
  );

  it(
    'keeps cards apart and their joins together',
    async () => {
      const tree = join(dir, 'tree');
      writeTree(tree, describeNode({ model: 'mi300x', cards: 2 }));
      await nightshift('capture', `--path.sysfs=${tree}/sys`, '--output=c.tar.gz');
      await unpack(join(dir, 'c.tar.gz'), dir);
      const text = await scrapeOf(join(dir, 'nightshift-capture'));
      const ids = [...text.matchAll(/^amdgpu_info\{gpu="(\d)".*?unique_id="([0-9a-f]{16})"/gm)];
      expect(ids).toHaveLength(2);
      expect(new Set(ids.map(([, , id]) => id)).size).toBe(2);
      for (const [, gpu, id] of ids)
        expect(text).toMatch(new RegExp(`^amdgpu_partition_info\\{gpu="${gpu}".*unique_id="${id}"`, 'm'));
    },
    PATIENCE,
  );

  it(
    'takes RAS counts only where asked',
    async () => {
      const tree = join(dir, 'tree');
      writeTree(tree, describeNode({ model: 'mi300x', cards: 1 }));
      await nightshift('capture', `--path.sysfs=${tree}/sys`, '--output=c.tar.gz', '--with-ras-counts');
      await unpack(join(dir, 'c.tar.gz'), dir);
      // With types: a listing by names alone follows links, and these lead in circles.
      const entries = readdirSync(join(dir, 'nightshift-capture'), { recursive: true, withFileTypes: true });
      const files = entries.map(({ name }) => name);
      expect(files.filter((file) => file === 'umc_err_count')).toHaveLength(1);
      expect(files.filter((file) => file === 'pcie_bw')).toEqual([]);
    },
    PATIENCE,
  );

  it(
    'goes on past a card that hangs, and says which file it was',
    async () => {
      const tree = join(dir, 'tree');
      writeTree(tree, describeNode({ model: 'mi300x', cards: 2 }));
      // Opening a pipe without a writer blocks in the kernel as a hung card's file does.
      const hung = join(tree, 'sys/bus/pci/devices/0000:05:00.0/mem_busy_percent');
      rmSync(hung);
      await execa('mkfifo', [hung]);
      const { stdout } = await nightshift(
        'capture',
        `--path.sysfs=${tree}/sys`,
        '--output=c.tar.gz',
        '--lane.deadline=1s',
      );
      expect(stdout).toMatch(/2 cards/);
      await unpack(join(dir, 'c.tar.gz'), dir);
      const faults = readFileSync(join(dir, 'nightshift-capture/FAULTS.tsv'), 'utf8').trim().split('\n');
      expect(faults[0]).toBe('path\top\terrno');
      expect(faults[1]).toMatch(/^sys\/devices\/.*0000:05:00\.0\/mem_busy_percent\tread\tTIMEOUT$/);
      expect(faults.slice(1).filter((line) => !line.includes('/0000:05:00.0/'))).toEqual([]);
      expect(faults.slice(2).filter((line) => !line.endsWith('\tUNTRIED'))).toEqual([]);
      const other = readdirSync(join(dir, 'nightshift-capture/sys/bus/pci/devices/0000:26:00.0'));
      expect(other).toContain('mem_busy_percent');
    },
    PATIENCE,
  );

  it(
    'overwrites nothing, and says in one line what stands in its way',
    async () => {
      const tree = join(dir, 'tree');
      writeTree(tree, describeNode({ model: 'mi210', cards: 1 }));
      writeFileSync(join(dir, 'c.tar.gz'), 'mine');
      const there = await nightshift('capture', `--path.sysfs=${tree}/sys`, '--output=c.tar.gz');
      expect(there.stderr).toMatch(/^nightshift: OUTPUT_EXISTS: .*--output\.$/);
      expect(there.exitCode).toBe(2);
      expect(readFileSync(join(dir, 'c.tar.gz'), 'utf8')).toBe('mine');
      const nowhere = await nightshift('capture', `--path.sysfs=${tree}/sys`, '--output=no/such/c.tar.gz');
      expect(nowhere.stderr).toMatch(/^nightshift: OUTPUT_UNWRITABLE: .*ENOENT/);
      expect(nowhere.exitCode).toBe(1);
    },
    PATIENCE,
  );

  it('of a node without cards says so', async () => {
    mkdirSync(join(dir, 'sys'));
    const { stderr, exitCode } = await nightshift('capture', `--path.sysfs=${dir}/sys`);
    expect(stderr).toMatch(/^nightshift: CAPTURE_NOTHING: /);
    expect(exitCode).toBe(1);
  });
});
