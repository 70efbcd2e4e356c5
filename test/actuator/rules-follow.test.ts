import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FollowedRules } from '../../actuator/rules-follow.ts';
import { fakeClock } from '../../base/clock.ts';
import { createLog } from '../../base/log.ts';
import { policyYaml } from './decide/world.ts';

const GOOD = `version: 1\npolicies:\n${policyYaml()}`;

function followed() {
  const base = mkdtempSync(join(tmpdir(), 'rules-follow-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const file = join(base, 'rules.yaml');
  writeFileSync(file, GOOD);
  const clock = fakeClock();
  const told: string[] = [];
  const log = createLog({ destination: { write: () => {} } });
  const rules = new FollowedRules({ path: file, clock, log });
  rules.load();
  rules.follow(
    ({ policies }) => told.push(`taken ${policies.length}`),
    () => told.push('failed'),
  );
  const pass = (): string[] => {
    told.length = 0;
    clock.advance(2_000);
    return [...told];
  };
  return { file, pass };
}

describe('rules that are followed', () => {
  it('are left alone as long as nothing changes, and taken when it does', () => {
    const { file, pass } = followed();
    expect(pass()).toEqual([]);
    writeFileSync(file, GOOD.replace('60', '70'));
    expect(pass()).toEqual(['taken 1']);
    expect(pass()).toEqual([]);
  });

  it('that are wrong fail once, and are taken when they are mended', () => {
    const { file, pass } = followed();
    writeFileSync(file, 'version: 2\n');
    expect(pass()).toEqual(['failed']);
    expect(pass()).toEqual([]);
    writeFileSync(file, GOOD);
    expect(pass()).toEqual(['taken 1']);
  });

  it('that could not be read for a moment are taken again, though they are what they were', () => {
    const { file, pass } = followed();
    renameSync(file, `${file}.away`);
    expect(pass()).toEqual(['failed']);
    renameSync(`${file}.away`, file);
    expect(pass()).toEqual(['taken 1']);
    expect(pass()).toEqual([]);
  });
});
