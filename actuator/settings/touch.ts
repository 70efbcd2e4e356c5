import type { KnobPort, SettingsRead, WriteResult } from '../../amdgpu/knobs/port.ts';
import type { Settings } from '../../model/claim.ts';
import type { TouchingStep } from './steps.ts';

/** The two touches of a card. A port that throws has told nothing, which is what `unanswered` says. */

export async function readCard(port: KnobPort, on: string, onError: (error: unknown) => void): Promise<SettingsRead> {
  try {
    return await port.read(on);
  } catch (error) {
    onError(error);
    return { ok: false, reason: 'failed' };
  }
}

export async function writeCard(
  port: KnobPort,
  step: TouchingStep,
  from: Settings,
  onError: (error: unknown) => void,
): Promise<WriteResult> {
  try {
    return await port.write(step.on, from, step.to);
  } catch (error) {
    onError(error);
    return { outcome: 'unanswered', reason: 'failed' };
  }
}
