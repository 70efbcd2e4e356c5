import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readRules } from '../../../actuator/rules-folder.ts';
import { called } from '../../../cli/simulated/look-next.ts';
import { demoRules, writeDemoRules } from '../../../cli/simulated/rules.ts';
import { loadRules } from '../../../rules/language/load.ts';
import { folderInMemory } from '../../support/memory.ts';

const SHIPPED = join(import.meta.dirname, '../../../rules');

function demo(alerted: boolean) {
  const dir = folderInMemory('nightshift-rules-');
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeDemoRules(dir, alerted);
  return { dir, ...loadRules(readRules([dir])) };
}

describe('the rules of the demo', () => {
  it.each([true, false])('load without a finding, whether alerts come or not (%s)', (alerted) => {
    const { problems } = demo(alerted);
    // Two policies that cap a hot card are as shipped; nothing else is worth a word at the first sight.
    expect(problems.filter(({ code }) => code !== 'RULE_KNOB_SHARED')).toEqual([]);
  });

  it('act on heat and on what a person calls, and on nothing by the hour', () => {
    const { rules } = demo(true);
    const enforcing = rules?.policies.filter(({ mode }) => mode === 'enforce').map(({ name }) => name);
    expect(enforcing?.sort()).toEqual(['hot-junction', 'hot-memory', 'quiet-by-hand']);
    expect(rules?.policies.flatMap(({ on }) => on).filter(({ source }) => source === 'schedule')).toEqual([]);
  });

  it('wait for the alert where one can come, and look for themselves where none can', () => {
    const onOf = (alerted: boolean) => demo(alerted).rules?.policies.find(({ name }) => name === 'hot-junction')?.on;
    expect(onOf(true)).toMatchObject([{ source: 'alert', name: 'AmdGpuJunctionHot' }]);
    expect(onOf(false)).toEqual([]);
  });

  it('differ from the shipped ones in mode, times and triggers alone', () => {
    const shipped = loadRules(readRules([SHIPPED])).rules;
    const theirs = demo(false).rules;
    const [a, b] = [shipped, theirs].map((rules) => rules?.policies.find(({ name }) => name === 'hot-junction'));
    expect(b?.when?.source).toEqual(a?.when?.source);
    expect(b?.until?.source).toEqual(a?.until?.source);
    expect(b?.do).toEqual(a?.do);
    expect(a?.mode).toBe('dry_run');
    expect(theirs?.thresholds).toEqual(shipped?.thresholds);
  });

  it('say in their head that they are not the shipped files', () => {
    const { dir } = demo(false);
    for (const name of readdirSync(join(dir, 'policies'))) {
      expect(readFileSync(join(dir, 'policies', name), 'utf8')).toMatch(
        /^# The shipped rules as the demo changes them/,
      );
    }
  });

  it('leave out a file of which no policy is left', () => {
    expect(demoRules('version: 1\npolicies:\n  - name: x\n    on: [{ schedule: day }]\n', true)).toBeUndefined();
  });
});

describe('lines to copy', () => {
  it.each([
    ['/usr/bin/nightshift', '/home/ann', 'nightshift'],
    ['/src/app/dist/cli/main.js', '/src/app', 'node dist/cli/main.js'],
    ['/src/app/dist/cli/main.js', '/home/ann', 'node /src/app/dist/cli/main.js'],
    [undefined, '/', 'nightshift'],
  ])('call %s from %s as %s', (script, cwd, expected) => {
    expect(called(script, cwd)).toBe(expected);
  });
});
