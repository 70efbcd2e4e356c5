/**
 * Why a value is not there. Absent is never 0: a reading either carries a value or one of these.
 *
 * | reason | meaning |
 * |---|---|
 * | absent | the source answered, and holds no value (empty line, all-ones marker, no starred level) |
 * | unsupported | this chip or driver has no such source (file missing, EOPNOTSUPP, a table version we do not know) |
 * | busy | in reset, in suspend or not yet initialised: EBUSY, or EPERM on a card that is awake |
 * | denied | we lack the right: EACCES, EROFS, or a device cgroup |
 * | asleep | the card is runtime-suspended and was not woken |
 * | timeout | no answer before the deadline, or the firmware did not answer (ETIME, EREMOTEIO, EIO) |
 * | gone | the card, partition or process is no longer there (ENODEV, ENOENT on a file that was there) |
 * | implausible | answered, but outside what the quantity can be; dropped |
 * | failed | the driver refused the query (EINVAL and everything not named above) |
 * | exhausted | our own limit: out of file descriptors (EMFILE, ENFILE) |
 */
export const REASONS = [
  'absent',
  'unsupported',
  'busy',
  'denied',
  'asleep',
  'timeout',
  'gone',
  'implausible',
  'failed',
  'exhausted',
] as const;
export type Reason = (typeof REASONS)[number];

export type Value = number | bigint | string;

/** A value with its time (ms since the epoch) and source (kernel file or table field), or the reason why there is none. */
export type Reading<T = number | bigint> = { at: number; source: string } & ({ value: T } | { absent: Reason });
