import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkManualRequest, manualTrigger } from '../../../actuator/intake/manual.ts';
import { take } from '../../../actuator/intake/take.ts';
import type { OpenTrigger, Trigger } from '../../../model/trigger.ts';

const open = { action: 'open', name: 'quiet-hour', author: 'ops', reason: 'demo at noon', ttl: '30m' };
const close = { action: 'close', name: 'quiet-hour', author: 'ops', reason: 'demo is over' };

function request(change: Record<string, unknown> = {}, base: object = open) {
  const parsed = checkManualRequest({ ...base, ...change });
  if ('refusal' in parsed) throw new Error(`${parsed.refusal.pointer} ${parsed.refusal.message}`);
  return parsed.value;
}

describe('the request', () => {
  it.each([
    ['everything on this node', {}, {}],
    ['a card by address', { target: 'gpu:C1:00.0' }, { target: { kind: 'gpu', pci: '0000:c1:00.0' } }],
    ['a card by number', { target: 'gpu:3' }, { gpu: 3 }],
    ['the node', { target: 'node' }, { target: { kind: 'node' } }],
  ])('may be about %s', (_why, change, about) => {
    expect(request(change)).toEqual({
      action: 'open',
      name: 'quiet-hour',
      author: 'ops',
      reason: 'demo at noon',
      ttlMs: 1_800_000,
      about,
    });
  });

  it.each([
    ['no body', undefined, '', ''],
    ['a list', [], '', ''],
    ['no action', { ...open, action: undefined }, '/action', 'open or close'],
    ['another action', { ...open, action: 'stop' }, '/action', 'open or close'],
    ['no name', { ...open, name: undefined }, '/name', 'must be a text'],
    ['a name that no rule can have', { ...open, name: 'Quiet hour' }, '/name', 'as in rules'],
    ['no author', { ...open, author: ' ' }, '/author', 'must not be empty'],
    ['a reason of two lines', { ...open, reason: 'a\nb' }, '/reason', 'one line'],
    ['a long reason', { ...open, reason: 'x'.repeat(513) }, '/reason', 'at most 512'],
    ['no end', { ...open, ttl: undefined }, '/ttl', 'must be a duration'],
    ['an end in minutes without unit', { ...open, ttl: 30 }, '/ttl', 'must be a duration'],
    ['an end that is no duration', { ...open, ttl: 'soon' }, '/ttl', 'between 1s and 7d'],
    ['an end at once', { ...open, ttl: '0s' }, '/ttl', 'between 1s and 7d'],
    ['an end far away', { ...open, ttl: '169h' }, '/ttl', 'between 1s and 7d'],
    ['another target', { ...open, target: 'workload:slurm/1' }, '/target', 'gpu:ADDRESS'],
    ['a target that is none', { ...open, target: 'gpu:' }, '/target', 'gpu:ADDRESS'],
    ['a misspelt key', { ...open, tgt: 'node' }, '', 'tgt'],
    ['an end of an end', { ...close, ttl: '1m' }, '', 'ttl'],
  ])('is refused with %s', (_why, body, pointer, message) => {
    expect(checkManualRequest(body)).toEqual({ refusal: { pointer, message: expect.stringContaining(message) } });
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.jsonValue(), (body) => void checkManualRequest(body)));
  });
});

describe('what a person calls', () => {
  const rows = (...made: (Trigger | undefined)[]): OpenTrigger[] => {
    const book = new Map<string, OpenTrigger>();
    for (const one of made) if (one) book.set(one.key, take(one, book.get(one.key)));
    return [...book.values()];
  };
  const first = manualTrigger(request({ target: 'gpu:c1:00.0' }), { at: 1_000, triggers: [] })!;

  it('opens with its end, its author and its reason', () => {
    expect(first).toEqual({
      source: 'manual',
      name: 'quiet-hour',
      key: 'quiet-hour/gpu:0000:c1:00.0@1970-01-01T00:00:01.000Z',
      phase: 'open',
      target: { kind: 'gpu', pci: '0000:c1:00.0' },
      since: 1_000,
      at: 1_000,
      values: { author: 'ops', reason: 'demo at noon' },
      trusted: true,
      until: 1_801_000,
    });
  });

  it('is renewed with a new end where it is called again', () => {
    const again = manualTrigger(request({ target: 'gpu:0000:c1:00.0', ttl: '1h' }), {
      at: 5_000,
      triggers: rows(first),
    })!;
    expect(again).toMatchObject({ phase: 'renew', key: first.key, since: 1_000, until: 3_605_000 });
    expect(rows(first, again)).toMatchObject([{ at: 1_000, seenAt: 5_000, until: 3_605_000 }]);
  });

  it('is another one for another target, and for none', () => {
    const triggers = rows(first);
    const keys = [{ target: 'gpu:3' }, {}, { target: 'node' }].map(
      (change) => manualTrigger(request(change), { at: 1_000, triggers })!,
    );
    expect(keys.map(({ phase }) => phase)).toEqual(['open', 'open', 'open']);
    expect(new Set([first.key, ...keys.map(({ key }) => key)]).size).toBe(4);
  });

  it('is closed by name and target', () => {
    const end = manualTrigger(request({ target: 'gpu:c1:00.0' }, close), { at: 9_000, triggers: rows(first) })!;
    expect(end).toMatchObject({ phase: 'close', key: first.key, values: { reason: 'demo is over' } });
    expect(manualTrigger(request({}, close), { at: 9_000, triggers: rows(first) })).toBeUndefined();
    expect(
      manualTrigger(request({ target: 'gpu:c1:00.0' }, close), { at: 9_000, triggers: rows(first, end) }),
    ).toBeUndefined();
  });

  it('opens anew after its end, told or come by itself', () => {
    const end = manualTrigger(request({ target: 'gpu:c1:00.0' }, close), { at: 9_000, triggers: rows(first) });
    for (const triggers of [rows(first, end), rows(first)]) {
      const again = manualTrigger(request({ target: 'gpu:c1:00.0' }), { at: 1_801_000, triggers })!;
      expect(again.phase).toBe('open');
      expect(again.key).not.toBe(first.key);
    }
  });
});
