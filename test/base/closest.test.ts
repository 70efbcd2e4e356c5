import { describe, expect, it } from 'vitest';
import { closest, editDistance } from '../../base/closest.ts';

describe('editDistance', () => {
  it.each([
    ['', 'abc', 3],
    ['abc', 'abc', 0],
    ['abc', 'acb', 1],
    ['kitten', 'sitting', 3],
    ['cert_file', 'certfile', 1],
  ])('from %j to %j is %d', (a, b, edits) => {
    expect(editDistance(a, b)).toBe(edits);
    expect(editDistance(b, a)).toBe(edits);
  });
});

describe('closest', () => {
  it('finds what was meant and stays silent where nothing is near', () => {
    const known = ['cert_file', 'key_file', 'client_ca_file'];
    expect(closest('cert_fiel', known)).toBe('cert_file');
    expect(closest('KEY_FILE', known)).toBe('key_file');
    expect(closest('banana', known)).toBeUndefined();
    expect(closest('', known)).toBeUndefined();
  });
});
