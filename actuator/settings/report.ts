import type { KnobName, KnobState } from '../../model/claim.ts';
import type { KnobStep, TouchingStep } from './steps.ts';

/**
 * What became of one knob, for `decide`. Setting (`settled`) and effect are two results; whether it helped is the
 * condition's business.
 */
export interface KnobReport {
  on: string;
  knob: KnobName;
  state: KnobState;
  /** Read back as wanted, or more restrictive than that. False also where the card does not answer: nobody knows then. */
  settled: boolean;
  /** Given up for now: refused or ignored three times in a row, or cannot be set here at all. It is still tried, slowly. */
  failed: boolean;
  /** The row is gone: the value is as found, or somebody else's and left alone. */
  restored?: 'given_back' | 'overridden';
  /** Whether power or clock came under the limit; absent where nothing fresh could be read, or nothing was lowered. */
  effect?: 'ok' | 'none' | 'pending';
  /** Words for people. */
  detail: string;
  /** What the card was brought to, or is to be brought to; W, MHz or bytes. */
  target?: number;
  /** What the card says; absent where it does not. */
  value?: number;
}

/** What is to be told of a knob that is not touched now. */
export function reportOf(step: Exclude<KnobStep, TouchingStep>): KnobReport {
  const { on, knob } = step;
  const base = { on, knob, failed: false };
  switch (step.do) {
    case 'hold':
      return {
        ...base,
        state: 'settled',
        settled: true,
        detail: `reads ${step.current}`,
        target: step.target,
        value: step.current,
      };
    case 'leave': {
      const { current, restored, detail } = step;
      const state = restored === 'given_back' ? 'settled' : 'foreign';
      const told = {
        ...(restored === undefined ? {} : { restored }),
        ...(current === undefined ? {} : { value: current }),
      };
      return { ...base, state, settled: true, detail, ...told };
    }
    case 'wait': {
      const { target, current, detail } = step;
      const told = {
        ...(target === undefined ? {} : { target }),
        ...(current === undefined ? {} : { value: current }),
      };
      return { ...base, state: 'unsettled', settled: false, detail, ...told };
    }
    case 'unsupported':
      return { ...base, state: 'unsupported', settled: false, failed: true, detail: step.detail };
  }
}
