import { describe, expect, it } from 'vitest';
import { acceptsGzip, deadlineOf } from '../../exporter/scrape.ts';

describe('the deadline of a scrape', () => {
  it('leaves a fifth of what Prometheus waits, and half a second at most, for the way', () => {
    expect(deadlineOf('1', 5000)).toBe(800);
    expect(deadlineOf('10', 5000)).toBe(9500);
    expect(deadlineOf('0.5', 5000)).toBe(400);
  });

  it('is never too short for anything at all', () => {
    expect(deadlineOf('0.01', 5000)).toBe(50);
  });

  it('is our own for clients that do not say, or say nonsense', () => {
    for (const header of [undefined, '', '0', '-3', 'soon', 'Infinity', 'NaN'])
      expect(deadlineOf(header, 5000)).toBe(5000);
  });
});

describe('gzip', () => {
  it.each(['gzip', 'deflate, gzip;q=0.5', 'x-gzip', '*', 'GZIP', 'br;q=1.0, gzip;q=0.001'])(
    'is taken by %s',
    (header) => {
      expect(acceptsGzip(header)).toBe(true);
    },
  );

  it.each([undefined, '', 'deflate', 'identity', 'gzip;q=0', 'gzip; q=0.000', 'gzipped'])(
    'is not taken by %s',
    (header) => {
      expect(acceptsGzip(header)).toBe(false);
    },
  );

  it('refused by name is refused, whatever the rest may be', () => {
    expect(acceptsGzip('*, gzip;q=0')).toBe(false);
    expect(acceptsGzip('gzip;q=0, *')).toBe(false);
  });
});
