/** Values of the variables of conditions, for one target at one moment: from our own readings, the trigger, and the rules. */
import type { KnobName, KnobState } from '../../model/claim.ts';
import type { CardFacts, Facts } from '../../model/facts.ts';
import type { Fact, RuleSet, Scope } from '../../model/policy.ts';
import type { Reading } from '../../model/reading.ts';
import type { Target } from '../../model/target.ts';
import type { OpenTrigger } from '../../model/trigger.ts';
import { NOT_SENT } from './evaluate.ts';
import { quantityOf } from './quantities.ts';
import { SETTINGS } from './vocabulary.ts';
import { isInWindow } from './window.ts';
import { localTime } from './zone.ts';

export interface ScopeOptions {
  facts: Facts;
  target: Target;
  /** What the look is about; without one `alert.*` and `signal.*` are unknown. */
  trigger?: OpenTrigger;
  rules: Pick<RuleSet, 'thresholds' | 'windows' | 'zone'>;
  /** State of our setting of a knob, undefined where nothing of ours is set. `on` is the function that carries it. */
  settings?: (on: string, knob: KnobName) => KnobState | undefined;
  /** IANA zone of `time.*`, where it is not the one of the rules. */
  zone?: string;
  /** A live reading older than this is not used, ms; 10 s unless told. Those read seldom by design do not age. */
  maxAgeMs?: number;
}

/**
 * Reasons why a variable has no value, beside those of a reading (`absent`, `timeout` …) and the health of a card that does
 * not answer: no_reading (nothing was read of it), stale, no_card, no_trigger, not_sent (the trigger does not carry it),
 * no_partition, not_exact (beyond 2^53), not_a_number, no_gpu (the target is no GPU), no_zone, no_settings, no_such_variable.
 */
const unknown = (reason: string): Fact => ({ unknown: reason });

const MAX_AGE_MS = 10_000;

/**
 * Answers variables for one target, each as it was when first asked for. Reads nothing; ages are by `facts.at`, local time by
 * `facts.wall`.
 */
export function scopeOf(options: ScopeOptions): Scope {
  return new TargetScope(options);
}

class TargetScope implements Scope {
  readonly now: number;
  readonly #options: ScopeOptions;
  readonly #card: CardFacts | undefined;
  readonly #maxAgeMs: number;
  /** Two hundred policies ask each card for the same few. */
  readonly #answered = new Map<string, Fact>();

  constructor(options: ScopeOptions) {
    const { facts, target, maxAgeMs } = options;
    this.now = facts.at;
    this.#options = options;
    this.#card = target.kind === 'gpu' ? facts.cards.get(target.pci) : undefined;
    this.#maxAgeMs = maxAgeMs ?? MAX_AGE_MS;
  }

  get(path: string): Fact {
    let fact = this.#answered.get(path);
    if (fact === undefined) {
      fact = this.#answer(path);
      this.#answered.set(path, fact);
    }
    return fact;
  }

  #answer(path: string): Fact {
    if (path.startsWith('gpu.')) return this.#gpu(path.slice(4));
    const dot = path.indexOf('.');
    const rest = path.slice(dot + 1);
    switch (path.slice(0, dot)) {
      case 'threshold':
        return this.#threshold(rest);
      case 'window':
        return this.#window(rest);
      case 'partition':
        return this.#partition(rest);
      case 'node':
        return this.#node(rest);
      case 'alert':
        return this.#alert(rest);
      case 'signal':
        return this.#signal(rest);
      case 'time':
        return this.#time(rest);
      default:
        return unknown('no_such_variable');
    }
  }

  #gpu(key: string): Fact {
    const card = this.#card;
    if (card === undefined) return unknown(this.#options.target.kind === 'gpu' ? 'no_card' : 'no_gpu');
    const reading = card.readings.get(key);
    if (reading !== undefined) return this.#fact(reading, 'gpu', key);
    switch (key) {
      case 'health':
        return told(card.health, card.at);
      case 'number':
        return told(card.number, card.at);
      case 'model':
        return card.card.model.name === '' ? unknown('absent') : told(card.card.model.name, card.at);
      default:
        if (key.startsWith('setting.')) return this.#setting(card, key.slice('setting.'.length));
        return unknown(card.health === 'ok' ? 'no_reading' : card.health);
    }
  }

  #setting(card: CardFacts, name: string): Fact {
    const { settings } = this.#options;
    const knob = Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined;
    if (knob === undefined) return unknown('no_such_variable');
    if (settings === undefined) return unknown('no_settings');
    const on = card.knobs.get(knob)?.on ?? card.card.pci;
    return { value: settings(on, knob) ?? 'none', at: this.now, source: 'our settings' };
  }

  /** Of the partition that the trigger names, or of the only one there is. */
  #partition(key: string): Fact {
    const card = this.#card;
    if (card === undefined) return this.#gpu(key);
    const named = own(this.#options.trigger?.values, 'partition');
    const [only, ...more] = card.card.partitions;
    const number = named ?? (more.length === 0 ? only?.number : undefined);
    return number === undefined ? unknown('no_partition') : this.#gpu(`${key}.${number}`);
  }

  #node(key: string): Fact {
    const { facts } = this.#options;
    if (key === 'name') return told(facts.node, facts.at);
    if (key === 'gpus') {
      let present = 0;
      for (const { health } of facts.cards.values()) if (health !== 'gone') present += 1;
      return told(present, facts.at);
    }
    const reading = facts.nodeReadings.get(key);
    return reading === undefined ? unknown('no_reading') : this.#fact(reading, 'node', key);
  }

  #alert(rest: string): Fact {
    const { trigger } = this.#options;
    if (trigger?.source !== 'alert') return unknown('no_trigger');
    if (rest === 'name') return { value: trigger.name, at: trigger.seenAt, source: trigger.key };
    const value = own(trigger.values, rest.slice('labels.'.length));
    // A label is a text whatever it looks like, so that "9" and 9 are never two things.
    return value === undefined ? unknown(NOT_SENT) : { value: String(value), at: trigger.seenAt, source: trigger.key };
  }

  #signal(rest: string): Fact {
    const { trigger } = this.#options;
    if (trigger?.source !== 'signal') return unknown('no_trigger');
    const value = own(trigger.values, rest === 'value' ? rest : rest.slice('state.'.length));
    return value === undefined ? unknown(NOT_SENT) : { value, at: trigger.seenAt, source: trigger.key };
  }

  #threshold(name: string): Fact {
    const threshold = this.#options.rules.thresholds.get(name);
    if (threshold === undefined) return unknown('no_such_variable');
    return { value: threshold.value, at: this.now, source: 'thresholds.yaml' };
  }

  #window(name: string): Fact {
    const window = this.#options.rules.windows.get(name);
    if (window === undefined) return unknown('no_such_variable');
    return { value: isInWindow(window, this.#options.facts.wall), at: this.now, source: 'windows.yaml' };
  }

  #time(part: string): Fact {
    const { facts, rules, zone = rules.zone } = this.#options;
    if (zone === undefined) return unknown('no_zone');
    const local = localTime(zone, facts.wall);
    const parts: Readonly<Record<string, number>> = {
      hour: local.hour,
      minute: local.minute,
      weekday: local.weekday,
      day_of_month: local.day,
    };
    const value = Object.hasOwn(parts, part) ? parts[part] : undefined;
    return value === undefined ? unknown('no_such_variable') : { value, at: this.now, source: zone };
  }

  /** A reading with a value is a fact as it stands, unless it is too old: then it is as good as none. */
  #fact(reading: Reading<unknown>, room: 'gpu' | 'node', key: string): Fact {
    const { at, source } = reading;
    if (!('value' in reading)) return { unknown: reading.absent, at, source };
    // Times of readings may lie ahead as well, where the clock was set back.
    if (Math.abs(this.now - at) > this.#maxAgeMs && ages(room, key)) return { unknown: 'stale', at, source };
    const { value } = reading;
    if (typeof value === 'number') {
      return Number.isFinite(value) ? (reading as Fact) : { unknown: 'not_a_number', at, source };
    }
    if (typeof value !== 'bigint') return typeof value === 'string' ? (reading as Fact) : unknown('wrong_type');
    const number = Number(value);
    return Number.isSafeInteger(number) ? { value: number, at, source } : { unknown: 'not_exact', at, source };
  }
}

/** What is read at discovery or on a slow timer is not the younger for being read often. A key that we do not know ages. */
function ages(room: 'gpu' | 'node', key: string): boolean {
  const cadence = quantityOf(room, key)?.cadence;
  return cadence !== 'slow' && cadence !== 'static';
}

const told = (value: string | number, at: number): Fact => ({ value, at, source: 'discovery' });

/** A value that somebody sent; nothing that JavaScript has on every object. */
function own(values: Readonly<Record<string, string | number>> | undefined, name: string): string | number | undefined {
  return values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined;
}
