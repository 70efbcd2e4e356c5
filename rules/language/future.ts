/** Words of later versions, met in a file of today: each with what can be done now. */

const PAUSE_FIRST = 'This version does not touch jobs: throttle the card, and let a notify ask people to stop the job.';

export const LATER_KEYS: Readonly<Record<string, string>> = {
  reserve_vram: 'This version does not limit memory: compare gpu.memory in a condition and use notify.',
  yield: PAUSE_FIRST,
  evict: PAUSE_FIRST,
  resume: PAUSE_FIRST,
  checkpoint: PAUSE_FIRST,
  hold_temperature: 'Use a ladder: rungs of power_cap over gpu.temperature.junction.',
  power_budget: 'Give each card its share: throttle with power_cap in W.',
  approve: 'Leave the policy at mode dry_run until people have looked at what it would do.',
  canary: 'Begin with limits: { gpus: 1 }.',
  steps: 'Write one policy a step, each with its own when, or a ladder.',
  verify: 'Remove it: every write is read back, and notify: [failed] tells people.',
  release: 'Write until (when to release) and dwell (how long it must hold).',
  rate: 'The actuator has one rate for all policies; slow one policy down with cooldown.',
  per: 'Limits and cooldown are per policy and target already: remove it.',
  run: 'No command is run by a policy: use notify, and let its receiver run it.',
  exec: 'No command is run by a policy: use notify, and let its receiver run it.',
  include: 'All files below the folder are read: put it into a file of its own.',
  priority: 'The most restrictive limit wins, whatever the order: remove it.',
};

/** Files of later versions, by the key that marks them. */
export const LATER_FILES: Readonly<Record<string, string>> = {
  workloads: 'This version does not tell workloads apart: move the file out of the rules folder.',
  signals: 'Signals of this version are those of the exporter: move the file out of the rules folder.',
};
