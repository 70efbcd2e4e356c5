/**
 * The rung of a ladder for a value; -1 is none. Rungs ascend by `at`. A rung is taken at its `at`, also several at a time,
 * and left below its `at` minus the hysteresis; between the two the ladder stays where it is. A value that is no number moves
 * nothing.
 */
export function ladderRung(
  rungs: readonly { at: number }[],
  hysteresis: number,
  value: number,
  current: number,
): number {
  const stand = Math.max(-1, Math.min(current, rungs.length - 1));
  if (Number.isNaN(value)) return stand;
  const reached = rungs.findLastIndex(({ at }) => value >= at);
  const kept = rungs.findLastIndex(({ at }, index) => index <= stand && value >= at - hysteresis);
  return Math.max(reached, kept);
}
