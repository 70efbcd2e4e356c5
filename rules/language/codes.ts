/** `error`: the files are refused as a whole. `warning`: they load, and somebody should look. */
export type Severity = 'error' | 'warning';

export interface CodeMeaning {
  severity: Severity;
  /** One sentence for the page of policies. */
  meaning: string;
}

/** Everything that can be wrong with rule files beside their conditions, by stable code. */
export const RULE_CODES = {
  RULE_FILE_TOO_LARGE: { severity: 'error', meaning: 'A file is larger than 256 KiB.' },
  RULE_FILE_KIND: {
    severity: 'error',
    meaning: 'A file has none, or more than one, of the keys `policies`, `windows`, `modes`, `thresholds`, `tests`.',
  },
  RULE_FILE_LATER: { severity: 'error', meaning: 'A file is of a kind that only a later version reads.' },
  RULE_YAML_INVALID: {
    severity: 'error',
    meaning: 'The text is not YAML 1.2, has a key twice, a tag, a directive, or more than one document.',
  },
  RULE_KEY_UNKNOWN: { severity: 'error', meaning: 'There is no such key here; the hint names the nearest.' },
  RULE_KEY_LATER: { severity: 'error', meaning: 'A key of a later version; the hint says what to do instead.' },
  RULE_KEY_MISSING: { severity: 'error', meaning: 'A key that must be there is not.' },
  RULE_VALUE_INVALID: { severity: 'error', meaning: 'A value is of the wrong kind, out of range, or has no unit.' },
  RULE_NAME_TAKEN: { severity: 'error', meaning: 'Two things of one kind have one name, also over several files.' },
  RULE_REFERENCE_UNKNOWN: {
    severity: 'error',
    meaning: 'A window, mode or variable is named that no file and no card has.',
  },
  RULE_LADDER_DISORDER: {
    severity: 'error',
    meaning: 'Rungs of a ladder do not rise, or a higher rung limits less than a lower one.',
  },
  RULE_RELEASE_OVERLAPS: {
    severity: 'error',
    meaning: '`until` is true for values for which `when` is true as well: it would act and release in turn.',
  },
  RULE_RELEASE_MAY_OVERLAP: {
    severity: 'warning',
    meaning: '`until` and `when` share values of a variable and nothing else is seen to keep them apart.',
  },
  RULE_RELEASE_TOUCHES: {
    severity: 'warning',
    meaning:
      '`until` begins exactly where `when` ends: without a gap a value at the edge makes it act and release in turn.',
  },
  RULE_NO_RELEASE: {
    severity: 'warning',
    meaning: 'A policy sets limits and has no `until`: they end with the trigger or the lease alone.',
  },
  RULE_LEASE_SHORT: {
    severity: 'warning',
    meaning: 'The lease is under three heartbeats of Alertmanager (3 × 2m): one lost notice gives the card back.',
  },
  RULE_NO_LIMITS: {
    severity: 'warning',
    meaning: 'A policy sets limits on cards and does not say on how many at once.',
  },
  RULE_NEVER_TRUE: { severity: 'warning', meaning: '`when` or `until` cannot be true for any value a card can have.' },
  RULE_POLICY_OFF: { severity: 'warning', meaning: 'A policy is off: it is checked and never looked at.' },
  RULE_SHADOWED: {
    severity: 'warning',
    meaning: 'Wherever a policy acts, another one holds the same knobs at least as low: it never changes anything.',
  },
  RULE_KNOB_SHARED: {
    severity: 'warning',
    meaning: 'Two policies with one trigger limit the same knob: the lower limit is what the card gets.',
  },
  RULE_UNUSED: { severity: 'warning', meaning: 'A condition, window, mode or threshold is named nowhere.' },
  RULE_TARGET_LATER: {
    severity: 'warning',
    meaning: 'A policy is about workloads, which this version does not know: it is suppressed as `workload_unknown`.',
  },
  RULE_MODEL_UNKNOWN: {
    severity: 'warning',
    meaning: 'A mode names a model that no card is called by: its limits would never be used.',
  },
  RULE_VARIABLE_OF_GPU: {
    severity: 'error',
    meaning: 'A policy with `target: node` asks for a value of one GPU: of the node as a whole there is none.',
  },
  RULE_LABEL_UNKNOWN: {
    severity: 'warning',
    meaning: 'A variable ends in a label that no card known here has: it would stay unknown, and neither act nor undo.',
  },
  RULE_WISH_BELOW_FLOOR: {
    severity: 'warning',
    meaning: 'A power cap is asked for below 40 % of the default, where no policy goes: 40 % is what it gets.',
  },
  RULE_NO_POLICIES: { severity: 'warning', meaning: 'No file has a policy: nothing will ever be done.' },
} as const satisfies Record<string, CodeMeaning>;

export type RuleCode = keyof typeof RULE_CODES;
