import { constants } from 'node:os';
import type { Health } from '../model/card.ts';
import type { Outcome } from './lanes/pool.ts';
import type { FileResult } from './lanes/protocol.ts';

const { errno } = constants;
const REFUSED = new Set([errno.EPERM, errno.EBUSY]);
const VANISHED = new Set([errno.ENODEV, errno.ENOENT, errno.ENXIO]);
/** The firmware did not answer. EREMOTEIO (121) is Linux's own and not named by os.constants. */
const NO_ANSWER = new Set([errno.EIO, errno.ETIME, errno.ETIMEDOUT, 121]);

/** Files that the driver fills from its own books or the PCI core: they answer also while the GPU hangs or is reset. */
const BOOKKEEPING =
  /^(mem_info_|kfd\/|power\/|power_dpm_force_performance_level$|pp_od_clk_voltage$|hwmon\/power\d_cap|current_|ras\/|pcie_replay_count$)/;

/**
 * What one pass says about the card; `names` are the files in the order in which they were read. It is well as soon as one
 * file for which the driver asks the GPU said something. Files refused are a reset; none of them saying anything is a hang,
 * which the driver hides behind empty files.
 *
 * Source: torvalds/linux drivers/gpu/drm/amd/pm/amdgpu_pm.c, where every attribute of power management asks for access first.
 */
export function healthOf(names: readonly string[], outcome: Outcome): Health {
  if (outcome.op !== 'read') return 'silent';
  if (outcome.asleep) return 'asleep';
  const { files } = outcome;
  if (files.length === 0) return 'ok';
  const asked = files.filter((_, i) => !BOOKKEEPING.test(names[i] ?? ''));
  if (asked.some(said)) return 'ok';
  if (files.every((file) => failed(file, VANISHED))) return 'gone';
  if (files.some((file) => failed(file, REFUSED))) return 'resetting';
  if (asked.some((file) => failed(file, NO_ANSWER) || (typeof file !== 'number' && file.length === 0))) return 'silent';
  return files.some(said) ? 'ok' : 'silent';
}

function said(file: FileResult): boolean {
  return typeof file !== 'number' && file.length > 0;
}

function failed(file: FileResult, how: ReadonlySet<number>): boolean {
  return typeof file === 'number' && how.has(file);
}
