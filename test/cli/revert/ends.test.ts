import { describe, expect, it } from 'vitest';
import type { OfflineResult, OfflineRows } from '../../../actuator/settings/offline.ts';
import { beginsToLetGo, endsOf } from '../../../cli/revert/ends.ts';
import type { Case } from '../../../model/case.ts';

const NOW = 1_800_000_000_000;
const PCI = '0000:c1:00.0';
const one = (more: Partial<Case> = {}): Case => ({
  ...{ id: 'hot.1', policy: 'hot', version: 'v', target: { kind: 'gpu', pci: PCI }, state: 'active', mode: 'enforce' },
  ...{ triggers: [], openedAt: NOW - 80_000, deadline: NOW + 300_000, attempts: 0, reason: 'settled' },
  knobs: [{ on: PCI, knob: 'power_cap' }],
  ...more,
});
const rows = (cases: Case[], safety = false): OfflineRows => ({
  ...{ knobs: [], cases },
  claims: cases.map(({ id }) => ({ case: id, on: PCI, knob: 'power_cap', atMost: 600, safety })),
});
const result = (outcome: OfflineResult['outcome']): OfflineResult[] => [
  { on: PCI, knob: 'power_cap', outcome, detail: '' },
];
const ends = (onlyExpired = false) => ({ onlyExpired, author: 'ann', reason: 'it died', now: NOW });

/** Case, its state and whether its claims are gone, of a list of changes. */
const states = (changes: ReturnType<typeof beginsToLetGo>): string[] =>
  changes.flatMap((change) =>
    'put' in change && change.put === 'case' ? [`${change.case.id} ${change.case.state}`] : [],
  );

describe('before the first write', () => {
  it('claims go, so that whoever starts after a crash goes on giving back', () => {
    const changes = beginsToLetGo(rows([one()]), ends());
    expect(states(changes)).toEqual(['hot.1 releasing']);
    expect(changes).toContainEqual({ put: 'claims', case: 'hot.1', claims: [] });
  });

  it('a case that never touched a card has nothing to let go', () => {
    expect(beginsToLetGo(rows([one({ mode: 'dry_run' }), one({ id: 'b', knobs: [] })]), ends())).toEqual([]);
  });
});

describe('after it', () => {
  it.each([
    ['given back', one(), 'given_back', 'hot.1 released'],
    ['somebody else’s value left alone', one(), 'overridden', 'hot.1 overridden'],
    ['never begun', one({ state: 'pending', knobs: [] }), 'given_back', 'hot.1 dropped'],
    ['only rehearsed', one({ mode: 'dry_run' }), 'failed', 'hot.1 released'],
  ] as const)('a case is over: %s', (_why, entry, outcome, expected) => {
    expect(states(endsOf(rows([entry]), result(outcome), ends()).changes)).toEqual([expected]);
  });

  it.each(['failed', 'unanswered'] as const)('a case whose card %s waits, and is not told as over', (outcome) => {
    const { changes, waiting, ended } = endsOf(rows([one()]), result(outcome), ends());
    expect({ changes, waiting, ended }).toEqual({ changes: [], waiting: ['hot.1'], ended: [] });
  });

  it('history says who and why', () => {
    const { changes } = endsOf(rows([one()]), result('given_back'), ends());
    expect(changes.find((change) => 'add' in change)).toMatchObject({
      entry: { case: 'hot.1', outcome: 'closed', reason: 'given_back', detail: { author: 'ann', because: 'it died' } },
    });
  });
});

describe('with --only-expired', () => {
  it.each([
    ['its lease runs', one(), false, []],
    ['its lease is over', one({ deadline: NOW - 1 }), false, ['hot.1 expired']],
    ['heat that nobody sees outlives its lease', one({ deadline: NOW - 1, blindFrom: NOW - 9 }), true, []],
    [
      'blindness of what is not about heat does not',
      one({ deadline: NOW - 1, blindFrom: NOW - 9 }),
      false,
      ['hot.1 expired'],
    ],
  ] as const)('%s', (_why, entry, safety, expected) => {
    expect(states(endsOf(rows([entry], safety), result('given_back'), ends(true)).changes)).toEqual(expected);
  });
});
