export const CENSOR = '[redacted]';

/** Names of fields whose content never reaches a log. */
const SECRET_KEYS = [
  'password',
  'passwd',
  'token',
  'secret',
  'authorization',
  'cookie',
  'credentials',
  'apiKey',
  'api_key',
  'privateKey',
  'private_key',
];

const spelled = SECRET_KEYS.flatMap((key) => [key, key[0]!.toUpperCase() + key.slice(1)]);

/** Paths for pino's redaction: a secret's name at the top of a record or up to two levels below. */
export const SECRET_PATHS: readonly string[] = spelled.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]);

/**
 * Takes secrets out of running text: credentials of an Authorization header and the password of a URL.
 * Safe on JSON text, because what is replaced never contains a quote or a backslash.
 */
export function redactText(text: string): string {
  if (!/bearer |basic |:\/\//i.test(text)) return text;
  return text
    .replace(/\b(bearer) +([\w+/=.~-]{8,})/gi, (whole, scheme: string, token: string) =>
      // A lower-case word is prose ("bearer authentication"), not a token.
      /^[a-z]+[.]?$/.test(token) ? whole : `${scheme} ${CENSOR}`,
    )
    .replace(/\b(basic) +([A-Za-z0-9+/]{2,}={0,2})/gi, (whole, scheme: string, token: string) =>
      Buffer.from(token, 'base64').includes(':') ? `${scheme} ${CENSOR}` : whole,
    )
    .replace(/:\/\/([^\s/:@"\\]*):([^\s/@"\\]+)@/g, `://$1:${CENSOR}@`);
}
