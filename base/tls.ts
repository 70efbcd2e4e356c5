import { X509Certificate } from 'node:crypto';
import { getCiphers, type SecureContextOptions, type TLSSocket } from 'node:tls';

/** Policies for client certificates, by the names of Go's crypto/tls, which exporter-toolkit files use. */
export const CLIENT_AUTH_TYPES = [
  'NoClientCert',
  'RequestClientCert',
  'RequireAnyClientCert',
  'RequireClientCert',
  'VerifyClientCertIfGiven',
  'RequireAndVerifyClientCert',
] as const;
export type ClientAuthType = (typeof CLIENT_AUTH_TYPES)[number];

export const TLS_VERSIONS = { TLS12: 'TLSv1.2', TLS13: 'TLSv1.3' } as const;
export type TlsVersion = keyof typeof TLS_VERSIONS;

const TLS13_SUITES = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** IANA name → OpenSSL name, of the suites that exporter-toolkit accepts for TLS 1.2. */
const TLS12_SUITES: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
};

const CURVES: Readonly<Record<string, string>> = {
  CurveP256: 'prime256v1',
  CurveP384: 'secp384r1',
  CurveP521: 'secp521r1',
  X25519: 'X25519',
};

/** Why a cipher suite cannot be used here; undefined where it can. */
export function cipherProblem(name: string): string | undefined {
  if (TLS13_SUITES.includes(name)) return undefined;
  const openssl = Object.hasOwn(TLS12_SUITES, name) ? TLS12_SUITES[name] : undefined;
  if (openssl === undefined) {
    return `cipher suite "${name}" is not one of ${[...TLS13_SUITES, ...Object.keys(TLS12_SUITES)].join(', ')}`;
  }
  return getCiphers().includes(openssl.toLowerCase())
    ? undefined
    : `cipher suite "${name}" is not in this Node's OpenSSL`;
}

/** Why a curve cannot be used here; undefined where it can. */
export function curveProblem(name: string): string | undefined {
  return Object.hasOwn(CURVES, name)
    ? undefined
    : `curve "${name}" cannot be served; known are ${Object.keys(CURVES).join(', ')}`;
}

/** OpenSSL's cipher list. The suites of TLS 1.3 are always all on, as in exporter-toolkit: the list chooses for TLS 1.2. */
export function opensslCiphers(names: readonly string[]): string {
  return [...TLS13_SUITES, ...names.flatMap((name) => TLS12_SUITES[name] ?? [])].join(':');
}

export function opensslCurves(names: readonly string[]): string {
  return names.map((name) => CURVES[name]).join(':');
}

export interface TlsMaterial {
  context: SecureContextOptions;
  clientAuth: ClientAuthType;
  /** Exact names of which a client certificate must carry one; empty: any. */
  allowedSans: readonly string[];
}

/** What is known of a client after the handshake. */
export interface ClientIdentity {
  given: boolean;
  /** Chain and dates hold against the configured authorities. */
  verified: boolean;
  sans: readonly string[];
}

export function clientIdentity(socket: TLSSocket): ClientIdentity {
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return { given: false, verified: false, sans: [] };
  return { given: true, verified: socket.authorized, sans: subjectAltNames(certificate) };
}

/** `DNS:a, IP Address:b, URI:c`, with quotes where a value holds a comma. */
export function subjectAltNames(certificate: Pick<X509Certificate, 'subjectAltName'>): string[] {
  const text = certificate.subjectAltName ?? '';
  return [...text.matchAll(/(?:^|, )(?:DNS|IP Address|URI|email):("(?:[^"\\]|\\.)*"|[^,]*)/g)].map(([, value]) =>
    value!.startsWith('"') ? String(JSON.parse(value!)) : value!,
  );
}

/** Why this client is turned away; undefined where it is welcome. */
export function clientRefusal(
  policy: Pick<TlsMaterial, 'clientAuth' | 'allowedSans'>,
  client: ClientIdentity,
): string | undefined {
  const { clientAuth, allowedSans } = policy;
  const required = clientAuth.startsWith('Require');
  const verify = clientAuth === 'VerifyClientCertIfGiven' || clientAuth === 'RequireAndVerifyClientCert';
  if (!client.given) return required ? 'no client certificate' : undefined;
  if (verify && !client.verified) return 'client certificate not signed by a configured authority, or not valid now';
  if (allowedSans.length > 0 && !client.sans.some((san) => allowedSans.includes(san))) {
    return 'client certificate carries none of the allowed names';
  }
  return undefined;
}

/** Certificates of a PEM bundle. Throws where one of them cannot be read. */
export function pemCertificates(pem: string): X509Certificate[] {
  const blocks =
    pem.match(/-----BEGIN (?:TRUSTED )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED )?CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}
