import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Ledger, type LedgerOptions, openLedger } from '../../../actuator/ledger/ledger.ts';
import type { Case } from '../../../model/case.ts';
import type { Claim, Knob } from '../../../model/claim.ts';
import type { Change, HistoryEntry } from '../../../model/decision.ts';
import type { Target } from '../../../model/target.ts';
import type { OpenTrigger } from '../../../model/trigger.ts';

export const NOW: number = Date.UTC(2026, 2, 5, 21, 0, 0);
export const PCI = '0000:c1:00.0';
export const GPU: Target = { kind: 'gpu', pci: PCI };

/** A folder of the running test. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A ledger of the running test, which need not be closed by it. */
export function opened(file: string, options: Partial<LedgerOptions> = {}): Ledger {
  const ledger = openLedger(file, { now: () => NOW, waitMs: 0, ...options });
  onTestFinished(() => ledger.close());
  return ledger;
}

export const aCase = (id: string, more: Partial<Case> = {}): Case => ({
  id,
  policy: 'hot-junction-throttle',
  version: 'a1b2c3d4e5f60718',
  target: GPU,
  state: 'active',
  mode: 'enforce',
  triggers: ['5c1e3f0a9b7d2846@1760000000000'],
  openedAt: NOW,
  deadline: NOW + 360_000,
  knobs: [{ on: PCI, knob: 'power_cap' }],
  attempts: 0,
  reason: 'condition_true',
  ...more,
});

export const aTrigger = (key: string, more: Partial<OpenTrigger> = {}): OpenTrigger => ({
  source: 'alert',
  name: 'AmdGpuJunctionHot',
  key,
  phase: 'open',
  node: 'mi300x-07',
  target: GPU,
  since: NOW,
  at: NOW,
  values: { alertname: 'AmdGpuJunctionHot', gpu: '6', pci_address: PCI, severity: 'warning' },
  trusted: true,
  seenAt: NOW,
  ...more,
});

export const aKnob = (more: Partial<Knob> = {}): Knob => ({
  on: PCI,
  knob: 'power_cap',
  found: 750,
  state: 'unsettled',
  attempts: 0,
  notBefore: NOW,
  at: NOW,
  ...more,
});

export const aClaim = (id: string, more: Partial<Claim> = {}): Claim => ({
  case: id,
  on: PCI,
  knob: 'power_cap',
  atMost: 562.5,
  safety: true,
  ...more,
});

export const anEntry = (more: Partial<HistoryEntry> = {}): HistoryEntry => ({
  at: NOW,
  outcome: 'acted',
  reason: 'condition_true',
  policy: 'hot-junction-throttle',
  target: GPU,
  mode: 'enforce',
  detail: { value: 101.5, limit: 100 },
  ...more,
});

/** What one decision to act commits. */
export const aDecision = (id: string): Change[] => [
  { put: 'trigger', trigger: aTrigger(`5c1e3f0a9b7d2846@${id}`) },
  { put: 'case', case: aCase(id, { state: 'applying' }) },
  { put: 'claims', case: id, claims: [aClaim(id), aClaim(id, { knob: 'gfx_clock', atMost: 1500 })] },
  { put: 'act', policy: 'hot-junction-throttle', target: `gpu:${PCI}`, at: NOW },
  { add: 'history', entry: anEntry({ case: id }) },
];
