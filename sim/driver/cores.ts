import { line } from './number.ts';

/**
 * Files that the kernel's own cores keep beside the driver's (power/control, numa_node, sriov_numvfs and the like). What they steer is
 * not simulated, so only what is already so can be written: `undefined` is success.
 */
export function writeCoreFile(present: string | Uint8Array, text: string): 'EPERM' | undefined {
  return typeof present === 'string' && line(present) === line(text) ? undefined : 'EPERM';
}
