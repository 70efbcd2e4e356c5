import type { Condition, Fact, Policy, Scope } from '../../model/policy.ts';
import type { OpenTrigger } from '../../model/trigger.ts';

/** What is known of a card or the node without reading a sensor: it says what the card is, not how it is. */
const NO_SENSOR = /^(?:gpu\.(?:model|number|health|setting\..+)|node\.(?:name|gpus))$/;

const isOwnReading = (path: string): boolean => /^(?:gpu|partition|node)\./.test(path) && !NO_SENSOR.test(path);

/**
 * Whether these triggers are all there is to act upon: nobody proved to have sent one, and the condition asks no reading of ours,
 * or is true whatever it says. By a label alone anybody on this machine could be the witness of their own alert.
 */
export function isUnproven(policy: Policy, triggers: readonly OpenTrigger[], scope: () => Scope): boolean {
  if (triggers.length === 0 || hasProof(triggers)) return false;
  return policy.when === undefined || policy.when.evaluate(withoutReadings(scope())) === true;
}

export const hasProof = (triggers: readonly OpenTrigger[]): boolean => triggers.some((trigger) => trigger.trusted);

/** A reading that the condition asks is not there: it is not merely a trigger that has ended, and took its labels along. */
export function isBlind(condition: Condition, scope: Scope): boolean {
  return condition.variables.some((path) => isOwnReading(path) && !('value' in scope.get(path)));
}

function withoutReadings(scope: Scope): Scope {
  const hidden: Fact = { unknown: 'hidden' };
  return { now: scope.now, get: (path) => (isOwnReading(path) ? hidden : scope.get(path)) };
}
