import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../../actuator/intake/fingerprint.ts';
import { sameNode, whoseAlert } from '../../../actuator/intake/node-name.ts';
import { canonicalPci, gpuNumber } from '../../../actuator/intake/pci.ts';

describe('a PCI address', () => {
  it.each([
    ['as the kernel writes it', '0000:c1:00.0', '0000:c1:00.0'],
    ['without domain', 'c1:00.0', '0000:c1:00.0'],
    ['in upper case', '0000:C1:00.0', '0000:c1:00.0'],
    ['with a domain of eight digits', '00000000:C1:00.0', '0000:c1:00.0'],
    ['in a domain that needs five', '10000:e1:1f.7', '10000:e1:1f.7'],
    ['with blanks about it', ' 0000:c1:00.0 ', '0000:c1:00.0'],
    ['that only KFD knows', 'kfd-51123', 'kfd-51123'],
    ['without function', '0000:c1:00', undefined],
    ['with device 20, of which there are 1f', '0000:c1:20.0', undefined],
    ['with function 8', '0000:c1:00.8', undefined],
    ['of letters', 'zz:00.0', undefined],
    ['with a short domain', '0:c1:00.0', undefined],
    ['of nothing', '', undefined],
  ])('%s', (_why, text, canonical) => {
    expect(canonicalPci(text)).toBe(canonical);
  });

  it('is its own canonical form', () => {
    const hex = (min: number, max: number) => fc.stringMatching(new RegExp(`^[0-9a-fA-F]{${min},${max}}$`));
    fc.assert(
      fc.property(hex(4, 8), hex(2, 2), (domain, bus) => {
        const once = canonicalPci(`${domain}:${bus}:00.0`);
        expect(canonicalPci(once!)).toBe(once);
      }),
    );
  });
});

it.each([
  ['0', 0],
  ['15', 15],
  [' 3 ', 3],
  ['03', undefined],
  ['-1', undefined],
  ['1.0', undefined],
  ['1e3', undefined],
  ['0x1', undefined],
  ['all', undefined],
  ['99999', undefined],
])('the number %j of a GPU is %s', (text, number) => {
  expect(gpuNumber(text)).toBe(number);
});

describe('whose alert it is', () => {
  it.each([
    ['the label node', { node: 'mi300x-07' }, 'ours'],
    ['another node', { node: 'mi300x-08' }, 'other'],
    ['in other case, with the root dot', { node: 'MI300X-07.' }, 'ours'],
    ['qualified, where we are short', { node: 'mi300x-07.lab.example' }, 'ours'],
    ['a longer name that begins like ours', { node: 'mi300x-070' }, 'other'],
    ['node before instance', { node: 'mi300x-08', instance: 'mi300x-07:9510' }, 'other'],
    ['the host of instance', { instance: 'mi300x-07:9510' }, 'ours'],
    ['the host of instance, another', { instance: 'mi300x-08:9510' }, 'other'],
    ['instance without port', { instance: 'mi300x-07.lab.example' }, 'ours'],
    ['instance as a URL', { instance: 'http://mi300x-07:9510/metrics' }, 'ours'],
    ['instance as an address, of which we know nothing', { instance: '10.0.0.7:9510' }, 'other'],
    ['instance as an IPv6 address', { instance: '[2001:db8::7]:9510' }, 'other'],
    ['an empty node, which is none', { node: '', instance: 'mi300x-07:9510' }, 'ours'],
    ['loopback, which is every node', { instance: 'localhost:9510' }, 'unsaid'],
    ['IPv4 loopback', { instance: '127.0.0.1:9510' }, 'unsaid'],
    ['IPv6 loopback', { instance: '[::1]:9510' }, 'unsaid'],
    ['nothing', {}, 'unsaid'],
  ] as const)('%s', (_why, labels, whose) => {
    expect(whoseAlert(labels, 'mi300x-07')).toBe(whose);
  });

  it.each([
    ['both qualified, other domains', 'a.x.example', 'a.y.example', false],
    ['both qualified, equal', 'a.x.example', 'A.X.example', true],
    ['we are qualified, the alert is short', 'a', 'a.x.example', true],
    ['addresses have no first part', '10.0.0.7', '10', false],
    ['equal addresses', '10.0.0.7', '10.0.0.7', true],
  ])('names: %s', (_why, one, other, same) => {
    expect(sameNode(one, other)).toBe(same);
    expect(sameNode(other, one)).toBe(same);
  });
});

// Fingerprints that Alertmanager 0.25 itself gave to these labels.
it.each([
  ['one label', { alertname: 'A' }, 'd2c6efc389df0927'],
  [
    'several, with a character of two bytes',
    { zone: 'Z\u00fcrich', node: 'mi300x-07', gpu: '6', alertname: 'B' },
    'a71e626faa99d256',
  ],
  ['another set of the same alert', { alertname: 'B', z: '1' }, '2850657b0e51c95b'],
] as const)('a fingerprint that is left out is computed as Alertmanager does: %s', (_why, labels, fingerprint) => {
  expect(fingerprintOf(labels)).toBe(fingerprint);
});
