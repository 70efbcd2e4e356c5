import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MESSAGE_LIMITS, parseAlertMessage } from '../../../actuator/intake/alert-message.ts';
import { isNestedDeeper } from '../../../actuator/intake/json.ts';
import { bytesOf, CAPTURED, rawAlert, rawMessage } from './messages.ts';

const parse = (value: unknown) => parseAlertMessage(bytesOf(value));
const refusalOf = (value: unknown) => {
  const parsed = parse(value);
  return 'refusal' in parsed ? parsed.refusal : undefined;
};

describe('a message', () => {
  it('is taken as Alertmanager sends it', () => {
    const parsed = parseAlertMessage(Buffer.from(CAPTURED));
    expect(parsed).toMatchObject({
      value: {
        receiver: 'x',
        truncatedAlerts: 0,
        alerts: [
          { status: 'resolved', fingerprint: '2850657b0e51c95b', startsAt: { text: '2026-03-05T22:14:07Z' } },
          { status: 'firing', labels: { zone: 'Z\u00fcrich' }, startsAt: { text: '2026-03-05T21:14:07.482123456Z' } },
        ],
      },
    });
  });

  it.each([
    ['fields of later versions', rawMessage([rawAlert({ somethingNew: { deep: [1] } })], { more: [{}] })],
    [
      'maps that Go left empty',
      rawMessage([rawAlert({ annotations: null })], { groupLabels: null, commonLabels: null }),
    ],
    [
      'only what is needed',
      { version: '4', alerts: [{ status: 'firing', labels: { alertname: 'A' }, startsAt: '2026-01-01T00:00:00Z' }] },
    ],
    [
      'label names of Prometheus 3',
      rawMessage([rawAlert({ labels: { alertname: 'A', 'kubernetes.io/hostname': 'n' } })]),
    ],
    ['a fingerprint in capitals', rawMessage([rawAlert({ fingerprint: 'E90D44C2710FA35B' })])],
  ])('may have %s', (_why, value) => {
    expect(refusalOf(value)).toBeUndefined();
  });

  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, 'v']));
  it.each([
    ['a list', [], '', 'must be an object'],
    ['null', null, '', 'must be an object'],
    ['no version: it was replaced by a custom payload', { alerts: [] }, '/version', 'must be "4"'],
    ['another version', rawMessage(undefined, { version: '5' }), '/version', 'must be "4"'],
    ['the version as a number', rawMessage(undefined, { version: 4 }), '/version', 'must be "4"'],
    ['no alerts', rawMessage(null), '/alerts', 'must be a list'],
    ['an empty list of alerts', rawMessage([]), '/alerts', 'must hold an alert'],
    [
      'too many alerts',
      rawMessage(Array.from({ length: 10_001 }, () => 0)),
      '/alerts',
      'must hold at most 10000 alerts',
    ],
    ['an alert that is none', rawMessage([rawAlert(), 7]), '/alerts/1', 'expected object'],
    ['another status', rawMessage([rawAlert({ status: 'pending' })]), '/alerts/0/status', 'must be firing or resolved'],
    [
      'a status of the group that is none',
      rawMessage(undefined, { status: 1 }),
      '/status',
      'must be firing or resolved',
    ],
    ['a negative number of cut alerts', rawMessage(undefined, { truncatedAlerts: -1 }), '/truncatedAlerts', 'negative'],
    ['cut alerts as a text', rawMessage(undefined, { truncatedAlerts: '1' }), '/truncatedAlerts', 'a whole number'],
    ['common labels that are none', rawMessage(undefined, { commonLabels: [] }), '/commonLabels', 'must be a map'],
    ['no labels', rawMessage([{ ...rawAlert(), labels: undefined }]), '/alerts/0/labels', 'is missing'],
    ['labels that are a list', rawMessage([{ ...rawAlert(), labels: ['a'] }]), '/alerts/0/labels', 'must be a map'],
    [
      'a label that is a number',
      rawMessage([{ ...rawAlert(), labels: { gpu: 6 } }]),
      '/alerts/0/labels/gpu',
      'must be a text',
    ],
    [
      'a name that needs escapes',
      rawMessage([{ ...rawAlert(), labels: { 'a/b~c': 6 } }]),
      '/alerts/0/labels/a~1b~0c',
      'must be a text',
    ],
    ['a label without name', rawMessage([rawAlert({ labels: { '': 'v' } })]), '/alerts/0/labels/', 'no label name'],
    [
      'a name with a line break',
      rawMessage([rawAlert({ labels: { 'a\n': 'v' } })]),
      '/alerts/0/labels/a\n',
      'no label name',
    ],
    [
      'a long name',
      rawMessage([rawAlert({ labels: { ['x'.repeat(257)]: 'v' } })]),
      `/alerts/0/labels/${'x'.repeat(257)}`,
      'longer than 256',
    ],
    [
      'a long value',
      rawMessage([rawAlert({ labels: { a: 'x'.repeat(4097) } })]),
      '/alerts/0/labels/a',
      'longer than 4096',
    ],
    [
      'half a character',
      rawMessage([rawAlert({ labels: { a: '\ud800' } })]),
      '/alerts/0/labels/a',
      'not valid Unicode',
    ],
    ['too many labels', rawMessage([rawAlert({ labels: many(129) })]), '/alerts/0/labels', 'more than 128'],
    [
      'an annotation that is a number',
      rawMessage([rawAlert({ annotations: { a: 1 } })]),
      '/alerts/0/annotations/a',
      'must be a text',
    ],
    ['no beginning', rawMessage([{ ...rawAlert(), startsAt: undefined }]), '/alerts/0/startsAt', 'RFC 3339'],
    [
      'a beginning that is no time',
      rawMessage([rawAlert({ startsAt: 'yesterday' })]),
      '/alerts/0/startsAt',
      'RFC 3339',
    ],
    [
      'a beginning that was never set',
      rawMessage([rawAlert({ startsAt: '0001-01-01T00:00:00Z' })]),
      '/alerts/0/startsAt',
      'is not set',
    ],
    ['an end that is no time', rawMessage([rawAlert({ endsAt: 0 })]), '/alerts/0/endsAt', 'RFC 3339'],
    ['a short fingerprint', rawMessage([rawAlert({ fingerprint: 'e90d' })]), '/alerts/0/fingerprint', '16 hexadecimal'],
    [
      'a fingerprint that would break the key',
      rawMessage([rawAlert({ fingerprint: 'e90d@2026' })]),
      '/alerts/0/fingerprint',
      '16 hex',
    ],
  ])('is refused with %s', (_why, value, pointer, message) => {
    expect(refusalOf(value)).toEqual({ pointer, message: expect.stringContaining(message) });
  });

  it('is refused with a label that would change what objects are', () => {
    const text = JSON.stringify(rawMessage()).replace('"alertname":', '"__proto__":{"x":1},"alertname":');
    expect(parseAlertMessage(Buffer.from(text))).toMatchObject({ refusal: { pointer: '/alerts/0/labels/__proto__' } });
  });

  it.each([
    ['nothing', '', 'is not JSON'],
    ['half a message', JSON.stringify(rawMessage()).slice(0, 100), 'is not JSON'],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'is not UTF-8'],
    ['a million brackets', '['.repeat(1_000_000), 'is nested deeper than 32'],
    ['a million objects', '{"a":'.repeat(170_000), 'is nested deeper than 32'],
  ])('is refused where its body is %s', (_why, body, message) => {
    expect(parseAlertMessage(Buffer.from(body as string))).toEqual({
      refusal: { pointer: '', message: expect.stringContaining(message) },
    });
  });

  it('holds as many alerts as a body has room for', () => {
    const parsed = parse(rawMessage(Array.from({ length: MESSAGE_LIMITS.alerts }, () => rawAlert())));
    expect('value' in parsed && parsed.value.alerts.length).toBe(10_000);
  });
});

describe('the depth of a text', () => {
  const depthOf = (value: unknown): number =>
    typeof value !== 'object' || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(depthOf));

  it('is that of its value, whatever stands in its texts', () => {
    const anything = fc.oneof(
      fc.jsonValue(),
      fc.array(fc.constantFrom('[', '{', '"', '\\', '\\"[', ']}', '\u{1F9CA}')),
    );
    fc.assert(
      fc.property(anything, (value) => {
        const depth = depthOf(value);
        expect(isNestedDeeper(bytesOf(value), depth)).toBe(false);
        if (depth > 0) expect(isNestedDeeper(bytesOf(value), depth - 1)).toBe(true);
      }),
    );
  });
});
