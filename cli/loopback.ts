import { configurationError } from '../base/errors.ts';

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\]):|^unix:/;

/** What is served does not exist, so nobody else may take it for real. */
export function loopbackOnly(listen: readonly string[], instead: string): void {
  const open = listen.find((address) => !LOOPBACK.test(address));
  if (open === undefined) return;
  throw configurationError('SIMULATION_LOOPBACK_ONLY', `a simulated node is not served at ${open}`, instead);
}
