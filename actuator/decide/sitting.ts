import type { Book } from '../../model/book.ts';
import type { Case } from '../../model/case.ts';
import { type KnobName, type KnobState, knobKey } from '../../model/claim.ts';
import type { Facts } from '../../model/facts.ts';
import type { Policy, Scope } from '../../model/policy.ts';
import { type Target, targetKey } from '../../model/target.ts';
import type { OpenTrigger } from '../../model/trigger.ts';
import { scopeOf } from '../../rules/language/variables.ts';
import { type Aim, aimOf } from './match.ts';

/**
 * One sitting of `decide`: the book and the facts as they are, and what was decided in this sitting so far, which counts
 * against limits and rate like what stands in the book.
 */
export class Sitting {
  readonly book: Book;
  readonly facts: Facts;
  readonly #scopes = new Map<string, Scope>();
  readonly #triggered = new Map<OpenTrigger, Map<string, Scope>>();
  readonly #keys = new Map<string, string>();
  readonly #aims = new Map<OpenTrigger, Aim>();
  readonly #acting = new Map<string, number>();
  #recentActs: number;
  #eligible: number | undefined;

  constructor(book: Book, facts: Facts) {
    this.book = book;
    this.facts = facts;
    for (const one of book.cases.values()) if (isActing(one)) this.#count(one, 1);
    const from = facts.at - book.options.rate.perMs;
    this.#recentActs = book.acts.reduce((sum, act) => sum + (act.at > from ? 1 : 0), 0);
  }

  get now(): number {
    return this.facts.at;
  }

  /** Acts within the span of the rate. */
  get recentActs(): number {
    return this.#recentActs;
  }

  /** Cards that a policy could be about now. */
  get eligible(): number {
    if (this.#eligible === undefined) {
      this.#eligible = 0;
      for (const card of this.facts.cards.values()) if (card.health === 'ok' && !card.protected) this.#eligible += 1;
    }
    return this.#eligible;
  }

  /** GPUs under this policy's claims; dry runs are counted among themselves, so that they limit as acting would. */
  affectedBy(policy: Policy): number {
    return this.#acting.get(`${policy.name} ${this.modeOf(policy)}`) ?? 0;
  }

  /** GPUs that acting on a target affects. */
  sizeOf(target: Target): number {
    return target.kind === 'node' ? Math.max(1, this.eligible) : 1;
  }

  modeOf(policy: Policy): 'dry_run' | 'enforce' {
    return policy.mode === 'enforce' && this.book.options.enforce ? 'enforce' : 'dry_run';
  }

  /** A case began to act in this sitting. */
  acted(one: Case): void {
    this.#recentActs += 1;
    this.#count(one, 1);
  }

  /** A case of the book stopped acting in this sitting. */
  stopped(one: Case): void {
    if (isActing(one)) this.#count(one, -1);
  }

  /** As targetKey, made once a card. */
  readonly keyOf = (target: Target): string => {
    if (target.kind !== 'gpu') return targetKey(target);
    let key = this.#keys.get(target.pci);
    if (key === undefined) {
      key = targetKey(target);
      this.#keys.set(target.pci, key);
    }
    return key;
  };

  /** As aimOf, made once for all policies of one kind of target. */
  aim(policy: Policy, trigger: OpenTrigger): Aim {
    if (policy.target !== 'gpu') return aimOf(policy, trigger, this.facts);
    let aim = this.#aims.get(trigger);
    if (aim === undefined) {
      aim = aimOf(policy, trigger, this.facts);
      this.#aims.set(trigger, aim);
    }
    return aim;
  }

  /** Variables as they are for this target; those of a trigger only with one, and then never shared. */
  scope(target: Target, trigger?: OpenTrigger): Scope {
    const scopes = trigger === undefined ? this.#scopes : this.#scopesOf(trigger);
    const key = this.keyOf(target);
    let scope = scopes.get(key);
    if (scope === undefined) {
      const { book, facts } = this;
      const settings = (on: string, knob: KnobName): KnobState | undefined => book.knobs.get(knobKey(on, knob))?.state;
      scope = scopeOf({ facts, target, rules: book.rules, settings, ...(trigger === undefined ? {} : { trigger }) });
      scopes.set(key, scope);
    }
    return scope;
  }

  #scopesOf(trigger: OpenTrigger): Map<string, Scope> {
    let scopes = this.#triggered.get(trigger);
    if (scopes === undefined) {
      scopes = new Map();
      this.#triggered.set(trigger, scopes);
    }
    return scopes;
  }

  #count(one: Case, by: number): void {
    const key = `${one.policy} ${one.mode}`;
    this.#acting.set(key, (this.#acting.get(key) ?? 0) + by * this.sizeOf(one.target));
  }
}

function isActing(one: Case): boolean {
  return one.state === 'applying' || one.state === 'active';
}
