import { formatDuration } from '../../base/durations.ts';
import { printable } from '../../linux/process.ts';
import type { Claim, Knob, KnobName } from '../../model/claim.ts';
import type { DecisionReason } from '../../model/decision.ts';
import { type Target, targetKey } from '../../model/target.ts';
import type { Status } from './answers.ts';

/** Words and numbers for people, the same in every command. */

/** What each reason means for one policy and one GPU, as the rest of a sentence. */
const REASONS: Readonly<Record<DecisionReason | 'no_trigger', string>> = {
  condition_true: 'its condition is true',
  condition_false: 'its condition is false',
  condition_unknown: 'its condition cannot be known: a value is missing or too old',
  condition_holds: 'its condition holds',
  trigger_renewed: 'its trigger was told again',
  trigger_closed: 'its trigger has ended',
  no_trigger: 'none of its triggers is open',
  policy_off: 'it is switched off (mode: off)',
  policy_gone: 'its policy is no longer in the rules',
  paused: 'a person paused it',
  breaker_open: 'too many acts failed, and the breaker is open until a person closes it',
  frozen: 'the ledger could not be read, so nothing is begun',
  cooldown: 'it acted here a short while ago and is in its cooldown',
  rate: 'too many acts in the last minute',
  limit_gpus: 'it holds as many GPUs as it may',
  limit_percent: 'it holds as large a share of the GPUs as it may',
  protected: 'the GPU is protected (--protect)',
  card_not_ok: 'the GPU does not answer as it should',
  not_adjustable: 'nothing that it sets can be set on this GPU',
  no_target: 'its trigger names no GPU of this node',
  number_moved: 'the number in its trigger means another GPU than when it began',
  untrusted: 'its trigger came from somebody unknown, and it has no condition of its own',
  workload_unknown: 'it is about a workload, and none is known',
  rung_changed: 'the value it follows went to another rung',
  blind_to_floor: 'its sensor went blind, so the limit is the lowest there is',
  sensor_back: 'its sensor answers again',
  now_adjustable: 'what could not be set when it began can be set now',
  settled: 'in force, and read back',
  write_failed: 'the card did not take it',
  release_condition: 'its release condition held long enough',
  lease_expired: 'its lease ended',
  released_by_person: 'a person released it',
  reverted: 'a person had everything given back',
  given_back: 'given back',
  overridden: 'somebody else set another value, which was left alone',
  card_gone: 'the GPU is gone',
};

export const reasonText = (reason: string): string =>
  REASONS[reason as DecisionReason] ?? printable(reason.replaceAll('_', ' '));

export const unitOfKnob = (knob: KnobName): string => (knob === 'power_cap' ? 'W' : knob === 'dmem' ? 'B' : 'MHz');

const KNOB_NAMES: Readonly<Record<KnobName, string>> = {
  power_cap: 'power cap',
  gfx_clock: 'graphics clock',
  mem_clock: 'memory clock',
  dmem: 'device memory',
};
export const knobText = (knob: KnobName): string => KNOB_NAMES[knob];

export const valueText = (knob: KnobName, value: number | undefined): string =>
  value === undefined ? 'unknown' : `${Number(value.toPrecision(6))} ${unitOfKnob(knob)}`;

/** `power cap ≤ 600 W (found 750 W, now 600 W)`. */
export function claimText(claim: Claim, row: Knob | undefined): string {
  const wish = `${knobText(claim.knob)} ≤ ${valueText(claim.knob, claim.atMost)}`;
  return row === undefined ? wish : `${wish} (${rowText(row)})`;
}

export function rowText({ knob, found, wrote, state, detail }: Knob): string {
  if (state === 'foreign') return `found ${valueText(knob, found)}, set by somebody else since, and left so`;
  const now = wrote === undefined ? 'not written yet' : `now ${valueText(knob, wrote)}`;
  const trouble = state === 'settled' ? '' : `, ${state}${detail === undefined ? '' : `: ${printable(detail)}`}`;
  return `found ${valueText(knob, found)}, ${now}${trouble}`;
}

/** Whole seconds; `0s` where it is over. */
export const lasting = (ms: number): string => formatDuration(Math.max(0, Math.round(ms / 1000)) * 1000);

/** Age of a value, to a tenth of a second while it is young. */
export const ageText = (ms: number): string => (ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : lasting(ms));

/** Time of the clock on this machine's wall. */
export function clockText(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `GPU 2 (0000:26:00.0)`, or the address alone where no number is known. */
export function targetText(target: Target | undefined, cards: Status['cards']): string {
  if (target === undefined) return '';
  if (target.kind !== 'gpu') return target.kind === 'node' ? 'the node' : printable(targetKey(target));
  const gpu = numberOf(target.pci, cards);
  return gpu === undefined ? `GPU ${printable(target.pci)}` : `GPU ${gpu} (${target.pci})`;
}

/** `2 0000:26:00.0`, for tables. */
export function targetCell(target: Target | undefined, cards: Status['cards']): string {
  if (target?.kind !== 'gpu') return target === undefined ? '' : printable(targetKey(target));
  return `${numberOf(target.pci, cards) ?? '?'} ${printable(target.pci)}`;
}

const numberOf = (pci: string, cards: Status['cards']): number | undefined =>
  cards.find((card) => card.pci === pci)?.gpu;

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length);
    });
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
