import type { Condition, Fact, Policy, Scope } from '../../model/policy.ts';
import type { OpenTrigger } from '../../model/trigger.ts';
import { quantityOf } from '../../rules/language/quantities.ts';

/** What is known of a card or the node without reading a sensor: it says what the card is, not how it is. */
const NO_SENSOR = /^(?:gpu\.(?:model|number|health|setting\..+)|node\.(?:name|gpus))$/;

/** Sizes, limits and modes: read now and then, and yet what was built in or set, not how the card is. */
const SET =
  /(?:_(?:size|carveout|max|limit|mode|policy|partition|profile)|^power2?_cap|^partitions|^perf_level)(?:\.|$)/;

/** A reading of how the card or the node is; what was found once, or set by somebody, is none. */
function isOwnReading(path: string): boolean {
  const [, room, key] = /^(gpu|partition|node)\.(.+)$/.exec(path) ?? [];
  if (room === undefined || key === undefined || NO_SENSOR.test(path) || SET.test(key)) return false;
  return quantityOf(room === 'node' ? room : 'gpu', key)?.cadence !== 'static';
}

/**
 * Whether these triggers are all there is to act upon: nobody proved to have sent one, and the condition asks no reading of ours,
 * or is true whatever it says, or the sender says what a reading is held against. By a label alone anybody on this machine
 * could be the witness of their own alert.
 */
export function isUnproven(policy: Policy, triggers: readonly OpenTrigger[], scope: () => Scope): boolean {
  if (triggers.length === 0 || hasProof(triggers)) return false;
  const { when } = policy;
  return when === undefined || when.senderSetsBounds || when.evaluate(withoutReadings(scope())) === true;
}

export const hasProof = (triggers: readonly OpenTrigger[]): boolean => triggers.some((trigger) => trigger.trusted);

/** A reading that the condition asks is not there: it is not merely a trigger that has ended, and took its labels along. */
export function isBlind(condition: Condition, scope: Scope): boolean {
  return condition.variables.some((path) => isOwnReading(path) && !('value' in scope.get(path)));
}

/** Of all the temperatures that the condition asks none is there. */
export function seesNoHeat({ variables }: Condition, scope: Scope): boolean {
  const heat = variables.filter(
    (path) => path.startsWith('gpu.') && quantityOf('gpu', path.slice(4))?.unit === 'celsius',
  );
  return heat.length > 0 && heat.every((path) => !('value' in scope.get(path)));
}

function withoutReadings(scope: Scope): Scope {
  const hidden: Fact = { unknown: 'hidden' };
  return { now: scope.now, get: (path) => (isOwnReading(path) ? hidden : scope.get(path)) };
}
