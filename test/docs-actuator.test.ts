import { Command } from 'commander';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseAlertMessage } from '../actuator/intake/alertmanager.ts';
import { readRules } from '../actuator/rules-folder.ts';
import { wanted } from '../actuator/triggers.ts';
import { CONTROL_FILES } from '../amdgpu/knobs/shown.ts';
import { flags } from '../cli/actuator.ts';
import type { Book } from '../model/book.ts';
import { CASE_STATES } from '../model/case.ts';
import { DECIDED } from '../model/decision.ts';
import { loadRules } from '../rules/language/load.ts';
import { Served } from './actuator/http/served.ts';
import { COMMANDS, fenced, PAGES, REPOSITORY, readPage as read, rowsOf, section, wordsOf } from './support/pages.ts';

const page = read('docs/actuator.md');
/** Thresholds, windows and modes as they are shipped. */
const tables = readRules([`${REPOSITORY}rules`]).filter(({ file }) => !file.includes('/policies/'));

describe('the page on the actuator', () => {
  it('explains each reason with the outcomes that it can have, and no other', () => {
    const told = rowsOf(section(page, 'Reasons')).flatMap(([reasons, outcomes]) =>
      wordsOf(reasons).flatMap((reason) => wordsOf(outcomes).map((outcome) => `${outcome} ${reason}`)),
    );
    expect(told.sort()).toEqual(DECIDED.map((pair) => pair.join(' ')).sort());
  });

  it('explains each state of a case', () => {
    const told = rowsOf(section(page, 'What a case goes through')).flatMap(([states]) => wordsOf(states));
    expect(told).toEqual(CASE_STATES);
  });

  it('names every word with which a sender is asked to try again', () => {
    const source = read('actuator/http/webhook.ts');
    const types = /export type Accepted = [^;]+;|export type RetryReason = [^;]+;/g;
    const words = (source.match(types) ?? []).flatMap((type) => [...type.matchAll(/'(\w+)'/g)].map(([, word]) => word));
    const row = rowsOf(page.replaceAll(/^\| 503 \|/gm, '| `503` |')).find(([status]) => status === '`503`');
    const reasons = new Set(words.filter((word) => word !== 'queued'));
    expect(reasons.size).toBeGreaterThan(4);
    expect(wordsOf(row?.[1]).sort()).toEqual([...reasons].sort());
  });
});

describe('the alert that is sent by hand', () => {
  const [, url = '', body = ''] =
    /curl .*?http:\/\/127\.0\.0\.1(\S+) --data @- <<'JSON'\n(.*?)\nJSON\n/s.exec(page) ?? [];
  let served: Served;
  afterEach(() => served.stop());

  it('is taken, and the second time renews, as the page says', async () => {
    expect(url).toBe(':9511/v1/alerts');
    const parsed = parseAlertMessage(new TextEncoder().encode(body));
    expect(parsed).toMatchObject({ value: { alerts: [{ status: 'firing' }] } });
    served = await new Served().start();
    const answers = [await served.post(body), await served.post(body)];
    const told = [...page.matchAll(/`(?:202 )?(\{"accepted":[^`]*\})`/g)].map(([, answer]) => answer);
    expect(answers.map((answer) => answer.status)).toEqual([202, 202]);
    expect(answers.map((answer) => answer.body.trim())).toEqual(told);
    expect(served.taken.map(({ phase }) => phase)).toEqual(['open', 'renew']);
  });

  it('is one that a shipped policy waits for', async () => {
    served = await new Served().start();
    await served.post(body);
    const { rules } = loadRules(readRules([`${REPOSITORY}rules`]));
    const book = { rules, triggers: new Map() } as unknown as Book;
    expect(wanted(book, served.taken)).toHaveLength(1);
  });
});

describe('examples of policies', () => {
  const examples = PAGES.flatMap((file) => fenced(read(file), 'yaml').map((text) => ({ file, text }))).filter(
    ({ text }) => 'policies' in parse(text),
  );

  it.each(examples)('in $file load', ({ file, text }) => {
    const { rules, problems } = loadRules([...tables, { file, text }]);
    expect(problems.filter((problem) => problem.file === file)).toEqual([]);
    expect(rules?.policies).toHaveLength(1);
  });

  it('are there', () => {
    expect(examples.map(({ file }) => file)).toEqual(['README.md', 'docs/policies.md']);
  });
});

describe('units and rules for the system', () => {
  const units = ['docs/exporter.md', 'docs/rights.md'].flatMap((file) => fenced(read(file), 'ini'));
  const starts = units.flatMap((unit) => unit.match(/^ExecStart=.*$/gm) ?? []);

  it('start our program by one path, with flags that the command has', () => {
    expect(starts).toHaveLength(3);
    for (const start of starts) {
      const [, command = '', rest = ''] =
        /^ExecStart=\/usr\/bin\/node \/opt\/nightshift\/dist\/cli\/main\.js (\w+)(.*)$/.exec(start) ?? [];
      expect([...COMMANDS.keys()], start).toContain(command);
      for (const flag of rest.match(/--[a-z][a-z.-]*/g) ?? [])
        expect([...(COMMANDS.get(command) ?? [])]).toContain(flag);
    }
  });

  it('undo from the ledger that the actuator’s unit keeps, where people’s commands look for it', () => {
    const { ledger } = flags.read(flags.addTo(new Command()));
    const revert = units.find((unit) => unit.includes('--offline')) ?? '';
    expect(revert).toContain(`--ledger=${ledger}\n`);
    expect(revert).toContain(`ConditionPathExists=${ledger}\n`);
    const actuator = units.find((unit) => unit.includes('main.js actuator')) ?? '';
    expect(actuator).toContain(`StateDirectory=${ledger.split('/').at(-2)}\n`);
    // With a socket elsewhere each command would need to be told where.
    expect(actuator).not.toMatch(/--(control\.socket|ledger)/);
  });

  it('open exactly the files that the actuator writes', () => {
    const [udev = ''] = fenced(read('docs/rights.md'), 'text').filter((text) => text.includes('SUBSYSTEM'));
    const opened = udev.match(/\b(?:power|pp)[a-z0-9]*_[a-z_]+\b/g) ?? [];
    expect([...new Set(opened)].sort()).toEqual(CONTROL_FILES.map((file) => file.replace(/^hwmon\//, '')).sort());
  });
});
