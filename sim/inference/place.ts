import { configurationError } from '../../base/errors.ts';
import { parseListenAddress, reachesBeyondHost } from '../../base/listen.ts';

/** In the node's folder while its inference servers are served: whose is which port. */
export const SERVED_FILE = 'inference.json';

/** Throws SIMULATION_LOOPBACK_ONLY, or what an address that cannot be read throws. */
export function inferenceAddress(listen: string): Extract<ReturnType<typeof parseListenAddress>, { kind: 'tcp' }> {
  const address = parseListenAddress(listen);
  if (address.kind === 'tcp' && !reachesBeyondHost(address)) return address;
  throw configurationError(
    'SIMULATION_LOOPBACK_ONLY',
    `simulated inference servers are not served at ${listen}`,
    'Use --inference.listen=127.0.0.1:0.',
  );
}
