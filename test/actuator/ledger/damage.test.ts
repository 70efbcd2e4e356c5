import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLedger } from '../../../actuator/ledger/ledger.ts';
import { salvageKnobs } from '../../../actuator/ledger/salvage.ts';
import type { LedgerState } from '../../../actuator/ledger/state.ts';
import type { Change } from '../../../model/decision.ts';
import { aCase, aClaim, aKnob, anEntry, aTrigger, NOW, opened } from './samples.ts';

const BROKEN = expect.objectContaining({ code: 'LEDGER_BROKEN', fault: 'environment' });

/** 16 cards under throttle, with a past. */
function fill(file: string): LedgerState {
  const ledger = openLedger(file, { now: () => NOW });
  for (let i = 0; i < 16; i++) {
    const [id, on] = [`case-${i}`, `0000:${i.toString(16).padStart(2, '0')}:00.0`];
    const changes: Change[] = [
      { put: 'trigger', trigger: aTrigger(`fingerprint-${i}@${NOW}`) },
      { put: 'case', case: aCase(id, { target: { kind: 'gpu', pci: on } }) },
      { put: 'claims', case: id, claims: [aClaim(id, { on })] },
      { put: 'knob', knob: aKnob({ on, wrote: 500 + i }) },
      { put: 'cooldown', policy: 'p', target: on, until: NOW },
      { put: 'act', policy: 'p', target: on, at: NOW },
      { put: 'number', gpu: i, pci: on, since: NOW },
      { put: 'case', case: aCase(`ended-${i}`, { state: 'released', closedAt: NOW }) },
      { add: 'history', entry: anEntry({ case: id }) },
    ];
    ledger.commit(changes);
  }
  const state = ledger.load();
  ledger.close();
  return state;
}

const REFUSED = ['LEDGER_BROKEN', 'LEDGER_NEWER', 'LEDGER_UNWRITABLE'];

let folder: string;
let good: string;
let state: LedgerState;
let bytes: Buffer;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-damage-'));
  good = join(folder, 'good.db');
  state = fill(good);
  bytes = readFileSync(good);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a file with a flipped bit', () => {
  it('is refused, or is what it was: no value of it is another one', () => {
    // A generator of its own, so that a failure can be seen again.
    let seed = 20_260_305;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    const counts = { refused: 0, harmless: 0 };
    for (let i = 0; i < 300; i++) {
      const at = random(bytes.length);
      const bad = Buffer.from(bytes);
      bad[at]! ^= 1 << random(8);
      const file = join(folder, `flip-${i}.db`);
      writeFileSync(file, bad);
      try {
        const ledger = opened(file, { readOnly: true });
        expect({ at, state: ledger.load() }).toEqual({ at, state });
        counts.harmless += 1;
      } catch (error) {
        // The head holds versions too: a flipped one says that a newer program wrote the file, or that it is not to be written.
        expect({ at, refused: REFUSED.includes((error as { code: string }).code), error }).toMatchObject({
          at,
          refused: true,
        });
        counts.refused += 1;
      }
    }
    expect(counts.refused).toBeGreaterThan(50);
    expect(counts.harmless).toBeGreaterThan(50);
  }, 60_000);
});

describe('a broken ledger', () => {
  const ofGood = (name: string, change: (file: string) => void) => (): string => {
    const file = join(folder, `${name}.db`);
    copyFileSync(good, file);
    change(file);
    return file;
  };
  /** A file of SQLite says at byte 68 whose it is. */
  const foreign = (file: string): void => {
    const content = readFileSync(file);
    content.writeUInt32BE(0x0f055112, 68);
    writeFileSync(file, content);
  };
  const edited = (name: string, text: string) =>
    ofGood(name, (file) => {
      const db = new Database(file);
      db.exec(text);
      db.close();
    });
  const made = (name: string, content: string) => (): string => {
    const file = join(folder, `${name}.db`);
    writeFileSync(file, content);
    return file;
  };

  it.each([
    ['a file of something else', made('text', 'no database at all\n'.repeat(500))],
    ['a file of a few bytes', made('short', 'x')],
    ['a file cut within its head', ofGood('head', (file) => truncateSync(file, 60))],
    ['a file cut at a page', ofGood('page', (file) => truncateSync(file, 8192))],
    ['a file cut in a page', ofGood('in-page', (file) => truncateSync(file, 10_000))],
    ['a database of another program', ofGood('app', foreign)],
    ['a database that lacks a table', edited('table', 'DROP TABLE knobs')],
    ['a value that was changed by hand', edited('hand', "UPDATE knobs SET body = replace(body, '750', '950')")],
    ['a value that was put under another key', edited('key', "UPDATE claims SET key = 'x' WHERE key = 'case-1'")],
  ])('is told: %s', (_what, make) => {
    const file = make();
    expect(() => opened(file).load()).toThrow(BROKEN);
  });

  it('that cannot be opened is left as it was found', () => {
    const file = ofGood('untouched', (path) => truncateSync(path, 8192))();
    const before = readFileSync(file);
    expect(() => opened(file)).toThrow(BROKEN);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('is found by a look at everything where only the past is damaged', () => {
    const file = edited('past', "UPDATE closed_cases SET body = '{}' WHERE key = 'ended-3'")();
    const ledger = opened(file);
    expect(ledger.load()).toEqual(state);
    expect(() => ledger.cases()).toThrow(BROKEN);
    expect(() => ledger.checkIntegrity()).toThrow(BROKEN);
  });

  it('still gives back what was found on the cards, whole rows only', () => {
    const file = edited('salvage', "UPDATE knobs SET body = replace(body, '750', '950') WHERE key LIKE '0000:03%'")();
    const { knobs, damaged, complete } = salvageKnobs(file);
    expect(() => opened(file).load()).toThrow(BROKEN);
    expect([knobs.length, damaged, complete]).toEqual([15, 1, true]);
    expect(knobs.map(({ on }) => on)).not.toContain('0000:03:00.0');
    expect(new Set(knobs.map(({ found }) => found))).toEqual(new Set([750]));
  });

  it('gives back nothing where there is nothing', () => {
    expect(() => salvageKnobs(join(folder, 'none.db'))).toThrow(expect.objectContaining({ code: 'LEDGER_MISSING' }));
    expect(() => salvageKnobs(made('nothing', 'x'.repeat(5000))())).toThrow(BROKEN);
  });
});
