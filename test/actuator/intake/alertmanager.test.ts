import { describe, expect, it } from 'vitest';
import { type AlertContext, alertTriggers, parseAlertMessage } from '../../../actuator/intake/alertmanager.ts';
import { take } from '../../../actuator/intake/take.ts';
import type { OpenTrigger } from '../../../model/trigger.ts';
import { bytesOf, CAPTURED, NODE, type RawAlert, rawAlert, rawMessage, row } from './messages.ts';

const KEY = 'e90d44c2710fa35b@2026-03-05T20:58:37.482Z';

function taken(
  alerts: readonly Partial<RawAlert>[],
  rows: readonly OpenTrigger[] = [],
  change: Partial<AlertContext> = {},
) {
  const parsed = parseAlertMessage(bytesOf(rawMessage(alerts.map(rawAlert))));
  if ('refusal' in parsed) throw new Error(parsed.refusal.message);
  const book = new Map(rows.map((one) => [one.key, one]));
  const context = { node: NODE, at: 5_000, trusted: true, peerIsLocal: true, known: (key: string) => book.get(key) };
  const { triggers, counts } = alertTriggers(parsed.value, { ...context, ...change });
  return { triggers, counts: Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0)) };
}

const phases = (
  alerts: readonly Partial<RawAlert>[],
  rows: readonly OpenTrigger[] = [],
  change: Partial<AlertContext> = {},
) => {
  const { triggers, counts } = taken(alerts, rows, change);
  return { triggers: triggers.map(({ phase, key }) => `${phase} ${key}`), counts };
};

describe('the trigger of an alert', () => {
  it('carries its labels, not its annotations, and who it is about', () => {
    expect(taken([{}]).triggers).toEqual([
      {
        source: 'alert',
        name: 'AmdGpuJunctionHot',
        key: KEY,
        phase: 'open',
        node: NODE,
        target: { kind: 'gpu', pci: '0000:26:00.0' },
        since: Date.parse('2026-03-05T20:58:37.482Z'),
        at: 5_000,
        values: { alertname: 'AmdGpuJunctionHot', node: NODE, pci_address: '0000:26:00.0', gpu: '1' },
        trusted: true,
      },
    ]);
  });

  it('stands for a real message, both of its alerts', () => {
    const parsed = parseAlertMessage(Buffer.from(CAPTURED));
    if ('refusal' in parsed) throw new Error(parsed.refusal.message);
    const context = { node: NODE, at: 1, trusted: false, peerIsLocal: true, known: () => undefined };
    expect(alertTriggers(parsed.value, context).triggers).toMatchObject([
      { phase: 'close', key: '2850657b0e51c95b@2026-03-05T22:14:07Z' },
      { phase: 'open', key: 'a71e626faa99d256@2026-03-05T21:14:07.482123456Z', gpu: 6, trusted: false },
    ]);
  });

  it.each([
    [
      'the address, before the number',
      { pci_address: '26:00.0', gpu: '1' },
      { target: { kind: 'gpu', pci: '0000:26:00.0' } },
    ],
    ['an address in capitals', { pci_address: '0000:C1:00.0' }, { target: { kind: 'gpu', pci: '0000:c1:00.0' } }],
    ['the number alone', { gpu: '6' }, { gpu: 6 }],
    ['an empty address and a number', { pci_address: '', gpu: '6' }, { gpu: 6 }],
    ['nothing', {}, {}],
  ])('names its GPU by %s', (_why, labels, named) => {
    const [trigger] = taken([{ labels: { alertname: 'A', node: NODE, ...labels } }]).triggers;
    const { target, gpu } = trigger!;
    expect({ ...(target && { target }), ...(gpu !== undefined && { gpu }) }).toEqual(named);
    expect(trigger!.values).toMatchObject(labels);
  });

  it.each([
    ['an address that is none', { pci_address: 'GPU-1234' }],
    ['a number that is none', { gpu: 'all' }],
    ['a wrong address beside a right number', { pci_address: '26:00', gpu: '1' }],
  ])('is not made of %s, which is not every GPU', (_why, labels) => {
    expect(taken([{ labels: { alertname: 'A', node: NODE, ...labels } }])).toEqual({
      triggers: [],
      counts: { bad_target: 1 },
    });
  });

  it('keeps labels that it does not know', () => {
    const labels = { alertname: 'A', node: NODE, workload: 'slurm/4711', partition: '3' };
    expect(taken([{ labels }]).triggers[0]!.values).toEqual(labels);
  });

  it('is not made without a name', () => {
    expect(taken([{ labels: { node: NODE } }]).counts).toEqual({ no_name: 1 });
  });
});

describe('whose alert', () => {
  const unsaid = { labels: { alertname: 'A' } };
  it.each([
    ['ours, from afar', {}, { peerIsLocal: false }, { accepted: 1 }],
    ['another node\u2019s', { labels: { alertname: 'A', node: 'mi300x-08' } }, {}, { other_node: 1 }],
    [
      'another node\u2019s end',
      { status: 'resolved', labels: { alertname: 'A', node: 'mi300x-08' } },
      {},
      { other_node: 1 },
    ],
    ['nobody\u2019s, from this machine', unsaid, { peerIsLocal: true }, { accepted: 1 }],
    ['nobody\u2019s, from afar with a token', unsaid, { peerIsLocal: false, trusted: true }, { no_node: 1 }],
    [
      'scraped over loopback, from afar',
      { labels: { alertname: 'A', instance: 'localhost:9510' } },
      { peerIsLocal: false },
      { no_node: 1 },
    ],
  ])('%s', (_why, alert, change, counts) => {
    expect(taken([alert], [], change).counts).toEqual(counts);
  });
});

describe('identity and order', () => {
  const open = row();
  const closed = row({ phase: 'close', closedAt: 4_000 });
  const resolved = { status: 'resolved' };
  it.each([
    ['an episode begins', [{}], [], ['open'], { accepted: 1 }],
    ['told again', [{}], [open], ['renew'], { duplicates: 1 }],
    ['it ends', [resolved], [open], ['close'], { accepted: 1 }],
    ['its end told again', [resolved], [closed], [], { duplicates: 1 }],
    ['firing after its end, as a late peer sends it', [{}], [closed], [], { stale: 1 }],
    ['an end of what nobody heard begin', [resolved], [], ['close'], { accepted: 1 }],
    ['twice in one message', [{}, {}], [], ['open'], { accepted: 1, duplicates: 1 }],
    ['begin and end in one message', [{}, resolved], [], ['open', 'close'], { accepted: 2 }],
    ['end and begin in one message', [resolved, {}], [open], ['close'], { accepted: 1, stale: 1 }],
    ['end twice in one message', [resolved, resolved], [open], ['close'], { accepted: 1, duplicates: 1 }],
  ])('%s', (_why, alerts, rows, expected, counts) => {
    expect(phases(alerts, rows)).toEqual({ triggers: expected.map((phase) => `${phase} ${KEY}`), counts });
  });

  it('takes a second incident of the same labels for another episode', () => {
    const later = { startsAt: '2026-03-05T23:00:00Z' };
    expect(phases([later], [closed]).triggers).toEqual(['open e90d44c2710fa35b@2026-03-05T23:00:00Z']);
    expect(phases([later], [open]).triggers).toEqual(['open e90d44c2710fa35b@2026-03-05T23:00:00Z']);
  });

  it('tells episodes apart that begin a nanosecond from each other', () => {
    const [one, two] = ['2026-03-05T20:58:37.482000001Z', '2026-03-05T20:58:37.482000002Z'];
    expect(taken([{ startsAt: one }, { startsAt: two }]).triggers.map(({ key }) => key)).toEqual([
      `e90d44c2710fa35b@${one}`,
      `e90d44c2710fa35b@${two}`,
    ]);
  });

  it('knows one episode from two senders whose offsets differ', () => {
    expect(phases([{ startsAt: '2026-03-05T21:58:37.4820+01:00' }], [open]).counts).toEqual({ duplicates: 1 });
  });

  it('does not close what is not in the message', () => {
    const other = row({ key: '00000000000000aa@2026-03-05T20:00:00Z' });
    expect(phases([{}], [other]).triggers).toEqual([`open ${KEY}`]);
  });

  it('asks a loopback peer less than who proved who he is', () => {
    const proven = { trusted: true };
    const stranger = { trusted: false };
    expect(phases([resolved], [row(proven)], stranger).counts).toEqual({ untrusted: 1 });
    expect(phases([resolved], [row(stranger)], stranger).counts).toEqual({ accepted: 1 });
    expect(phases([{}], [row({ ...stranger, closedAt: 1 })], proven).triggers).toEqual([`open ${KEY}`]);
    expect(phases([{}], [row({ ...stranger, closedAt: 1 })], stranger).counts).toEqual({ stale: 1 });
  });
});

describe('mistakes that receivers make', () => {
  it('decides on each alert\u2019s own status, not on that of the group', () => {
    const parsed = parseAlertMessage(bytesOf(rawMessage([rawAlert({ status: 'resolved' })], { status: 'firing' })));
    const context = { node: NODE, at: 1, trusted: true, peerIsLocal: true, known: () => row() };
    expect('value' in parsed && alertTriggers(parsed.value, context).triggers[0]?.phase).toBe('close');
  });

  it('reads the labels of the alert, not those that the group has in common', () => {
    const message = rawMessage([rawAlert({ labels: { alertname: 'A', node: NODE, gpu: '1' } })], {
      commonLabels: { node: 'mi300x-08', gpu: '9' },
    });
    const parsed = parseAlertMessage(bytesOf(message));
    const context = { node: NODE, at: 1, trusted: true, peerIsLocal: true, known: () => undefined };
    expect('value' in parsed && alertTriggers(parsed.value, context).triggers[0]?.gpu).toBe(1);
  });

  it('handles every alert of a message', () => {
    const alerts = ['0', '1', '2'].map((gpu) => ({
      fingerprint: `000000000000000${gpu}`,
      labels: { alertname: 'A', node: NODE, gpu },
    }));
    expect(taken(alerts).triggers.map(({ gpu }) => gpu)).toEqual([0, 1, 2]);
  });

  it('does not take the zero end of a firing alert for one long ago, nor a future end for an open one', () => {
    expect(taken([{ endsAt: '0001-01-01T00:00:00Z' }]).triggers[0]?.phase).toBe('open');
    expect(taken([{ endsAt: '2099-01-01T00:00:00Z', status: 'resolved' }], [row()]).triggers[0]?.phase).toBe('close');
    expect(taken([{ endsAt: '2001-01-01T00:00:00Z' }]).triggers[0]?.phase).toBe('open');
  });

  it('reads numbers in labels as numbers', () => {
    expect(taken([{ labels: { alertname: 'A', node: NODE, gpu: '10' } }]).triggers[0]?.gpu).toBe(10);
  });

  it('never begins anything on a resolved alert', () => {
    expect(taken([{ status: 'resolved' }]).triggers.map(({ phase }) => phase)).toEqual(['close']);
  });
});

describe('the row of the book', () => {
  const [opened] = taken([{}]).triggers;
  it('is opened, renewed and closed, and stays as a mark', () => {
    const first = take(opened!, undefined);
    expect(first).toEqual({ ...opened, seenAt: 5_000 });
    const [again] = taken([{}], [first], { at: 6_000 }).triggers;
    const second = take(again!, first);
    expect(second).toEqual({ ...opened, phase: 'renew', at: 5_000, seenAt: 6_000 });
    const [end] = taken([{ status: 'resolved' }], [second], { at: 7_000 }).triggers;
    const third = take(end!, second);
    expect(third).toMatchObject({ phase: 'close', at: 5_000, seenAt: 7_000, closedAt: 7_000 });
    expect(taken([{}], [third], { at: 8_000 }).counts).toEqual({ stale: 1 });
    expect(take({ ...end!, at: 9_000 }, third)).toBe(third);
  });

  it('keeps the words of the more trusted sender', () => {
    const first = take(opened!, undefined);
    const forged = {
      ...opened!,
      phase: 'renew' as const,
      trusted: false,
      at: 9_000,
      target: { kind: 'node' } as const,
    };
    expect(take(forged, first)).toEqual({ ...first, phase: 'renew', seenAt: 9_000 });
    const proven = { ...opened!, phase: 'renew' as const, at: 9_000 };
    expect(take(proven, { ...first, trusted: false, target: { kind: 'node' } })).toMatchObject({
      target: { kind: 'gpu' },
      trusted: true,
    });
  });

  it('begins anew where it opens after its end', () => {
    const closed = take({ ...opened!, phase: 'close' }, undefined);
    expect(take({ ...opened!, at: 9_000 }, closed)).toEqual({ ...opened, at: 9_000, seenAt: 9_000 });
  });
});
