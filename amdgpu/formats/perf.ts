import { decimal } from './scalar.ts';
import { firstLine, lines, words } from './text.ts';

/** Performance level, power state, workload profile and policies. Source: `drivers/gpu/drm/amd/pm/amdgpu_pm.c`. */

export const PERF_LEVELS = [
  'auto',
  'low',
  'high',
  'manual',
  'profile_standard',
  'profile_min_sclk',
  'profile_min_mclk',
  'profile_peak',
  'profile_exit',
  'perf_determinism',
] as const;
export type PerfLevel = (typeof PERF_LEVELS)[number];

/** `power_dpm_force_performance_level`. Absent for `unknown` and for a word that is not in the list. */
export function parsePerfLevel(text: string): PerfLevel | undefined {
  const word = firstLine(text);
  return PERF_LEVELS.find((level) => level === word);
}

export const POWER_STATES = ['battery', 'balanced', 'performance'] as const;
export type PowerState = (typeof POWER_STATES)[number];

/** `power_dpm_state`: a setting of chips before 2018; the others always answer `performance`. */
export function parsePowerState(text: string): PowerState | undefined {
  const word = firstLine(text);
  return POWER_STATES.find((state) => state === word);
}

/** One row of a numbered list in which a star marks what is in force. */
export interface Choice {
  number: number;
  name: string;
  current: boolean;
}

export interface Choices {
  choices: Choice[];
  /** Name of the starred one; absent with no star or several. */
  current?: string;
}

function choicesOf(choices: Choice[]): Choices | undefined {
  if (choices.length === 0) return undefined;
  const starred = choices.filter((choice) => choice.current);
  return { choices, ...(starred.length === 1 && { current: starred[0]!.name }) };
}

/**
 * `pp_power_profile_mode` (MI100 and Radeon; no such file on MI200 and later): workload profiles by number.
 *
 * Three shapes: a line a profile with its parameters behind a colon, a line a profile with indented parameter lines below,
 * and all profiles side by side in the heading. The star stands at the name or apart from it.
 */
export function parseProfileMode(text: string): Choices | undefined {
  const choices: Choice[] = [];
  for (const line of lines(text)) {
    const code = line.charCodeAt(0);
    if (code >= 48 && code <= 57) readProfiles(words(line), choices);
  }
  return choicesOf(choices);
}

/** Takes pairs of number and name from the front of a line, up to a colon or to something else. */
function readProfiles(tokens: readonly string[], choices: Choice[]): void {
  let at = 0;
  while (at + 1 < tokens.length) {
    const number = decimal(tokens[at]!);
    let token = tokens[at + 1]!;
    at += 2;
    let closed = token.endsWith(':');
    if (closed) token = token.slice(0, -1);
    let current = token.endsWith('*');
    if (current) token = token.slice(0, -1);
    if (number === undefined || !isProfileName(token)) return;
    const mark = tokens[at];
    if (!closed && (mark === '*' || mark === '*:' || mark === ':')) {
      current ||= mark.startsWith('*');
      closed = mark.endsWith(':');
      at++;
    }
    choices.push({ number, name: token, current });
    if (closed) return;
  }
}

const LONGEST_NAME = 32;

/** `3D_FULL_SCREEN`: capitals, digits and underscores, not digits alone (those are parameters). */
function isProfileName(token: string): boolean {
  return token.length <= LONGEST_NAME && /^[A-Z0-9_]+$/.test(token) && /[A-Z]/.test(token);
}

const POLICY = /^(\d{1,4})\s*:\s*([A-Za-z0-9_]{1,64})\s*(\*?)$/;

/**
 * `pm_policy/soc_pstate`, `pm_policy/xgmi_plpd` (MI300, MI350; MI200 has the latter): `0 : soc_pstate_default*`. The number is
 * what a writer sends. Source: `smu_sys_get_pm_policy_info` in `drivers/gpu/drm/amd/pm/swsmu/amdgpu_smu.c`.
 */
export function parsePolicy(text: string): Choice[] | undefined {
  const choices: Choice[] = [];
  for (const line of lines(text)) {
    const found = POLICY.exec(line);
    if (found) choices.push({ number: Number(found[1]), name: found[2]!, current: found[3] === '*' });
  }
  return choices.length > 0 ? choices : undefined;
}
