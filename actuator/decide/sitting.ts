import type { Book } from '../../model/book.ts';
import type { Case } from '../../model/case.ts';
import { type KnobName, type KnobState, knobKey } from '../../model/claim.ts';
import type { Facts } from '../../model/facts.ts';
import type { Policy, Scope } from '../../model/policy.ts';
import { type Target, targetKey } from '../../model/target.ts';
import type { OpenTrigger } from '../../model/trigger.ts';
import { scopeOf } from '../../rules/language/variables.ts';
import { type Aim, aimOf, everyTarget } from './match.ts';

/** A target, and the open triggers that lead a policy there. */
export interface Look {
  target: Target;
  triggers: readonly OpenTrigger[];
}

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
  readonly #everywhere = new Map<Policy['target'], ReadonlyMap<string, Look>>();
  readonly #acting = new Map<string, number>();
  #recentActs = 0;
  /** Nothing acts here: then rehearsals are counted among themselves. */
  #rehearsing = false;
  #eligible: number | undefined;
  #named: Map<string, Policy> | undefined;

  constructor(book: Book, facts: Facts) {
    this.book = book;
    this.facts = facts;
    for (const one of book.cases.values()) if (isActing(one)) this.#count(one, 1);
    const from = facts.at - book.options.rate.perMs;
    // What only was rehearsed does not keep others from acting.
    const enforced = new Set(
      book.rules.policies.filter((one) => this.modeOf(one) === 'enforce').map(({ name }) => name),
    );
    this.#rehearsing = enforced.size === 0;
    for (const { at, policy } of book.acts)
      if (at > from && (this.#rehearsing || enforced.has(policy))) this.#recentActs += 1;
  }

  get now(): number {
    return this.facts.at;
  }

  /** Acts within the span of the rate. */
  get recentActs(): number {
    return this.#recentActs;
  }

  /**
   * Cards that a policy could be about now, and those that one is about already: of what is affected nothing may be missing here, or a
   * card that hangs while it is held would keep a healthy one from being throttled.
   */
  get eligible(): number {
    if (this.#eligible === undefined) {
      const held = new Set<string>();
      for (const { state, target } of this.book.cases.values()) {
        if (isActing({ state }) && target.kind === 'gpu') held.add(target.pci);
      }
      this.#eligible = 0;
      for (const [pci, card] of this.facts.cards) {
        if ((card.health === 'ok' || held.has(pci)) && card.health !== 'gone' && !card.protected) this.#eligible += 1;
      }
    }
    return this.#eligible;
  }

  /** GPUs under this policy's claims; dry runs are counted among themselves, so that they limit as acting would. */
  affectedBy(policy: Policy): number {
    return this.#acting.get(`${policy.name} ${this.modeOf(policy)}`) ?? 0;
  }

  /** GPUs that acting on a target affects; one that is gone is limited by nobody, and leaves its place to another. */
  sizeOf(target: Target): number {
    if (target.kind === 'node') return Math.max(1, this.eligible);
    return target.kind === 'gpu' && this.isGone(target.pci) ? 0 : 1;
  }

  /** Out of the machine: away since it was seen, or never seen by this process. */
  isGone(pci: string): boolean {
    return (this.facts.cards.get(pci)?.health ?? 'gone') === 'gone';
  }

  /** As the rules have it now; made an index once, because every open case of a tick may ask. */
  policyNamed(name: string): Policy | undefined {
    this.#named ??= new Map(this.book.rules.policies.map((policy) => [policy.name, policy]));
    return this.#named.get(name);
  }

  modeOf(policy: Policy): 'dry_run' | 'enforce' {
    return policy.mode === 'enforce' && this.book.options.enforce ? 'enforce' : 'dry_run';
  }

  /** A case began to act in this sitting. */
  acted(one: Case): void {
    if (one.mode === 'enforce' || this.#rehearsing) this.#recentActs += 1;
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

  /** As aimOf, made once for all policies about cards where a card has to be looked for. */
  aim(policy: Policy, trigger: OpenTrigger): Aim {
    if (policy.target !== 'gpu' || trigger.target !== undefined) return aimOf(policy, trigger, this.facts);
    let aim = this.#aims.get(trigger);
    if (aim === undefined) {
      aim = aimOf(policy, trigger, this.facts);
      this.#aims.set(trigger, aim);
    }
    return aim;
  }

  /** All targets of this kind, as a policy without triggers looks at them; the same ones for all of those. */
  looksEverywhere(policy: Policy): ReadonlyMap<string, Look> {
    let looks = this.#everywhere.get(policy.target);
    if (looks === undefined) {
      const targets = everyTarget(policy, this.facts);
      looks = new Map(targets.map((target) => [this.keyOf(target), { target, triggers: [] }]));
      this.#everywhere.set(policy.target, looks);
    }
    return looks;
  }

  /** Variables for the conditions of this policy; those that name nothing of a trigger share one scope a target. */
  scopeFor(policy: Policy, target: Target, triggers: readonly OpenTrigger[]): Scope {
    return this.scope(target, asksTrigger(policy) ? triggers.at(-1) : undefined);
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

/** By policy, which never changes once it is loaded. */
const asking = new WeakMap<Policy, boolean>();

function asksTrigger(policy: Policy): boolean {
  let asks = asking.get(policy);
  if (asks === undefined) {
    const named = [...(policy.when?.variables ?? []), ...(policy.until?.variables ?? [])];
    asks = named.some((path) => /^(?:alert|signal|partition)\./.test(path));
    asking.set(policy, asks);
  }
  return asks;
}

function isActing({ state }: Pick<Case, 'state'>): boolean {
  return state === 'applying' || state === 'active';
}
