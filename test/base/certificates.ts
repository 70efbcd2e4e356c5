import { join } from 'node:path';
import { execa } from 'execa';

/** Makes test certificates with the openssl command; Node itself cannot. */
async function openssl(...args: string[]): Promise<void> {
  try {
    await execa('openssl', args);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new Error('the openssl command is missing; install it: apt-get install openssl', { cause: error });
    }
    throw error;
  }
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export interface Pair {
  cert: string;
  key: string;
}

/** A self-signed certificate `NAME.crt` and `NAME.key` in `folder`, for localhost and 127.0.0.1. */
export async function selfSigned(folder: string, name: string, days = 2): Promise<Pair> {
  const pair = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  await openssl('req', '-x509', ...KEY, '-days', String(days), ...subject, '-keyout', pair.key, '-out', pair.cert);
  return pair;
}

/** A certificate signed by `authority`, with one DNS name. */
export async function signedBy(authority: Pair, folder: string, name: string, dns: string): Promise<Pair> {
  const pair = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  const issuer = ['-CA', authority.cert, '-CAkey', authority.key];
  const subject = [
    '-subj',
    `/CN=${name}`,
    '-addext',
    `subjectAltName=DNS:${dns}`,
    '-addext',
    'basicConstraints=CA:FALSE',
  ];
  await openssl('req', '-x509', ...KEY, '-days', '2', ...issuer, ...subject, '-keyout', pair.key, '-out', pair.cert);
  return pair;
}

/** The key of `pair`, locked with a passphrase. */
export async function encryptKey(pair: Pair, out: string): Promise<void> {
  await openssl('pkey', '-in', pair.key, '-aes256', '-passout', 'pass:secret', '-out', out);
}
