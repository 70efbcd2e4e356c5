import { chmodSync, copyFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFile } from '../../../actuator/ledger/open.ts';
import { PRUNE_BATCH } from '../../../actuator/ledger/prune.ts';
import type { CaseState } from '../../../model/case.ts';
import type { Change } from '../../../model/decision.ts';
import { aCase, aDecision, aKnob, anEntry, aTrigger, GPU, NOW, opened, scratch } from './samples.ts';

const DAY = 86_400_000;
const fresh = () => opened(join(scratch(), 'ledger.db'));

describe('a commit', () => {
  it.each([
    ['a knob value that is not a number', { put: 'knob', knob: aKnob({ wrote: Number.NaN }) }],
    ['a lease without end', { put: 'case', case: aCase('c', { deadline: Number.POSITIVE_INFINITY }) }],
    ['an instant of history that is none', { add: 'history', entry: anEntry({ at: Number.NaN }) }],
  ] as [string, Change][])('with %s is refused whole, and the next one is taken', (_why, bad) => {
    const ledger = fresh();
    expect(() => ledger.commit([...aDecision('one'), bad])).toThrow();
    expect(ledger.load().cases.size).toBe(0);
    expect(ledger.history()).toEqual([]);
    ledger.commit(aDecision('two'));
    expect([...ledger.load().cases.keys()]).toEqual(['two']);
  });

  it('does not fail because of what the audit tells', () => {
    const ledger = fresh();
    ledger.commit([
      { add: 'history', entry: anEntry({ detail: { ratio: Number.NaN, raw: 2n ** 64n, gone: undefined } }) },
    ]);
    expect(ledger.history()[0]?.detail).toEqual({ ratio: 'NaN', raw: '18446744073709551616' });
  });

  it.each([
    ['removed', (file: string) => rmSync(file)],
    ['replaced', (file: string) => copyFileSync(file, `${file}.copy`) ?? renameSync(`${file}.copy`, file)],
  ])('is refused where the file was %s meanwhile, for nobody would find it', (_what, lose) => {
    const file = join(scratch(), 'ledger.db');
    const ledger = opened(file);
    ledger.commit(aDecision('one'));
    lose(file);
    expect(() => ledger.commit(aDecision('two'))).toThrow('it was removed or replaced while in use');
    expect([...ledger.load().cases.keys()]).toEqual(['one']);
  });

  it('of nothing does nothing', () => {
    const ledger = fresh();
    const before = ledger.size();
    ledger.commit([]);
    expect(ledger.size()).toBe(before);
  });
});

describe('the file', () => {
  it('is readable by its owner alone, its log too, also where it was wider', () => {
    const file = join(scratch(), 'ledger.db');
    opened(file).close();
    chmodSync(file, 0o664);
    const ledger = opened(file);
    ledger.commit(aDecision('one'));
    expect([file, `${file}-wal`].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
  });

  it('is written through to the disk at every commit, and held by one', () => {
    const sql = openFile(join(scratch(), 'ledger.db'), { readOnly: false, waitMs: 0 });
    const modes = ['journal_mode', 'synchronous', 'locking_mode'].map((name) => sql.value(`PRAGMA ${name}`));
    sql.close();
    // 2 is FULL: the log is synced before a commit returns.
    expect(modes).toEqual(['wal', 2, 'exclusive']);
  });

  it('is one file when it is closed, and is free at once', () => {
    const folder = scratch();
    const file = join(folder, 'ledger.db');
    const ledger = opened(file);
    ledger.commit(aDecision('one'));
    ledger.history();
    ledger.close();
    expect(readdirSync(folder)).toEqual(['ledger.db']);
    expect(opened(file).load().cases.size).toBe(1);
  });

  it('does not grow by what is written again and again', () => {
    const ledger = fresh();
    const padding = 'x'.repeat(20_000);
    let largest = 0;
    for (let i = 0; i < 600; i++) {
      ledger.commit([{ put: 'knob', knob: aKnob({ detail: `${i}${padding}` }) }]);
      largest = Math.max(largest, ledger.size());
    }
    expect(largest).toBeLessThan(6 << 20);
  });

  it('is held against a second opening, for reading too', () => {
    const file = join(scratch(), 'ledger.db');
    opened(file).commit(aDecision('one'));
    for (const readOnly of [false, true]) {
      expect(() => opened(file, { readOnly })).toThrow(expect.objectContaining({ code: 'LEDGER_LOCKED' }));
    }
  });

  it('can be read, and not changed, by one who asks for no more', () => {
    const file = join(scratch(), 'a #1?.db');
    const ledger = opened(file);
    ledger.commit(aDecision('one'));
    ledger.close();
    const before = statSync(file).mtimeMs;
    const reader = opened(file, { readOnly: true });
    expect(reader.load().cases.size).toBe(1);
    const refused = expect.objectContaining({ code: 'LEDGER_READ_ONLY' });
    expect(() => reader.commit(aDecision('two'))).toThrow(refused);
    expect(() => reader.prune(NOW)).toThrow(refused);
    reader.close();
    expect(statSync(file).mtimeMs).toBe(before);
  });

  it('is not made by a reader', () => {
    const folder = scratch();
    const missing = expect.objectContaining({ code: 'LEDGER_MISSING' });
    expect(() => opened(join(folder, 'none.db'), { readOnly: true })).toThrow(missing);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['in a folder that is not there', (folder: string) => join(folder, 'none/ledger.db'), 'does not exist'],
    ['that is a folder', (folder: string) => folder, 'something else'],
    ['below a file', (folder: string) => join(folder, 'plain/ledger.db'), 'is no folder'],
  ])('cannot be %s', (_what, path, why) => {
    const folder = scratch();
    opened(join(folder, 'plain')).close();
    const code = { code: 'LEDGER_UNWRITABLE', message: expect.stringContaining(why) };
    expect(() => opened(path(folder))).toThrow(expect.objectContaining(code));
  });

  it('is not used after it was closed', () => {
    const ledger = fresh();
    ledger.close();
    ledger.close();
    const closed = expect.objectContaining({ code: 'LEDGER_CLOSED' });
    expect(() => ledger.commit(aDecision('one'))).toThrow(closed);
    expect(() => ledger.load()).toThrow(closed);
  });
});

describe('looking back', () => {
  const states: CaseState[] = ['active', 'released', 'failed', 'pending', 'expired'];
  const ledger = () => {
    const one = fresh();
    one.commit(
      states.map((state, i): Change => {
        const isOver = i === 1 || i === 2 || i === 4;
        const more = {
          state,
          openedAt: NOW + i,
          policy: i % 2 ? 'odd' : 'even',
          ...(isOver && { closedAt: NOW + 100 * i }),
        };
        return { put: 'case', case: aCase(`c${i}`, { ...more, target: i === 3 ? { kind: 'node' } : GPU }) };
      }),
    );
    return one;
  };

  it.each([
    ['all, the one opened last first', {}, ['c4', 'c3', 'c2', 'c1', 'c0']],
    ['a state', { state: 'failed' }, ['c2']],
    ['states, open and ended', { state: ['active', 'released'] }, ['c1', 'c0']],
    ['no state', { state: [] }, []],
    ['a policy', { policy: 'odd' }, ['c3', 'c1']],
    ['a target', { target: { kind: 'node' } }, ['c3']],
    ['what was open since then', { since: NOW + 200 }, ['c4', 'c3', 'c2', 'c0']],
    ['no more than that', { limit: 2 }, ['c4', 'c3']],
    ['all at once', { state: 'expired', policy: 'even', target: GPU, since: NOW, limit: 1 }, ['c4']],
  ] as const)('at cases by %s', (_what, query, ids) => {
    expect(
      ledger()
        .cases(query)
        .map(({ id }) => id),
    ).toEqual(ids);
  });

  it('finds an ended case once, and open again where it was put so', () => {
    const one = fresh();
    one.commit([{ put: 'case', case: aCase('c') }]);
    one.commit([{ put: 'case', case: aCase('c', { state: 'released', closedAt: NOW }) }]);
    one.commit([{ put: 'case', case: aCase('c', { state: 'expired', closedAt: NOW }) }]);
    expect(one.cases().map(({ state }) => state)).toEqual(['expired']);
    expect(one.load().cases.size).toBe(0);
    one.commit([{ put: 'case', case: aCase('c') }]);
    expect(one.cases().map(({ state }) => state)).toEqual(['active']);
  });

  it.each([
    ['all, newest first', {}, [4, 3, 2, 1]],
    ['a span, its end not in it', { since: NOW + 1, until: NOW + 3 }, [3, 2]],
    ['a case', { case: 'c1' }, [2]],
    ['an outcome', { outcome: 'released' }, [4]],
    ['a policy', { policy: 'p3' }, [4]],
    ['a target', { target: { kind: 'workload', id: 'slurm/3' } }, [4]],
    ['the next page', { before: 3, limit: 1 }, [2]],
  ] as const)('at history by %s', (_what, query, seqs) => {
    const one = fresh();
    const entry = (i: number): Change => {
      const target = { kind: 'workload', id: `slurm/${i}` } as const;
      const outcome = i === 3 ? 'released' : 'acted';
      return { add: 'history', entry: anEntry({ at: NOW + i, case: `c${i}`, policy: `p${i}`, target, outcome }) };
    };
    one.commit([0, 1, 2, 3].map(entry));
    expect(one.history(query).map(({ seq }) => seq)).toEqual(seqs);
  });
});

describe('pruning', () => {
  it('cuts what is over and old, and nothing else', () => {
    const ledger = fresh();
    const old = NOW - 91 * DAY;
    ledger.commit([
      { put: 'case', case: aCase('open', { openedAt: old }) },
      { put: 'case', case: aCase('old', { state: 'released', openedAt: old, closedAt: old, version: 'v-old' }) },
      { put: 'case', case: aCase('new', { state: 'released', openedAt: old, closedAt: NOW, version: 'v"new' }) },
      { add: 'history', entry: anEntry({ at: old, reason: 'old' }) },
      { add: 'history', entry: anEntry({ reason: 'new' }) },
      { put: 'trigger', trigger: aTrigger('standing', { seenAt: old }) },
      { put: 'trigger', trigger: aTrigger('old', { closedAt: NOW - 8 * DAY }) },
      { put: 'trigger', trigger: aTrigger('new', { closedAt: NOW - 6 * DAY }) },
      { put: 'cooldown', policy: 'p', target: 'past', until: NOW - 1 },
      { put: 'cooldown', policy: 'p', target: 'on', until: NOW },
      { put: 'act', policy: 'p', target: 'old', at: NOW - DAY / 24 - 1 },
      { put: 'act', policy: 'p', target: 'new', at: NOW - DAY / 24 },
      { put: 'knob', knob: aKnob({ at: old, notBefore: old }) },
    ]);
    expect(ledger.prune(NOW)).toBe(5);
    const state = ledger.load();
    expect(
      ledger
        .cases()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['new', 'open']);
    expect(ledger.history().map(({ reason }) => reason)).toEqual(['new']);
    expect([...state.triggers.keys()].sort()).toEqual(['new', 'standing']);
    expect([...state.cooldowns.keys()]).toEqual(['p on']);
    expect(state.acts.map(({ target }) => target)).toEqual(['new']);
    expect(state.knobs.size).toBe(1);
    expect(ledger.prune(NOW)).toBe(0);
  });

  it('keeps the text of a policy as long as a case of it is kept', () => {
    let time = NOW;
    const ledger = opened(join(scratch(), 'ledger.db'), { now: () => time });
    const source = (version: string): Change => ({ put: 'policy', name: 'p', version, source: `text ${version}` });
    ledger.commit([
      ...['open', 'ended"', 'none'].map(source),
      { put: 'case', case: aCase('a', { policy: 'p', version: 'open' }) },
      {
        put: 'case',
        case: aCase('b', { policy: 'p', version: 'ended"', state: 'released', closedAt: NOW + 10 * DAY }),
      },
    ]);
    const kept = () =>
      ['open', 'ended"', 'none'].filter((version) => ledger.policySource('p', version) === `text ${version}`);
    expect(ledger.prune(NOW + 80 * DAY)).toBe(0);
    expect(ledger.prune(NOW + 95 * DAY)).toBe(1);
    expect(kept()).toEqual(['open', 'ended"']);
    time = NOW + 200 * DAY;
    ledger.prune(time);
    expect(kept()).toEqual(['open']);
  });

  it('goes in batches, and holds the number of lines', () => {
    const ledger = fresh();
    const lines = Array.from({ length: PRUNE_BATCH + 500 }, (): Change => ({ add: 'history', entry: anEntry() }));
    ledger.commit(lines);
    expect(ledger.prune(NOW, { historyRows: 100 })).toBe(PRUNE_BATCH);
    expect(ledger.prune(NOW, { historyRows: 100 })).toBe(400);
    expect(ledger.history()).toHaveLength(100);
    expect(ledger.history()[0]?.seq).toBe(lines.length);
  });
});
