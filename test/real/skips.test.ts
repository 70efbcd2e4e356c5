import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const HELPER = join(REPOSITORY, 'test/support/skips.ts');

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skips-'));
  mkdirSync(join(root, 'test'));
  symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'));
  const config = {
    test: { reporters: ['default', HELPER], projects: [{ test: { name: 'one', include: ['test/*.test.ts'] } }] },
  };
  writeFileSync(join(root, 'vitest.config.mjs'), `export default ${JSON.stringify(config)};`);
});
afterEach(() => rmSync(root, { recursive: true }));

/** Runs a vitest of its own on these files; its output after the default reporter's summary, and its exit code. */
function run(files: Record<string, string>) {
  for (const [name, body] of Object.entries(files)) {
    const head = `import { beforeAll, beforeEach, describe, expect, it } from 'vitest';\nimport { skipUnless } from '${HELPER}';\n`;
    writeFileSync(join(root, 'test', name), head + body);
  }
  const vitest = join(REPOSITORY, 'node_modules/vitest/vitest.mjs');
  const env = { ...process.env, NO_COLOR: '1', GITHUB_ACTIONS: '', VITEST: '' };
  const { stdout, status } = spawnSync(process.execPath, [vitest, 'run', '--root', root], { encoding: 'utf8', env });
  const summary = stdout.indexOf('Duration');
  expect(summary).toBeGreaterThan(0);
  return {
    status,
    lines: stdout
      .slice(summary)
      .split('\n')
      .slice(1)
      .filter((line) => line !== ''),
  };
}

it('a run without skips ends with the counts, after the summary', () => {
  const { status, lines } = run({ 'a.test.ts': "it('works', () => {});" });
  expect(lines).toEqual(['1 passed, 0 failed, 0 skipped']);
  expect(status).toBe(0);
});

it('a test that passed only when it was tried again is listed with what it met at first', () => {
  const { status, lines } = run({
    'a.test.ts': `
      let tries = 0;
      it('limps', { retry: 1 }, () => expect(++tries).toBe(2));
      it('works', { retry: 1 }, () => {});`,
  });
  expect(lines).toEqual([
    'Passed only when tried again:',
    '  [one] test/a.test.ts > limps',
    expect.stringMatching(/^ {4}at first: .*expected 1 to be 2/),
    '2 passed, 0 failed, 0 skipped',
  ]);
  expect(status).toBe(0);
});

it('every test that did not run is listed with its reason', () => {
  const { status, lines } = run({
    'a.test.ts': `
      it('works', () => {});
      it('asks', () => { skipUnless(true, 'never said'); expect(1).toBe(1); });
      it('lacks', () => { skipUnless(undefined, 'no captures'); throw new Error('not skipped'); });
      it('says', (context) => context.skip('says so'));
      it.skip('forgets', () => {});
      it.todo('waits');
      describe('inside', () => {
        beforeEach(() => skipUnless(false, 'no fuse'));
        it('hangs', () => { throw new Error('not skipped'); });
      });`,
  });
  expect(lines).toEqual([
    'Not run:',
    '  [one] test/a.test.ts > lacks',
    '    skipped: no captures',
    '  [one] test/a.test.ts > says',
    '    skipped: says so',
    '  [one] test/a.test.ts > forgets',
    '    skipped: no reason given',
    '  [one] test/a.test.ts > waits',
    '    skipped: not written yet',
    '  [one] test/a.test.ts > inside > hangs',
    '    skipped: no fuse',
    '2 passed, 0 failed, 5 skipped',
  ]);
  expect(status).toBe(0);
});

it('failures of tests, of hooks, of whole files and outside any test are all failures', () => {
  const { status, lines } = run({
    'a.test.ts': `
      it('works', () => {});
      it('fails', () => { expect(1).toBe(2); });
      describe('broken', () => {
        beforeAll(() => { throw new Error('hook'); });
        it('never starts', () => {});
      });`,
    'b.test.ts': "throw new Error('file');",
    'c.test.ts': "it('leaks', async () => { void Promise.reject(new Error('leak')); });",
  });
  expect(lines.at(-1)).toBe('2 passed, 4 failed, 1 skipped');
  expect(lines).toContain('    skipped: its file or a hook failed');
  expect(status).toBe(1);
});
