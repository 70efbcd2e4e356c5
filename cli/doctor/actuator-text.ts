import { printable } from '../../linux/process.ts';
import type { KnobFacts } from '../../model/claim.ts';
import { knobText, table, valueText } from '../talk/words.ts';
import type { ActuatorReport, Check } from './actuator.ts';

/** Why a knob is not armed, for people; the words are those of amdgpu/knobs/probe.ts. */
const WHY: Readonly<Record<string, string>> = {
  gone: 'the card is gone',
  silent: 'the card does not answer',
  resetting: 'the card is in reset',
  asleep: 'the card sleeps, and is not woken',
  virtual_function: 'a share of a card: its limits belong to the host',
  unsupported: 'this chip has no such control',
  no_file: 'the driver shows no such file here',
  read_only: 'sysfs is mounted read-only, as in a container',
  denied: 'this user may not write it',
  unprobed: 'nobody could look whether it may be written',
  unread: 'its range could not be read',
  fixed_range: 'its lowest and highest are the same',
  no_headroom: 'nothing lies between our floor and its highest',
};

const VERDICTS: Readonly<Record<Check['verdict'], string>> = { well: 'well', missing: 'not there', bad: 'WRONG' };

export function renderActuator({ cards, checks }: ActuatorReport): string {
  const lines = ['', 'Actuator'];
  lines.push(...table(checks.map(({ what, verdict, state }) => [`  ${what}`, VERDICTS[verdict], printable(state)])));
  // Cards that differ in nothing but their number are told once.
  const alike = new Map<string, number[]>();
  for (const { gpu, knobs, protected: kept } of cards) {
    const texts = (facts: KnobFacts): [string, string] =>
      kept && facts.adjustable ? ['not armed', 'protected: the actuator was told not to touch it'] : armedText(facts);
    const text = table(knobs.map((facts) => [`    ${knobText(facts.knob)}`, ...texts(facts)])).join('\n');
    alike.set(text, [...(alike.get(text) ?? []), gpu]);
  }
  for (const [text, gpus] of alike) lines.push(`  GPU ${gpus.join(', ')}`, text);
  return `${lines.join('\n')}\n`;
}

function armedText({ knob, adjustable, why = '', floor, max }: KnobFacts): [string, string] {
  if (!adjustable) return ['not armed', `${why}: ${WHY[why] ?? 'unknown'}`];
  return ['armed', `from ${valueText(knob, floor)} to ${valueText(knob, max)}`];
}
