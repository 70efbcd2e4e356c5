import type { Claim } from '../../model/claim.ts';
import { knobKey } from '../../model/claim.ts';
import type { KnobReport } from './report.ts';

/**
 * Tells a report once: again only when it says something else, or says it about other claims. Every tick looks at every
 * knob, and mostly finds it as it was.
 */
export class Teller {
  readonly #told = new Map<string, string>();
  readonly #tell: (report: KnobReport) => void;

  constructor(tell: (report: KnobReport) => void) {
    this.#tell = tell;
  }

  report(report: KnobReport, claims: readonly Claim[]): void {
    const key = knobKey(report.on, report.knob);
    const { state, settled, failed, restored, effect, target, detail } = report;
    const cases = claims.filter(({ knob }) => knob === report.knob).map((claim) => `${claim.case} ${claim.atMost}`);
    const said = JSON.stringify([
      state,
      settled,
      failed,
      restored,
      effect,
      target,
      settled ? '' : detail,
      cases.sort(),
    ]);
    if (this.#told.get(key) === said) return;
    if (restored === undefined) this.#told.set(key, said);
    else this.#told.delete(key);
    this.#tell(report);
  }

  /** The card has nothing claimed and nothing to give back. */
  forget(on: string): void {
    for (const key of this.#told.keys()) if (key.startsWith(`${on} `)) this.#told.delete(key);
  }
}
