import type { Evaluated, Explanation } from '../../actuator/decide/explain.ts';
import { printable } from '../../linux/process.ts';
import type { Unit } from '../../model/units.ts';
import { quantityOf } from '../../rules/language/quantities.ts';
import { formatMeasure } from '../../rules/language/units.ts';
import type { Explained, Status } from './answers.ts';
import { renderHistory } from './history-text.ts';
import { ageText, claimText, lasting, reasonText, targetText } from './words.ts';

/** What is of no interest where nobody asked for it: most policies wait most of the time. */
const WAITING = new Set(['no_trigger', 'policy_off', 'condition_false']);

/** Sentences for somebody who was woken up. `asked`: a policy, a GPU or a case was named, so everything about it is told. */
export function renderExplain(
  { at, explanations, history }: Explained,
  cards: Status['cards'],
  asked: boolean,
): string {
  if (explanations.length === 0 && history !== undefined) {
    return `That case is over. What happened in it:\n\n${renderHistory(history, cards)}`;
  }
  const isTold = (one: Explanation): boolean => asked || one.case !== undefined || !WAITING.has(one.reason);
  const told = explanations.filter(isTold).sort((a, b) => Number(a.case === undefined) - Number(b.case === undefined));
  const blocks = told.map((one) => block(one, at, cards).join('\n'));
  const rest = waiting(
    explanations.filter((one) => !isTold(one)),
    cards,
  );
  if (rest.length > 0) blocks.push([told.length === 0 ? 'Nothing is held.' : 'All others wait:', ...rest].join('\n'));
  if (blocks.length === 0) blocks.push('No policy is loaded.');
  return `${blocks.join('\n\n')}\n`;
}

/** One line for each policy and reason, with the GPUs that it is so for. */
function waiting(explanations: readonly Explanation[], cards: Status['cards']): string[] {
  if (explanations.length === 0) return [];
  const groups = new Map<string, string[]>();
  for (const { policy, reason, target } of explanations) {
    const key = `${printable(policy)} waits: ${reasonText(reason)}`;
    const number = target.kind === 'gpu' ? cards.find(({ pci }) => pci === target.pci)?.gpu : undefined;
    groups.set(key, [...(groups.get(key) ?? []), number === undefined ? 'the node' : String(number)]);
  }
  const lines = [...groups].map(
    ([key, where]) => `  ${key} (${where[0] === 'the node' ? '' : 'GPU '}${where.join(', ')})`,
  );
  return [...lines, '  More of one: nightshift explain --policy NAME --gpu NUMBER'];
}

function block(one: Explanation, now: number, cards: Status['cards']): string[] {
  const lines = [headline(one, now, cards)];
  const add = (head: string, texts: readonly string[]): void => {
    for (const [i, text] of texts.entries()) lines.push(`  ${(i === 0 ? head : '').padEnd(12)} ${text}`);
  };
  const rowOf = (on: string, knob: string) => one.knobs.find((row) => row.on === on && row.knob === knob);
  const holds = one.case !== undefined && one.case.state !== 'pending';
  if (holds)
    add(
      'limits',
      one.claims.map((claim) => claimText(claim, rowOf(claim.on, claim.knob))),
    );
  else
    add(
      'would set',
      (one.wouldClaim ?? []).map((claim) => claimText(claim, undefined)),
    );
  add(
    'triggers',
    one.triggers.map((trigger) => triggerText(trigger, now)),
  );
  if (one.when !== undefined) add('when', evaluatedLines(one.when));
  if (one.until !== undefined && holds) add('until', evaluatedLines(one.until));
  add(holds ? 'to end' : 'to act', one.change.map(printable));
  if (one.case !== undefined && holds && one.case.state !== 'releasing') {
    add('give back', [`nightshift revert --case ${printable(one.case.id)} --reason "..."`]);
  }
  return lines;
}

function headline(one: Explanation, now: number, cards: Status['cards']): string {
  const target = targetText(one.target, cards);
  const name = printable(one.policy);
  const dry = one.mode === 'dry_run' || one.case?.mode === 'dry_run';
  const mark = dry ? ' (dry run: nothing is written)' : '';
  if (one.case === undefined) {
    if (one.reason === 'condition_true')
      return `${name} is about to act on ${target}${mark}: nothing stands in its way.`;
    return `${name} does nothing about ${target}${mark}: ${reasonText(one.reason)}.`;
  }
  const since = lasting(now - one.case.openedAt);
  switch (one.case.state) {
    case 'pending': {
      const held = `its condition has held for ${lasting(now - (one.case.holdsFrom ?? now))}`;
      if (one.reason === 'condition_holds') return `${name} is about to act on ${target}${mark}: ${held}.`;
      return `${name} waits to act on ${target}${mark}: ${reasonText(one.reason)}; ${held}.`;
    }
    case 'releasing':
      return `${name} gives ${target} back${mark}: ${reasonText(one.case.reason)}.`;
    default:
      return `${name} ${dry ? 'would hold' : 'holds'} ${target}${mark}, for ${since} now: ${reasonText(one.reason)}.`;
  }
}

function triggerText({ source, name, since, seenAt, trusted }: Explanation['triggers'][number], now: number): string {
  const told = `${source} ${printable(name)}, open for ${lasting(now - since)}, last told ${lasting(now - seenAt)} ago`;
  return trusted ? told : `${told}, by somebody unknown`;
}

/** The result, then every comparison with what it saw. */
function evaluatedLines({ result, trace }: Evaluated): string[] {
  const leaves = trace.filter(({ operator }) => !['and', 'or', '!', '!!', 'if'].includes(operator));
  const shown = (leaves.length > 0 ? leaves : trace).map((entry) => {
    const unit = entry.operands.map(({ text }) => unitOf(text)).find((known) => known !== undefined);
    const [first = '', ...others] = entry.operands.map((operand) => operandText(operand, unit));
    const text = others.length === 0 ? `${entry.operator} ${first}` : [first, ...others].join(` ${entry.operator} `);
    return `${text}: ${entry.result}`;
  });
  if (shown.length <= 1) return shown.length === 0 ? [String(result)] : shown;
  return [`${result}:`, ...shown.map((text) => `  ${text}`)];
}

type Operand = Evaluated['trace'][number]['operands'][number];

function operandText({ text, value, unknown, ageMs, source }: Operand, unit: Unit | undefined): string {
  const name = printable(text);
  const from = [
    ...(ageMs === undefined ? [] : [`${ageText(ageMs)} old`]),
    ...(source === undefined ? [] : [printable(source)]),
  ].join(', ');
  const origin = from === '' ? '' : ` (${from})`;
  if (unknown !== undefined)
    return `${name} = ? (${[printable(unknown), from].filter((part) => part !== '').join(', ')})`;
  if (value === undefined || value === null) return name;
  const shown =
    typeof value === 'number' && unit !== undefined ? formatMeasure(Number(value.toPrecision(6)), unit) : String(value);
  return String(value) === text ? shown : `${name} = ${printable(shown)}${origin}`;
}

function unitOf(text: string): Unit | undefined {
  const [, room, key] = /^(gpu|node)\.(.+)$/.exec(text) ?? [];
  return room === undefined || key === undefined ? undefined : quantityOf(room as 'gpu' | 'node', key)?.unit;
}
