import type { Decision } from '../../../model/decision.ts';
import type { Condition, Policy, TraceEntry } from '../../../model/policy.ts';
import type { CompiledCondition } from '../condition.ts';
import { textOf, walk } from '../expression.ts';

/** One comparison of a condition, and what the tests saw it be. */
export interface LeafCoverage {
  /** `when` or `until`, and what is compared. */
  text: string;
  seenTrue: boolean;
  seenFalse: boolean;
}

/** What the tests saw of one policy. */
export interface PolicyCoverage {
  policy: string;
  acted: boolean;
  released: boolean;
  /** Reasons for which it was held back. */
  suppressed: string[];
  leaves: LeafCoverage[];
}

interface Seen {
  outcomes: Set<string>;
  suppressed: Set<string>;
  leaves: Map<string, LeafCoverage>;
}

/** Watches policies as they are decided on. */
export class Coverage {
  readonly #seen = new Map<string, Seen>();

  /** The same policy, whose conditions remember what they were. */
  observe(policy: Policy): Policy {
    const seen = this.#of(policy.name);
    const { when, until } = policy;
    return {
      ...policy,
      ...(when === undefined ? {} : { when: watched('when', when, seen.leaves) }),
      ...(until === undefined ? {} : { until: watched('until', until, seen.leaves) }),
    };
  }

  note({ policy, outcome, reason }: Decision): void {
    const seen = this.#of(policy);
    seen.outcomes.add(outcome);
    if (outcome === 'suppressed') seen.suppressed.add(reason);
  }

  rows(): PolicyCoverage[] {
    return [...this.#seen].map(([policy, { outcomes, suppressed, leaves }]) => ({
      policy,
      acted: outcomes.has('acted'),
      released: outcomes.has('released'),
      suppressed: [...suppressed].sort(),
      leaves: [...leaves.values()],
    }));
  }

  #of(policy: string): Seen {
    let seen = this.#seen.get(policy);
    if (seen === undefined) {
      seen = { outcomes: new Set(), suppressed: new Set(), leaves: new Map() };
      this.#seen.set(policy, seen);
    }
    return seen;
  }
}

function watched(key: 'when' | 'until', condition: Condition, leaves: Map<string, LeafCoverage>): Condition {
  const { expression } = condition as CompiledCondition;
  walk(expression, (part) => {
    if (part.type !== 'boolean' || part.kind === 'logic' || part.kind === 'constant') return;
    const id = `${key}${part.pointer}`;
    if (!leaves.has(id)) leaves.set(id, { text: `${key}: ${textOf(part)}`, seenTrue: false, seenFalse: false });
  });
  return {
    ...condition,
    evaluate(scope, outer) {
      const trace: TraceEntry[] = [];
      const truth = condition.evaluate(scope, trace);
      for (const { pointer, result } of trace) {
        const leaf = leaves.get(`${key}${pointer}`);
        if (leaf === undefined) continue;
        leaf.seenTrue ||= result === true;
        leaf.seenFalse ||= result === false;
      }
      outer?.push(...trace);
      return truth;
    },
  };
}
