import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openLedger } from '../../actuator/ledger/ledger.ts';
import type { LedgerState } from '../../actuator/ledger/state.ts';
import { rebase } from '../../actuator/rebase.ts';

const THEN = Date.UTC(2026, 2, 5, 21);
const LEASE = 360_000;

const state = (): LedgerState => ({
  triggers: new Map([
    [
      'a@1',
      {
        source: 'alert',
        name: 'Hot',
        key: 'a@1',
        phase: 'open',
        since: THEN,
        at: THEN,
        seenAt: THEN + 1000,
        until: THEN + 5000,
        values: {},
        trusted: true,
      },
    ],
  ]),
  cases: new Map([
    [
      'c',
      {
        id: 'c',
        policy: 'hot',
        version: 'v',
        target: { kind: 'node' },
        state: 'active',
        mode: 'enforce',
        triggers: ['a@1'],
        openedAt: THEN,
        deadline: THEN + LEASE,
        dwellFrom: THEN + 500,
        holdsFrom: THEN,
        stamp: '7',
        blindFrom: THEN + 900,
        knobs: [],
        attempts: 0,
        reason: 'settled',
      },
    ],
  ]),
  claims: new Map(),
  knobs: new Map(),
  cooldowns: new Map([['hot node', THEN + 60_000]]),
  acts: [{ policy: 'hot', target: 'node', at: THEN }],
  pauses: new Map([['p', { id: 'p', reason: 'r', author: 'a', since: THEN, until: THEN + 9000 }]]),
  numbers: new Map([[0, { pci: '0000:c1:00.0', since: 0 }]]),
  breaker: { open: true, reason: 'r', since: THEN, failures: [THEN] },
  policies: [],
});

it('moves everything back by as much as the clock was set back, so that no lease outlives it', () => {
  const now = THEN - 86_400_000;
  const { cases, triggers, cooldowns, acts, pauses, breaker } = rebase(state(), now).state;
  // The newest word was the trigger's, 1 s after it was taken.
  expect(triggers.get('a@1')).toMatchObject({ at: now - 1000, seenAt: now, until: now + 4000, since: THEN });
  expect(cases.get('c')).toMatchObject({ openedAt: now - 1000, deadline: now - 1000 + LEASE, blindFrom: now - 100 });
  expect(cooldowns.get('hot node')).toBe(now + 59_000);
  expect(acts[0]?.at).toBe(now - 1000);
  expect(pauses.get('p')).toMatchObject({ since: now - 1000, until: now + 8000 });
  expect(breaker).toMatchObject({ since: now - 1000, failures: [now - 1000] });
});

it.each([
  ['a second later', 2_000],
  ['a year later', 31_536_000_000],
])('leaves times as they are where the ledger lies in the past, %s', (_, later) => {
  const before = state();
  const { state: after, changes } = rebase(before, THEN + later);
  expect(changes).toEqual([]);
  expect(after.triggers).toEqual(before.triggers);
  expect(after.cooldowns).toEqual(before.cooldowns);
  expect(after.cases.get('c')).toMatchObject({ openedAt: THEN, deadline: THEN + LEASE, blindFrom: THEN + 900 });
});

it('begins anew what had to hold without a break, for nobody watched it', () => {
  const one = rebase(state(), THEN + 5000).state.cases.get('c');
  expect(one).not.toHaveProperty('holdsFrom');
  expect(one).not.toHaveProperty('dwellFrom');
  expect(one).not.toHaveProperty('stamp');
});

it('tells the ledger, so that the next start does not move again what was written by the right clock', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rebase-'));
  const ledger = openLedger(join(folder, 'ledger.db'), { now: () => THEN });
  onTestFinished(() => {
    ledger.close();
    rmSync(folder, { recursive: true });
  });
  const { triggers, cases, cooldowns, pauses, breaker, acts } = state();
  const [trigger, one, pause] = [[...triggers.values()][0], [...cases.values()][0], [...pauses.values()][0]];
  if (!trigger || !one || !pause || !breaker) throw new Error('nothing to write');
  ledger.commit([
    { put: 'trigger', trigger },
    { put: 'case', case: one },
    { put: 'pause', pause },
    { put: 'breaker', breaker },
    ...[...cooldowns].map(([, until]) => ({ put: 'cooldown', policy: 'hot', target: 'node', until }) as const),
    ...acts.map((act) => ({ put: 'act', ...act }) as const),
  ]);
  const second = THEN - 3_600_000;
  const moved = rebase(ledger.load(), second);
  ledger.commit(moved.changes);
  expect(ledger.load()).toMatchObject({ cooldowns: moved.state.cooldowns, pauses: moved.state.pauses });
  ledger.commit([
    { put: 'pause', pause: { id: 'q', reason: 'r', author: 'a', since: second, until: second + 7_200_000 } },
  ]);
  const third = second + 60_000;
  const after = rebase(ledger.load(), third);
  expect(after.changes).toEqual([]);
  expect(after.state.pauses.get('q')?.until).toBe(second + 7_200_000);
  // The act of the wrong clock lies ahead for good, and counts no more.
  expect(after.state.acts).toEqual([]);
});
