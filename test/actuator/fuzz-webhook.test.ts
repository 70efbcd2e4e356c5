import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../actuator/intake/fingerprint.ts';
import { targetKey } from '../../model/target.ts';
import { pciOf, policyYaml, type World } from './decide/world.ts';
import { Door } from './fuzz-door.ts';
import { NODE, rawAlert, rawMessage } from './intake/messages.ts';

/** Hot and free, cool, hot and protected, hot, hot and silent, hot and not adjustable. */
const [FREE, COOL, KEPT, OTHER, SILENT, FIXED] = [0, 1, 2, 3, 4, 5];
const CARDS = [FREE, COOL, KEPT, OTHER, SILENT, FIXED];
/** Where an alert may do something at all. */
const ACTABLE = new Set([FREE, OTHER].map(pciOf));

const POLICIES =
  policyYaml({ limits: '{ gpus: 8 }' }) +
  // Without a second witness, which nobody from loopback is.
  policyYaml({ name: 'faithful', on: '[{ alert: Said }]', when: undefined }) +
  policyYaml({ name: 'rehearsed', mode: 'dry_run', on: '[{ alert: Hot }]' });

function prepare(world: World): void {
  for (const i of CARDS) world.card(i).junction = i === COOL ? 30 : 90;
  world.card(KEPT).protected = true;
  world.card(SILENT).health = 'silent';
  world.card(FIXED).adjustable = false;
}

const door = new Door(POLICIES, CARDS.length);
beforeAll(() => door.start());
afterAll(() => door.stop());

/**
 * Cards that this body may have acted on, read by other means than the actuator's and more generously: whoever is not among
 * them must be left alone.
 */
function mayAct(body: Uint8Array): Set<string> {
  const found = new Set<string>();
  let message: { version?: unknown; alerts?: unknown };
  try {
    message = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return found;
  }
  if (message?.version !== '4' || !Array.isArray(message.alerts)) return found;
  for (const alert of message.alerts as (Record<string, unknown> | null)[]) {
    const labels = alert?.labels as Record<string, unknown> | null | undefined;
    if (alert?.status !== 'firing' || labels?.alertname !== 'Hot') continue;
    if (labels.node && !String(labels.node).trim().toLowerCase().startsWith(NODE)) continue;
    for (const i of CARDS) {
      const byAddress = String(labels.pci_address ?? '').toLowerCase();
      const named = byAddress === '' ? String(labels.gpu).trim() === String(i) : byAddress.includes(pciOf(i).slice(5));
      if (named) found.add(pciOf(i));
    }
  }
  return found;
}

/** How often anything was done at all: a net through which nothing falls catches nothing. */
let acts = 0;

/** A book that nobody has told anything, then this body and some time; what it did is no more than what it may. */
async function expectHarmless(body: Uint8Array, headers: Record<string, string> = {}): Promise<number> {
  door.fresh(prepare);
  const status = await door.post(body, headers);
  await door.tick();
  expect([202, 400, 413, 415]).toContain(status);
  expect(door.errors).toEqual([]);
  const allowed = status === 202 ? mayAct(body) : new Set<string>();
  const acting = door.decisions.filter(({ outcome, mode }) => outcome === 'acted' && mode === 'enforce');
  for (const { policy, target } of acting) {
    expect(policy).toBe('hot');
    expect([...allowed].filter((pci) => ACTABLE.has(pci)).map((pci) => `gpu:${pci}`)).toContain(targetKey(target));
  }
  acts += acting.length;
  // One act a card, whatever number of alerts says so, and none of it without a claim that was committed before.
  expect(new Set(acting.map((one) => targetKey(one.target))).size).toBe(acting.length);
  const { book } = door.world;
  const claims = [...book.claims].flatMap(([id, list]) => (book.cases.get(id)?.mode === 'enforce' ? list : []));
  expect(claims.map(({ on, knob, atMost }) => `${on} ${knob} ${atMost}`).sort()).toEqual(
    acting.map(({ target }) => `${targetKey(target).slice(4)} power_cap 70`).sort(),
  );
  expect([...door.poked].every((on) => allowed.has(on))).toBe(true);
  expect(book.knobs.size).toBe(0);
  for (const trigger of book.triggers.values()) expect(['Hot', 'Said']).toContain(trigger.name);
  if (status !== 202) expect([door.committed, door.decisions]).toEqual([[], []]);
  return status;
}

const text = fc.oneof(
  fc.constantFrom(
    '',
    'Hot',
    'Said',
    NODE,
    'other',
    '0',
    '1',
    '3',
    '007',
    '-1',
    '1e0',
    '__proto__',
    'constructor',
    '\ud800',
    '\ufeff',
  ),
  fc.constantFrom(...CARDS.map(pciOf)),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const labels = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record(
      {
        alertname: fc.constantFrom('Hot', 'Hot', 'Said', 'hot', ''),
        node: fc.constantFrom(NODE, NODE, NODE.toUpperCase(), `${NODE}.lab.example`, 'mi300x-08', ''),
        instance: fc.constantFrom('127.0.0.1:9510', `${NODE}:9510`, 'mi300x-08:9510'),
        pci_address: fc.constantFrom(...CARDS.map(pciOf), pciOf(FREE).toUpperCase(), pciOf(OTHER).slice(5), 'all', '*'),
        gpu: fc.constantFrom('0', '1', '3', ' 3 ', '99', 'all', '0,3'),
      },
      { requiredKeys: ['alertname'] },
    ) as fc.Arbitrary<Record<string, string>>,
  },
  {
    weight: 1,
    arbitrary: fc.dictionary(
      fc.oneof(fc.constantFrom('alertname', 'node', 'gpu', 'pci_address', '__proto__'), text),
      text,
    ),
  },
);
/** Mostly as it should be: a message is only as good as the worst of its parts. */
const mostly = <T>(good: fc.Arbitrary<T>, ...bad: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 24, arbitrary: good as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: fc.constantFrom(...bad) });
const alert = fc.record(
  {
    status: mostly(fc.constantFrom('firing', 'firing', 'firing', 'resolved'), 'pending', 1, null),
    labels: fc.oneof(
      { weight: 24, arbitrary: labels as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: fc.jsonValue() },
    ),
    annotations: mostly(fc.constantFrom({}, null, { summary: 'x' }), { n: 1 }),
    startsAt: mostly(
      fc.constantFrom('2026-03-05T20:58:37Z', '2026-03-05T20:58:37.5+14:00'),
      '0001-01-01T00:00:00Z',
      'now',
      5,
    ),
    endsAt: mostly(fc.constantFrom('0001-01-01T00:00:00Z', '2026-03-05T20:59:37Z', null), 'x'),
    fingerprint: mostly(fc.constantFrom('e90d44c2710fa35b', 'E90D44C2710FA35B', '5c1e3f0a9b7d2846', undefined), 'x', 7),
  },
  { requiredKeys: ['status', 'labels', 'startsAt'] },
);
const message = fc.record(
  {
    version: mostly(fc.constant('4'), 4, '5', null),
    status: fc.constantFrom('firing', 'resolved'),
    alerts: fc.oneof(
      { weight: 24, arbitrary: fc.array(alert, { minLength: 1, maxLength: 4 }) as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: fc.jsonValue() },
    ),
    commonLabels: fc.constantFrom({ alertname: 'Hot' }, {}, null),
    truncatedAlerts: mostly(fc.constantFrom(0, 3), -1, '3'),
  },
  { requiredKeys: ['version', 'alerts'] },
);
const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value) ?? '');
const hot = (change: Record<string, string> = {}) => {
  const labels = { alertname: 'Hot', node: NODE, pci_address: pciOf(FREE), ...change };
  return rawAlert({ labels, fingerprint: fingerprintOf(labels) });
};
const whole = bytes(rawMessage([hot(), hot({ pci_address: pciOf(COOL) }), hot({ pci_address: pciOf(OTHER) })]));

describe('whatever is posted', () => {
  it('acts where it is a valid alert about a card that is hot by our own reading', async () => {
    expect(await expectHarmless(whole)).toBe(202);
    const acted = door.decisions.filter(({ outcome, mode }) => outcome === 'acted' && mode === 'enforce');
    expect(acted.map(({ target }) => targetKey(target))).toEqual([FREE, OTHER].map((i) => `gpu:${pciOf(i)}`));
  });

  it.each([
    ['of which nobody is a witness', 'Said'],
    ['about a card that is hot', 'Hot'],
  ])('does not act where one message tells the beginning and the end of an alert %s', async (_what, alertname) => {
    const begun = hot({ alertname });
    expect(await expectHarmless(bytes(rawMessage([begun, { ...begun, status: 'resolved' }])))).toBe(202);
    expect(door.decisions.filter(({ outcome }) => outcome === 'acted')).toEqual([]);
  });

  it.each([
    ['any bytes', fc.uint8Array({ maxLength: 3_000 }), 150, [400]],
    ['any JSON', fc.json({ maxDepth: 6 }).map((json): Uint8Array => Buffer.from(json)), 150, [400]],
    ['what is nearly a message', message.map(bytes), 600, [202, 400]],
    [
      'a good message with some bytes turned, or cut off',
      fc
        .tuple(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 3 }), fc.nat(20))
        .map(([turns, cut]) => {
          const body = Buffer.from(whole.subarray(0, whole.length - (cut > 17 ? cut : 0)));
          for (const [at, value] of turns) body[Math.min(at, body.length - 1)] = value;
          return body;
        }),
      300,
      [202, 400],
    ],
  ] as [string, fc.Arbitrary<Uint8Array>, number, number[]][])(
    'does no more than a valid alert may: %s',
    async (_what, bodies, numRuns, statuses) => {
      const seen = new Set<number>();
      acts = 0;
      await fc.assert(
        fc.asyncProperty(bodies, async (body) => void seen.add(await expectHarmless(body))),
        { numRuns },
      );
      expect([...seen].sort()).toEqual(statuses);
      if (statuses.includes(202)) expect(acts).toBeGreaterThan(10);
    },
    60_000,
  );

  it('does nothing unless it says that it is JSON, not packed, in UTF-8', async () => {
    const type = fc.constantFrom(
      'application/json',
      'APPLICATION/JSON ;x=y',
      'application/json; charset=latin1',
      'text/json',
      'x',
      '*/*',
    );
    const encoding = fc.constantFrom('identity', 'gzip', 'br', 'identity, identity', 'x');
    await fc.assert(
      fc.asyncProperty(type, encoding, async (contentType, contentEncoding) => {
        const headers = { 'Content-Type': contentType, 'Content-Encoding': contentEncoding };
        const status = await expectHarmless(whole, headers);
        const plain = contentEncoding === 'identity' && /^application\/json *(;x=y)?$/i.test(contentType);
        expect(status).toBe(plain ? 202 : 415);
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  const circle = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  const manyLabels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, 'x']));

  it.each([
    ['nesting without end', '['.repeat(500_000), 400],
    ['nesting in a field of nobody', `{"pad":${circle(100_000)},${Buffer.from(whole).toString().slice(1)}`, 400],
    ['a list of a million', `{"version":"4","alerts":[${'0,'.repeat(600_000)}0]}`, 413],
    ['a list of some hundred thousand', `{"version":"4","alerts":[${'0,'.repeat(300_000)}0]}`, 400],
    ['a million keys', `{${Array.from({ length: 60_000 }, (_, i) => `"k${i}":${i}`).join()}}`, 400],
    [
      'a label of the prototype',
      JSON.stringify(rawMessage([hot()])).replace('"node"', '"__proto__":{"alertname":"Hot"},"node"'),
      400,
    ],
    [
      'a prototype beside the alerts',
      JSON.stringify(rawMessage([hot()])).replace('{', '{"__proto__":{"version":"4"},'),
      202,
    ],
    ['a lone surrogate as a label', JSON.stringify(rawMessage([hot({ zone: '\ud800' })])), 400],
    ['a byte order mark', `\ufeff${Buffer.from(whole).toString()}`, 202],
    ['two messages in one', `${Buffer.from(whole).toString()}${Buffer.from(whole).toString()}`, 400],
    [
      'a key twice, the second one of another version',
      Buffer.from(whole).toString().replace(/}$/, ',"version":"3"}'),
      400,
    ],
    ['more labels than anybody has', JSON.stringify(rawMessage([hot(manyLabels(200))])), 400],
    ['CRLF and tabs between', JSON.stringify(rawMessage([hot()]), undefined, '\t').replaceAll('\n', '\r\n'), 202],
    [
      'a thousand alerts about one card',
      JSON.stringify(rawMessage(Array.from({ length: 1_000 }, (_, i) => hot({ i: `${i}` })))),
      202,
    ],
    ['no body', '', 400],
  ])('does no more than a valid alert may: %s', async (_what, body, status) => {
    expect(await expectHarmless(Buffer.from(body))).toBe(status);
  });

  it('in any order and any number opens no second case on a card, and lets go of every one in the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(message.map(bytes), { maxLength: 8 }), async (bodies) => {
        door.fresh(prepare);
        const allowed = new Set<string>();
        for (const body of bodies) {
          await door.post(body);
          for (const pci of mayAct(body)) if (ACTABLE.has(pci)) allowed.add(pci);
          const held = [...door.world.book.cases.values()].filter(({ mode }) => mode === 'enforce');
          expect(held.every(({ policy, target }) => policy === 'hot' && allowed.has(targetKey(target).slice(4)))).toBe(
            true,
          );
          expect(held.length).toBe(new Set(held.map(({ target }) => targetKey(target))).size);
        }
        for (const i of CARDS) door.world.card(i).junction = 30;
        // No reconciler is there to say that a card was given back: what is over is what claims nothing.
        for (let second = 0; second < 10; second++) {
          door.world.now += 1_000;
          await door.tick();
        }
        expect(door.world.book.claims.size).toBe(0);
        expect(door.errors).toEqual([]);
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});
