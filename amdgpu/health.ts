import { constants } from 'node:os';
import type { Health } from '../model/card.ts';
import type { Outcome } from './lanes/pool.ts';

const REFUSED = new Set([constants.errno.EPERM, constants.errno.EBUSY]);
const VANISHED = new Set([constants.errno.ENODEV, constants.errno.ENOENT, constants.errno.ENXIO]);

/**
 * What one pass says about the card. A card is well as soon as one file answered with something; all of them refusing is a
 * reset, none of them saying anything is a hang that the driver hides behind empty files.
 *
 * Source: torvalds/linux drivers/gpu/drm/amd/pm/amdgpu_pm.c, where every attribute asks for access first.
 */
export function healthOf(outcome: Outcome): Health {
  if (outcome.op !== 'read') return 'silent';
  if (outcome.asleep) return 'asleep';
  if (outcome.files.length === 0) return 'ok';
  if (outcome.files.some((file) => typeof file !== 'number' && file.length > 0)) return 'ok';
  if (outcome.files.every((file) => typeof file === 'number' && VANISHED.has(file))) return 'gone';
  if (outcome.files.some((file) => typeof file === 'number' && REFUSED.has(file))) return 'resetting';
  return 'silent';
}
