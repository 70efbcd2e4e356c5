import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { hostLockHolder } from '../../actuator/host-lock.ts';
import { openLedger } from '../../actuator/ledger/ledger.ts';
import { loadRuleFiles, readRules } from '../../actuator/rules-folder.ts';
import { CardKnobs } from '../../amdgpu/knobs/device.ts';
import { LanePool } from '../../amdgpu/lanes/pool.ts';
import type { AmdNode } from '../../amdgpu/node.ts';
import { openBearerTokens } from '../../base/bearer.ts';
import type { Clock } from '../../base/clock.ts';
import { describe, errnoOf, NightshiftError } from '../../base/errors.ts';
import type { KnobFacts } from '../../model/claim.ts';
import { statusOf } from '../talk/answers.ts';
import { talkTo } from '../talk/client.ts';

/** Whether an actuator that ran as this user could act, and what would keep it from it. Nothing is written and nothing is held. */

export interface ActuatorPlaces {
  sysfs: string;
  ledger: string;
  rules: string;
  tokenFile?: string | undefined;
}

/** One thing that an actuator needs. */
export interface Check {
  what: 'host lock' | 'ledger' | 'rules' | 'control socket' | 'token file';
  /** `missing`: fine where no actuator is to run here. */
  verdict: 'well' | 'missing' | 'bad';
  state: string;
}

export interface ActuatorReport {
  /** What can be set on each GPU, and why not. */
  cards: { gpu: number; pci: string; knobs: KnobFacts[]; protected: boolean }[];
  checks: Check[];
}

export async function examineActuator(
  node: Pick<AmdNode, 'cards'>,
  { clock, laneDeadlineMs }: { clock: Clock; laneDeadlineMs: number },
  places: ActuatorPlaces,
): Promise<ActuatorReport> {
  // Only lanes that may write know whether they could; here they are asked for rights, and no way leads to a write.
  const pool = new LanePool({ clock, itemDeadline: laneDeadlineMs, writable: true });
  const port = new CardKnobs({
    node,
    pool: { run: (...asked) => pool.run(...asked), write: async () => ({ op: 'lost' }) },
    clock,
  });
  try {
    await port.look();
  } finally {
    pool.close();
  }
  const kept = await protectedOf(places.ledger);
  const cards = node.cards.map(({ pci, found }) => ({
    gpu: found.card.gpu,
    pci,
    knobs: [...port.facts(pci).values()],
    protected: kept.has(pci),
  }));
  return { cards, checks: await checksOf(places, clock) };
}

/** Cards that a running actuator was told not to touch; nobody knows where none answers. */
async function protectedOf(ledger: string): Promise<ReadonlySet<string>> {
  if (!existsSync(`${ledger}.sock`)) return new Set();
  const talk = talkTo({ ledger, 'actuator.url': undefined, 'web.bearer-token-file': undefined });
  const status = await statusOf(talk).catch(() => undefined);
  return new Set(status?.cards.filter((card) => card.protected).map(({ pci }) => pci));
}

async function checksOf({ sysfs, ledger, rules, tokenFile }: ActuatorPlaces, clock: Clock): Promise<Check[]> {
  return [
    await hostLock(sysfs),
    ledgerCheck(ledger, clock),
    rulesCheck(rules),
    await socketCheck(`${ledger}.sock`),
    ...(tokenFile === undefined ? [] : [tokenCheck(tokenFile)]),
  ];
}

async function hostLock(sysfs: string): Promise<Check> {
  const what = 'host lock';
  try {
    const holder = await hostLockHolder(sysfs);
    if (holder === undefined) return { what, verdict: 'well', state: 'free: no actuator acts on these cards' };
    if (holder !== 'unknown') {
      return { what, verdict: 'well', state: `process ${holder.pid} acts on these cards (ledger ${holder.ledger})` };
    }
    return {
      what,
      verdict: 'bad',
      state: 'held by a process that does not say who it is; an actuator would only observe',
    };
  } catch (error) {
    return { what, verdict: 'bad', state: describe(error) };
  }
}

function ledgerCheck(file: string, clock: Clock): Check {
  const what = 'ledger';
  const folder = dirname(file);
  const barred = barredFrom(folder, constants.W_OK | constants.X_OK);
  if (barred === 'ENOENT') return { what, verdict: 'missing', state: `its folder ${folder} is not there` };
  if (barred !== undefined)
    return { what, verdict: 'bad', state: `its folder ${folder} cannot be written (${barred})` };
  if (!existsSync(file)) return { what, verdict: 'well', state: `${file} will be made at the first start` };
  try {
    const ledger = openLedger(file, { now: () => clock.now(), readOnly: true, waitMs: 200 });
    try {
      const { knobs, cases } = ledger.load();
      const open = `${file}: ${cases.size} open cases, ${knobs.size} settings on cards`;
      if (knobs.size === 0) return { what, verdict: 'well', state: open };
      return { what, verdict: 'bad', state: `${open} of an actuator that does not run: nightshift revert --offline` };
    } finally {
      ledger.close();
    }
  } catch (error) {
    // Who holds it is alive, and reads it better.
    const isHeld = error instanceof NightshiftError && error.code === 'LEDGER_LOCKED';
    return isHeld
      ? { what, verdict: 'well', state: `${file}: held by a running actuator` }
      : { what, verdict: 'bad', state: describe(error) };
  }
}

function rulesCheck(path: string): Check {
  const what = 'rules';
  try {
    const files = readRules([path]);
    const { rules, problems } = loadRuleFiles(files);
    const errors = problems.filter(({ severity }) => severity === 'error').length;
    if (rules === undefined)
      return { what, verdict: 'bad', state: `${path}: ${errors} errors, see nightshift check ${path}` };
    const enforcing = rules.policies.filter(({ mode }) => mode === 'enforce').length;
    const state = `${path}: ${rules.policies.length} policies, ${enforcing} with mode: enforce`;
    return { what, verdict: 'well', state };
  } catch (error) {
    const isMissing = error instanceof NightshiftError && error.code === 'RULES_NOT_FOUND';
    return {
      what,
      verdict: isMissing ? 'missing' : 'bad',
      state: isMissing ? `${path} is not there` : describe(error),
    };
  }
}

async function socketCheck(path: string): Promise<Check> {
  const what = 'control socket';
  const barred = barredFrom(dirname(path), constants.X_OK);
  if (barred === 'ENOENT') return { what, verdict: 'missing', state: `its folder ${dirname(path)} is not there` };
  if (!existsSync(path)) return { what, verdict: 'well', state: `${path} will be made by the actuator` };
  const errno = await connectTo(path);
  if (errno === undefined) return { what, verdict: 'well', state: `${path} answers` };
  if (errno === 'ECONNREFUSED')
    return { what, verdict: 'well', state: `${path} is left from an actuator that has ended` };
  return { what, verdict: 'bad', state: `${path}: this user may not speak to the actuator (${errno})` };
}

function connectTo(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error) => resolve(errnoOf(error) ?? 'unknown error'));
  });
}

function tokenCheck(file: string): Check {
  const what = 'token file';
  try {
    const { warnings } = openBearerTokens(file);
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '').length;
    if (warnings[0] !== undefined) return { what, verdict: 'bad', state: warnings[0] };
    return { what, verdict: 'well', state: `${file}: ${lines === 1 ? '1 token' : `${lines} tokens`}` };
  } catch (error) {
    return { what, verdict: 'bad', state: describe(error) };
  }
}

/** The errno that keeps this user from it, if anything does. */
function barredFrom(folder: string, mode: number): string | undefined {
  try {
    if (!statSync(folder).isDirectory()) return 'ENOTDIR';
    accessSync(folder, mode);
    return undefined;
  } catch (error) {
    return errnoOf(error) ?? 'unknown error';
  }
}
