import { existsSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBootId, parseBtime, parseStartTime } from '../../linux/stat.ts';
import { nearly, numbersIn, padding, u64 } from '../amdgpu/formats/arbitraries.ts';
import { skipUnless } from '../support/skips.ts';

/** Fields 3 to 21 of /proc/PID/stat, none of them equal to a start time used below. */
const BEFORE = 'S 1 2 2 0 -1 4194560 10 0 1 0 3 4 0 0 20 0 1 0';
const AFTER = '1234567 890 18446744073709551615 1 1 0 0 0 0 0';

describe('start time of a process', () => {
  it('is the 22nd field, in ticks', () => {
    expect(parseStartTime(`132174 (llama-server) ${BEFORE} 987654 ${AFTER}\n`)).toBe(987654n);
  });

  it('is found behind a command name with blanks and brackets', () => {
    for (const name of ['tmux: server', 'a) R 1 2 (b', ')', '(', 'x) ) (', ''])
      expect(parseStartTime(`7 (${name}) ${BEFORE} 987654 ${AFTER}\n`), name).toBe(987654n);
  });

  it('is absent when the line is cut short or is something else', () => {
    for (const text of [
      '',
      '\n',
      '7 (x) S 1 2 3\n',
      'x (y) z\n',
      `7 x ${BEFORE} 5\n`,
      `(x) ${BEFORE} 5 6\n`,
      `7 (x) ${BEFORE} -5 6\n`,
    ])
      expect(parseStartTime(text)).toBeUndefined();
  });

  it('comes back exactly, whatever the process calls itself', () => {
    fc.assert(
      fc.property(fc.nat(4194304), fc.string({ maxLength: 15 }), u64, padding, (pid, comm, start, rest) => {
        const name = comm.replaceAll('\0', '');
        expect(parseStartTime(`${pid} (${name}) ${BEFORE} ${start} ${AFTER}\n${rest}`)).toBe(start);
      }),
    );
  });

  it('is read from this very process', () => {
    skipUnless(existsSync('/proc/self/stat'), 'this system has no /proc');
    const boot = parseBtime(readFileSync('/proc/stat', 'utf8'))!;
    const start = boot + Number(parseStartTime(readFileSync('/proc/self/stat', 'utf8'))!) / 100;
    const uptime = performance.timeOrigin / 1000;
    expect(Math.abs(start - uptime)).toBeLessThan(60);
    expect(parseBootId(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))).toBeDefined();
  });
});

describe('boot of the machine', () => {
  it('is a time in seconds since the epoch', () => {
    expect(parseBtime('cpu  1 2 3\nintr 5 6\nctxt 9\nbtime 1700000000\nprocesses 7\n')).toBe(1700000000);
    expect(parseBtime('btime 5')).toBe(5);
  });

  it('is absent without its line', () => {
    for (const text of ['', '\n', 'cpu 1\n', 'xbtime 5\n', 'btime\n', 'btime x\n', 'btime -1\n', 'cpu\0\nbtime 5\n'])
      expect(parseBtime(text)).toBeUndefined();
  });

  it('has an id, a UUID in lower case', () => {
    expect(parseBootId('6C2B7F0E-1b1d-4a52-9a35-0f6f3f0a9f11\n\0')).toBe('6c2b7f0e-1b1d-4a52-9a35-0f6f3f0a9f11');
    for (const text of ['', '\n', '6c2b7f0e\n', '6c2b7f0e-1b1d-4a52-9a35-0f6f3f0a9f11x\n'])
      expect(parseBootId(text)).toBeUndefined();
  });

  it('comes back exactly for every time and id', () => {
    fc.assert(
      fc.property(fc.nat(), fc.uuid(), padding, (seconds, id, rest) => {
        expect(parseBtime(`cpu  1\nbtime ${seconds}\nprocesses 1\n${rest}`)).toBe(seconds);
        expect(parseBootId(`${id}\n${rest}`)).toBe(id);
      }),
    );
  });
});

describe('any text of /proc', () => {
  it('yields no number that does not stand in it', () => {
    fc.assert(
      fc.property(
        nearly('7 (x) ', `${BEFORE} `, 'btime ', '\nbtime ', ') ', ' (', '\n', '6c2b7f0e-1b1d-4a52-9a35-0f6f3f0a9f11'),
        (text) => {
          const there = numbersIn(text);
          for (const number of [parseStartTime(text), parseBtime(text)])
            if (number !== undefined) expect(there).toContain(String(number));
          const id = parseBootId(text);
          if (id !== undefined) expect(text.toLowerCase()).toContain(id);
        },
      ),
    );
  });
});
