import { z } from 'zod';
import { parseDuration } from './durations.ts';
import type { NightshiftError } from './errors.ts';
import { CLIENT_AUTH_TYPES, cipherProblem, curveProblem, TLS_VERSIONS } from './tls.ts';

const BCRYPT = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/;
/** Each step doubles the time: 18 already takes longer than any scrape waits. */
const MAX_COST = 17;

const text = z.string().min(1, 'is empty');

const pem = (what: string) => text.refine((value) => value.includes('-----BEGIN'), `is not ${what} in PEM form`);

const named = (problemOf: (name: string) => string | undefined) =>
  z.string().superRefine((name, ctx) => {
    const message = problemOf(name);
    if (message) ctx.addIssue({ code: 'custom', message: `cannot be used: ${message}` });
  });

const version = z.string().superRefine((name, ctx) => {
  if (Object.hasOwn(TLS_VERSIONS, name)) return;
  const old = ['SSL30', 'TLS10', 'TLS11'].includes(name);
  const message = old
    ? `cannot be ${name}: it is broken and not served`
    : `must be TLS12 or TLS13, not ${JSON.stringify(name)}`;
  ctx.addIssue({ code: 'custom', message });
});

export const tlsSection = z.strictObject({
  cert: pem('a certificate').optional(),
  key: pem('a key').optional(),
  client_ca: pem('a certificate').optional(),
  cert_file: text.optional(),
  key_file: text.optional(),
  client_ca_file: text.optional(),
  client_auth_type: z.enum(CLIENT_AUTH_TYPES).default('NoClientCert'),
  client_allowed_sans: z.array(text).optional(),
  min_version: version.default('TLS12'),
  max_version: version.default('TLS13'),
  cipher_suites: z.array(named(cipherProblem)).optional(),
  prefer_server_cipher_suites: z.boolean().default(true),
  curve_preferences: z.array(named(curveProblem)).optional(),
});
export type TlsSection = z.infer<typeof tlsSection>;

const headerValue = z.string().regex(/^[\t\x20-\x7e]*$/, 'holds a character that no header can carry');

export const httpSection = z.strictObject({
  http2: z.boolean().optional(),
  headers: z
    .strictObject({
      'Content-Security-Policy': headerValue.optional(),
      'X-Frame-Options': z.enum(['deny', 'sameorigin', '']).optional(),
      'X-Content-Type-Options': z.enum(['nosniff', '']).optional(),
      'X-XSS-Protection': headerValue.optional(),
      'Strict-Transport-Security': headerValue.optional(),
    })
    .optional(),
});

const duration = z.string().superRefine((value, ctx) => {
  try {
    parseDuration(value);
  } catch (error) {
    ctx.addIssue({ code: 'custom', message: (error as NightshiftError).message });
  }
});

export const rateSection = z.strictObject({ interval: duration, burst: z.int().min(1, 'must be at least 1') });

export const usersSection = z.record(
  z.string(),
  z.string().superRefine((hash, ctx) => {
    // The value itself may be a password in clear: it must not appear in a message.
    const cost = BCRYPT.exec(hash)?.[1];
    if (cost === undefined)
      ctx.addIssue({ code: 'custom', message: 'is not a bcrypt hash (make one: htpasswd -nBC 10 NAME)' });
    else if (Number(cost) > MAX_COST)
      ctx.addIssue({ code: 'custom', message: `costs too much time: ${cost}, at most ${MAX_COST}` });
  }),
);

export const SECTIONS = z.strictObject({
  tls_server_config: z.unknown().optional(),
  http_server_config: z.unknown().optional(),
  basic_auth_users: z.unknown().optional(),
  rate_limit: z.unknown().optional(),
});
