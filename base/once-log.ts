import type { Logger } from 'pino';

/** Keys remembered at most; beyond it the one that was reported longest ago is forgotten. */
const MAX_KEYS = 1_000;

export interface OnceLog {
  /**
   * Says how the condition `key` stands: `state` describes it, undefined means it does not hold. Logged are its first
   * appearance, every change of `state`, and its end; a repetition is silent.
   */
  report(key: string, state: string | undefined, fields?: Readonly<Record<string, unknown>>): void;
  /** Conditions that hold now. */
  open(): number;
}

/** Keeps a condition that is found again at every pass from filling the log. */
export function onceLog(log: Logger, level: 'debug' | 'info' | 'warn' | 'error' = 'warn'): OnceLog {
  const states = new Map<string, string>();
  return {
    report(key, state, fields = {}) {
      const before = states.get(key);
      states.delete(key);
      if (state !== undefined) states.set(key, state);
      if (states.size > MAX_KEYS) states.delete(states.keys().next().value!);
      if (state === before) return;
      if (state === undefined) log.info({ condition: key, was: before, ...fields }, 'condition cleared');
      else log[level]({ condition: key, ...fields }, state);
    },
    open: () => states.size,
  };
}
