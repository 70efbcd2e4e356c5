import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { openLedger } from '../../actuator/ledger/ledger.ts';
import type { Change } from '../../model/decision.ts';
import { type Times, timesOf } from './times.ts';

/** Durable commits, one after the other. Milliseconds. */
export interface Commits {
  /** Of what one decision to act changes: five rows. */
  ledger: Times;
  perSecond: number;
  /** One write of a page and its fdatasync, in the same folder: below this no durable commit can be. */
  floor: Times;
}

export interface BuiltLedger {
  openLedger: typeof openLedger;
}

const PAGE = 4096;

export function measureCommits({ openLedger }: BuiltLedger, folder: string, count: number): Commits {
  const ledger = openLedger(join(folder, 'commits.db'), { now: () => Date.now(), waitMs: 0 });
  const list: number[] = [];
  for (let i = 0; i < count; i++) {
    const changes = changesOf(i);
    const start = performance.now();
    ledger.commit(changes);
    list.push(performance.now() - start);
  }
  ledger.close();
  const total = list.reduce((sum, ms) => sum + ms, 0);
  return { ledger: timesOf(list), perSecond: (count * 1000) / total, floor: measureDurable(folder, count) };
}

/** Writes a page over and over, each time until it is on the disk. */
export function measureDurable(folder: string, count: number): Times {
  const file = openSync(join(folder, 'durable'), 'w');
  const page = Buffer.alloc(PAGE, 1);
  const list: number[] = [];
  // As a log is: written once to its length, then over again.
  for (let i = 0; i < 256; i++) writeSync(file, page, 0, PAGE, i * PAGE);
  fdatasyncSync(file);
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    writeSync(file, page, 0, PAGE, (i % 256) * PAGE);
    fdatasyncSync(file);
    list.push(performance.now() - start);
  }
  closeSync(file);
  return timesOf(list);
}

function changesOf(i: number): Change[] {
  const pci = `0000:${(16 + (i % 8)).toString(16)}:00.0`;
  const target = { kind: 'gpu', pci } as const;
  const id = `hot.${i % 64}`;
  const at = 1_772_744_400_000 + i;
  const one = { policy: 'hot', target, mode: 'enforce' } as const;
  return [
    {
      put: 'case',
      case: {
        ...one,
        id,
        version: 'a1b2c3d4e5f6',
        state: 'applying',
        triggers: ['5c1e3f0a9b7d2846@2026-03-05T20:58:37.482Z'],
        openedAt: at,
        deadline: at + 360_000,
        knobs: [{ on: pci, knob: 'power_cap' }],
        attempts: 0,
        reason: 'condition_true',
      },
    },
    { put: 'claims', case: id, claims: [{ case: id, on: pci, knob: 'power_cap', atMost: 525, safety: true }] },
    { put: 'act', policy: 'hot', target: `gpu:${pci}`, at },
    { put: 'cooldown', policy: 'hot', target: `gpu:${pci}`, until: at },
    {
      add: 'history',
      entry: { ...one, at, outcome: 'acted', reason: 'condition_true', case: id, detail: { when: true, watts: 525 } },
    },
  ];
}
