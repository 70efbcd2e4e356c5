import { describe, expect, it } from 'vitest';
import type { Explanation } from '../../../actuator/decide/explain.ts';
import { guardText } from '../../../actuator/decide/guard-text.ts';
import type { ShownCase, Status } from '../../../cli/talk/answers.ts';
import { renderCases } from '../../../cli/talk/cases-text.ts';
import { renderExplain } from '../../../cli/talk/explain-text.ts';
import { renderGivenBack } from '../../../cli/talk/given-back.ts';
import { renderHistory } from '../../../cli/talk/history-text.ts';
import { reasonText } from '../../../cli/talk/words.ts';
import type { Knob } from '../../../model/claim.ts';
import { DECISION_REASONS } from '../../../model/decision.ts';

const NOW = 1_800_000_000_000;
const PCI = '0000:c1:00.0';

const status = (more: Partial<Status> = {}): Status => ({
  ...{ node: 'n', version: '0', state: 'acting', ready: 'ready', enforce: true, pauses: [], knobs: [] },
  breaker: { open: false, reason: '', since: 0, failures: [] },
  cards: [{ gpu: 3, pci: PCI, model: 'MI300X', health: 'ok', protected: false, knobs: [] }],
  ...more,
});
const row = (more: Partial<Knob> = {}): Knob => ({
  ...{ on: PCI, knob: 'power_cap', found: 750, wrote: 600, state: 'settled', attempts: 0, notBefore: 0, at: NOW },
  ...more,
});
const held = (more: Partial<ShownCase> = {}): ShownCase => ({
  ...{ id: 'hot.1', policy: 'hot', version: 'v', target: { kind: 'gpu', pci: PCI }, state: 'active', mode: 'enforce' },
  ...{ triggers: [], openedAt: NOW - 80_000, deadline: NOW + 300_000, attempts: 0, reason: 'settled' },
  knobs: [{ on: PCI, knob: 'power_cap' }],
  claims: [{ case: 'hot.1', on: PCI, knob: 'power_cap', atMost: 600, safety: true }],
  held: [row()],
  ...more,
});
const shown = (one: ShownCase, more: Partial<Status> = {}, all = false): string =>
  renderCases({ now: NOW, cases: [one] }, status(more), all);

describe('the table of cases', () => {
  it('has number and address, age, lease, and what is claimed, was found and is set', () => {
    expect(shown(held()).split('\n')[1]).toBe(
      'hot     3 0000:c1:00.0  active  1m20s  5m          power cap ≤ 600 W (found 750 W, now 600 W)  in force, and read back  hot.1',
    );
  });

  it.each([
    ['a dry run claims nothing for real', held({ mode: 'dry_run', held: [] }), 'would: power cap ≤ 600 W  '],
    ['a lease does not end a blind case', held({ blind: true }), 'held: blind'],
    [
      'a knob that is not settled says why',
      held({ held: [row({ state: 'unsettled', detail: 'EBUSY' })] }),
      'unsettled: EBUSY',
    ],
    ['a write under way is no value', held({ held: [(({ wrote: _, ...rest }) => rest)(row())] }), 'not written yet'],
    ['what is being given back says to what', held({ state: 'releasing', claims: [] }), 'power cap back to 750 W'],
    ['what is over has no lease', held({ state: 'expired', closedAt: NOW, held: [] }), 'ended after 1m20s'],
    ['texts of others move no cursor', held({ id: 'x\u001b[2J' }), 'x\\u{1b}[2J'],
  ])('%s', (_why, one, expected) => {
    expect(shown(one)).toContain(expected);
  });

  it.each([
    [
      'FROZEN',
      { state: 'frozen', frozenBecause: 'the ledger is damaged' } as const,
      /^FROZEN, .*the ledger is damaged/,
    ],
    ['OBSERVING', { state: 'observing' } as const, /^OBSERVING/],
    ['dry run', { enforce: false }, /^DRY RUN/],
    ['the disk', { ready: 'The ledger takes no commits' }, /^NOT READY: The ledger takes no commits/],
    [
      'the breaker',
      { breaker: { open: true, reason: '5 failed acts', since: NOW - 60_000, failures: [] } },
      /^BREAKER OPEN for 1m: 5 failed acts\..*--breaker/,
    ],
    [
      'a pause',
      { pauses: [{ id: 'p1', reason: 'fans', author: 'ann', since: NOW, until: NOW + 60_000, policy: 'hot' }] },
      /^PAUSED hot for 1m more, by ann at .*: fans\. .*nightshift resume p1/,
    ],
  ])('is headed by %s', (_what, more, expected) => {
    expect(shown(held(), more)).toMatch(expected);
  });

  it('does not speak of a pause that has ended by itself', () => {
    const pauses = [{ id: 'p1', reason: 'fans', author: 'ann', since: NOW - 9, until: NOW - 1 }];
    expect(shown(held(), { pauses })).toMatch(/^POLICY/);
  });

  it('tells of a setting that no case holds any more', () => {
    const text = renderCases(
      { now: NOW, cases: [] },
      status({ knobs: [row({ state: 'unsettled', detail: 'EIO' })] }),
      false,
    );
    expect(text).toMatch(/Nothing is held[\s\S]*held by no case any more[\s\S]*3 0000:c1:00\.0 +power cap: .*EIO/);
  });
});

const explanation = (more: Partial<Explanation> = {}): Explanation => ({
  ...{ policy: 'hot', version: 'v', mode: 'enforce', target: { kind: 'gpu', pci: PCI }, triggers: [], claims: [] },
  ...{ notAdjustable: [], knobs: [], guards: [], reason: 'condition_false', change: [] },
  ...more,
});
const explained = (one: Explanation, asked = true): string =>
  renderExplain({ at: NOW, explanations: [one] }, status().cards, asked);

describe('an explanation', () => {
  it('gives values with unit, age and source', () => {
    const operands = [
      { text: 'gpu.temperature.junction', value: 88, ageMs: 420, source: 'gpu_metrics' },
      { text: 'threshold.junction_hot', value: 85 },
    ];
    const trace = [{ pointer: '', operator: '>=', operands, result: true }];
    expect(explained(explanation({ when: { result: true, trace } }))).toContain(
      'when         gpu.temperature.junction = 88 °C (0.4 s old, gpu_metrics) >= threshold.junction_hot = 85 °C: true',
    );
  });

  it('says of a value that nobody has why, and not 0', () => {
    const operands = [
      { text: 'gpu.power', unknown: 'stale', ageMs: 61_000 },
      { text: '300', value: 300 },
    ];
    const trace = [{ pointer: '', operator: '<', operands, result: 'unknown' as const }];
    const text = explained(explanation({ reason: 'condition_unknown', when: { result: 'unknown', trace } }));
    expect(text).toContain('gpu.power = ? (stale, 1m1s old) < 300 W: unknown');
    expect(text).toContain('its condition cannot be known');
  });

  it('tells of what was not asked for only where there is something to tell', () => {
    const waiting = explained(explanation(), false);
    expect(waiting).toMatch(/^Nothing is held\.\n {2}hot waits: its condition is false \(GPU 3\)/);
    expect(explained(explanation({ reason: 'cooldown' }), false)).toMatch(/^hot does nothing about GPU 3 .*cooldown/);
  });

  it('has a sentence for every reason there is', () => {
    for (const reason of [...DECISION_REASONS, 'no_trigger']) expect(reasonText(reason)).not.toContain('_');
    expect(new Set(DECISION_REASONS.map(reasonText)).size).toBe(DECISION_REASONS.length);
  });

  it.each([
    ['frozen', {}, /ledger could not be read/],
    [
      'paused',
      { pause: 'p1', pausedBecause: 'fans', author: 'ann', until: NOW + 60_000 },
      /by ann for 1m more: fans .*p1/,
    ],
    ['paused', { pause: 'p1', pausedBecause: 'fans', author: 'ann' }, /until a person resumes it/],
    ['breaker_open', { openedBecause: '5 failed acts', since: NOW - 60_000 }, /open for 1m: 5 failed acts .*--breaker/],
    ['cooldown', { until: NOW + 500, leftMs: 500 }, /not again for 1s/],
    ['limit_gpus', { affected: 2, allowed: 2 }, /holds 2 GPUs, and may hold 2/],
    ['limit_percent', { affected: 4, allowed: 4, eligible: 8, percent: 50 }, /50 % of 8/],
    ['rate', { recent: 60, allowed: 60, perMs: 60_000 }, /60 acts within 1m/],
  ] as const)('the guard %s gives its numbers: %j', (guard, detail, expected) => {
    expect(guardText({ guard, detail }, NOW)).toMatch(expected);
  });
});

describe('the history', () => {
  it('is read downwards, with what it was about', () => {
    const entry = {
      at: NOW,
      outcome: 'acted',
      reason: 'condition_true',
      policy: 'hot',
      detail: { when: true },
    } as const;
    const lines = [
      { ...entry, seq: 2, outcome: 'released' as const },
      { ...entry, seq: 1, mode: 'dry_run' as const, target: { kind: 'gpu', pci: PCI } as const },
    ];
    const text = renderHistory(lines, status().cards).split('\n');
    expect(text[1]).toMatch(/acted, dry run +condition_true +hot +3 0000:c1:00\.0 +when=true$/);
    expect(text[2]).toMatch(/released/);
    expect(renderHistory([], [])).toBe('Nothing has happened yet.\n');
  });
});

describe('what was given back', () => {
  const told = (open: string[], ended: [string, ShownCase['state']][], knobs: Knob[] = [], left: Knob[] = []): string =>
    renderGivenBack({
      status: status({ knobs }),
      held: [held()],
      open: new Set(open),
      ended: new Map(ended),
      left,
    });

  it.each([
    ['is told with its value', told([], [['hot.1', 'released']]), /^given back +GPU 3 .*, hot: power cap 750 W\n$/],
    ['is not told while it is not so', told(['hot.1'], [], [row()], [row()]), /^NOT BACK YET .*now 600 W\n$/],
    ['is not what somebody else has set', told([], [['hot.1', 'overridden']]), /^left alone/],
    [
      'is not what another case holds',
      told([], [['hot.1', 'released']], [row()]),
      /^let go .*another case still holds it/,
    ],
    [
      'leaves no row untold',
      told([], [['hot.1', 'released']], [row()], [row({ knob: 'gfx_clock' })]),
      /\nNOT BACK YET .*graphics clock/,
    ],
  ])('%s', (_what, text, expected) => {
    expect(text).toMatch(expected);
  });
});
