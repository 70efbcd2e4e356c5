// Commits without end, and says after each commit which one it was: what it said must be there, however it dies.
import { writeSync } from 'node:fs';
import { openLedger } from '../../../dist/actuator/ledger/ledger.js';

const ledger = openLedger(process.argv[2], { now: () => Date.now(), waitMs: 0 });
const on = '0000:c1:00.0';
const begun = ledger.load().knobs.get(`${on} power_cap`)?.wrote ?? 0;
for (let i = begun + 1; ; i++) {
  const at = Date.now();
  const target = { kind: 'gpu', pci: on };
  const id = `case-${i}`;
  ledger.commit([
    {
      put: 'knob',
      knob: { on, knob: 'power_cap', found: 750, wrote: i, state: 'settled', attempts: 0, notBefore: at, at },
    },
    { put: 'claims', case: `case-${i - 1}`, claims: [] },
    { put: 'claims', case: id, claims: [{ case: id, on, knob: 'power_cap', atMost: i, safety: true }] },
    { put: 'act', policy: 'p', target: on, at },
    { add: 'history', entry: { at, outcome: 'acted', reason: 'condition_true', target, case: id, detail: { i } } },
  ]);
  if (i % 50 === 0) ledger.prune(at, { historyRows: 1_000_000, actsMs: 20 });
  writeSync(1, `${i}\n`);
}
