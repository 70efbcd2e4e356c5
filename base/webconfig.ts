import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { z } from 'zod';
import { parseDuration } from './durations.ts';
import { baseError, describe, errnoOf, type Problem } from './errors.ts';
import { opensslCiphers, opensslCurves, pemCertificates, TLS_VERSIONS, type TlsMaterial } from './tls.ts';
import { httpSection, rateSection, SECTIONS, type TlsSection, tlsSection, usersSection } from './webconfig-schema.ts';
import { checkShape, readYaml, type YamlText } from './yaml.ts';

/** A web configuration with all it names read and checked. */
export interface WebConfig {
  file: string;
  /** Undefined: plain HTTP. */
  tls: TlsMaterial | undefined;
  /** Set on every response. */
  headers: ReadonlyMap<string, string>;
  /** Name → bcrypt hash; empty: nobody is asked. */
  users: ReadonlyMap<string, string>;
  rateLimit: { intervalMs: number; burst: number } | undefined;
  /** What is accepted but not as the writer may think. */
  warnings: readonly string[];
  /** Every file whose change calls for a reload, the configuration first. */
  files: readonly string[];
}

export interface WebConfigReader {
  read?: (file: string) => string;
  /** For expiry dates of certificates, ms since the epoch. */
  now?: () => number;
}

/** Reads and checks a web configuration and every file it names. Throws one error with all problems. */
export function loadWebConfig(file: string, reader: WebConfigReader = {}): WebConfig {
  const { read = (path) => readFileSync(path, 'utf8'), now = Date.now } = reader;
  let content: string;
  try {
    content = read(file);
  } catch (error) {
    const why = readFailure(error);
    throw baseError('WEB_CONFIG_UNREADABLE', `web configuration ${file} ${why}`, 'Check --web.config.file.', {
      cause: error,
    });
  }
  return parseWebConfig(content, file, read, now);
}

/** As `loadWebConfig`, from text. */
export function parseWebConfig(
  content: string,
  file: string,
  read: (file: string) => string,
  now: () => number = Date.now,
): WebConfig {
  const check = new Check(readYaml(content, file), read, now);
  const raw = check.shape([], check.yaml.value ?? {}, SECTIONS) ?? recordOf(check.yaml.value);
  const tls = check.section('tls_server_config', raw, tlsSection);
  const http = check.section('http_server_config', raw, httpSection);
  const users = check.users(raw);
  const rate = check.section('rate_limit', raw, rateSection);
  const material = tls && check.tls(tls);
  if (check.problems.length > 0) {
    const message = `web configuration ${file} is wrong`;
    throw baseError('WEB_CONFIG_INVALID', message, 'See exporter-toolkit, web-configuration.md.', {
      problems: check.problems,
    });
  }
  if (http?.http2) check.warnings.push('http2 is set, but HTTP/2 is not offered: clients are served as HTTP/1.1');
  const interval = rate ? parseDuration(rate.interval) : 0;
  return {
    file,
    tls: material,
    headers: new Map(
      Object.entries(http?.headers ?? {}).flatMap(([name, value]) => (value ? [[name, value] as const] : [])),
    ),
    users,
    rateLimit: rate && interval > 0 ? { intervalMs: interval, burst: rate.burst } : undefined,
    warnings: check.warnings,
    files: [file, ...check.files],
  };
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

const TLS = 'tls_server_config';

/** Collects what is wrong, so that all of it is told at once. */
class Check {
  readonly problems: Problem[];
  readonly warnings: string[] = [];
  readonly files: string[] = [];
  readonly yaml: YamlText;
  readonly #read: (file: string) => string;
  readonly #now: () => number;

  constructor(yaml: YamlText, read: (file: string) => string, now: () => number) {
    this.yaml = yaml;
    this.#read = read;
    this.#now = now;
    this.problems = [...yaml.problems];
  }

  add(path: readonly string[], message: string): undefined {
    this.problems.push({ message: `${path.join('.')} ${message}`, at: this.yaml.at(path) });
  }

  /** For what is missing or empty: told at the key, where something is to be added. */
  addAtKey(path: readonly string[], message: string): undefined {
    this.problems.push({ message: `${path.join('.')} ${message}`, at: this.yaml.atKey(path) });
  }

  shape<T>(path: readonly string[], value: unknown, schema: z.ZodType<T>): T | undefined {
    if (this.yaml.problems.length > 0) return undefined;
    const result = checkShape(this.yaml, path, value, schema);
    this.problems.push(...result.problems);
    return result.value;
  }

  section<T>(name: string, raw: Record<string, unknown>, schema: z.ZodType<T>): T | undefined {
    if (!Object.hasOwn(raw, name)) return undefined;
    const value = raw[name];
    // An empty block is what a failed template leaves behind; taken as "off" it would open what should be closed.
    if (value === null || (typeof value === 'object' && Object.keys(value as object).length === 0)) {
      return this.addAtKey([name], 'is empty: fill it in or remove the key');
    }
    return this.shape([name], value, schema);
  }

  users(raw: Record<string, unknown>): ReadonlyMap<string, string> {
    const name = 'basic_auth_users';
    const entries = this.section(name, raw, usersSection) ?? {};
    for (const user of Object.keys(recordOf(raw[name]))) {
      if (user === '' || user.includes(':')) this.add([name, user], 'cannot be a user name: empty or with a colon');
      if (user === '__proto__') this.add([name, user], 'cannot be a user name here');
    }
    return new Map(Object.entries(entries));
  }

  tls(section: TlsSection): TlsMaterial | undefined {
    const before = this.problems.length;
    const cert = this.material(section, 'cert');
    const key = this.material(section, 'key');
    const ca = this.material(section, 'client_ca');
    if (cert === undefined && !section.cert_file) this.addAtKey([TLS], 'names no certificate: cert_file is missing');
    if (key === undefined && !section.key_file) this.addAtKey([TLS], 'names no key: key_file is missing');
    this.policy(section);
    const certificate = this.certificates(section, 'cert', cert)?.[0];
    this.certificates(section, 'client_ca', ca);
    const secret = this.privateKey(section, key);
    if (certificate && secret && !certificate.checkPrivateKey(secret)) {
      this.add(pathOf(section, 'key'), 'does not belong to the certificate');
    }
    if (this.problems.length > before) return undefined;
    return this.assemble(section, { cert: cert!, key: key!, ...(ca === undefined ? {} : { ca }) });
  }

  /** Rules between keys that a schema of single keys cannot tell. */
  policy(section: TlsSection): void {
    const { client_auth_type: type } = section;
    const hasCa = section.client_ca !== undefined || section.client_ca_file !== undefined;
    if (hasCa && type === 'NoClientCert') {
      this.add(pathOf(section, 'client_ca'), 'has no effect without client_auth_type; set RequireAndVerifyClientCert');
    }
    // Go would then trust every public authority, which is never what is meant.
    if (!hasCa && (type === 'VerifyClientCertIfGiven' || type === 'RequireAndVerifyClientCert')) {
      this.add([TLS, 'client_auth_type'], `${type} needs client_ca_file: whose clients are to be trusted?`);
    }
    if (
      section.client_allowed_sans &&
      type !== 'RequireAnyClientCert' &&
      type !== 'RequireClientCert' &&
      type !== 'RequireAndVerifyClientCert'
    ) {
      this.add(
        [TLS, 'client_allowed_sans'],
        'needs client_auth_type RequireAndVerifyClientCert or RequireAnyClientCert',
      );
    }
    if (section.min_version > section.max_version) this.add([TLS, 'min_version'], 'is above max_version');
  }

  /** PEM text of `name` or of the file `name_file`. */
  material(section: TlsSection, name: 'cert' | 'key' | 'client_ca'): string | undefined {
    const inline = section[name];
    const file = section[`${name}_file`];
    if (inline !== undefined && file !== undefined)
      return this.add([TLS, name], `and ${name}_file are both set: keep one`);
    if (file === undefined) return inline;
    const path = resolve(dirname(this.yaml.at([]).file), file);
    this.files.push(path);
    try {
      return this.#read(path);
    } catch (error) {
      return this.add([TLS, `${name}_file`], `${path} ${readFailure(error)}`);
    }
  }

  certificates(
    section: TlsSection,
    name: 'cert' | 'client_ca',
    content: string | undefined,
  ): X509Certificate[] | undefined {
    if (content === undefined) return undefined;
    let found: X509Certificate[] = [];
    try {
      found = pemCertificates(content);
    } catch {
      // Told below, together with a file that holds none at all.
    }
    if (found.length === 0) return this.add(pathOf(section, name), 'holds no certificate in PEM form that can be read');
    for (const certificate of found) {
      if (Date.parse(certificate.validTo) < this.#now()) {
        this.warnings.push(`${pathOf(section, name).join('.')}: the certificate expired on ${certificate.validTo}`);
      }
    }
    return found;
  }

  privateKey(section: TlsSection, content: string | undefined): KeyObject | undefined {
    if (content === undefined) return undefined;
    try {
      return createPrivateKey(content);
    } catch (error) {
      const encrypted = errnoOf(error) === 'ERR_MISSING_PASSPHRASE' || content.includes('ENCRYPTED');
      return this.add(
        pathOf(section, 'key'),
        encrypted
          ? 'is encrypted: nobody can type its passphrase, store it in clear with mode 0600'
          : 'holds no key in PEM form that can be read',
      );
    }
  }

  assemble(section: TlsSection, pems: { cert: string; key: string; ca?: string }): TlsMaterial | undefined {
    const { cipher_suites: suites, curve_preferences: curves } = section;
    const context: SecureContextOptions = {
      ...pems,
      minVersion: TLS_VERSIONS[section.min_version as keyof typeof TLS_VERSIONS],
      maxVersion: TLS_VERSIONS[section.max_version as keyof typeof TLS_VERSIONS],
      honorCipherOrder: section.prefer_server_cipher_suites,
      ...(suites && suites.length > 0 ? { ciphers: opensslCiphers(suites) } : {}),
      ...(curves && curves.length > 0 ? { ecdhCurve: opensslCurves(curves) } : {}),
    };
    try {
      createSecureContext(context);
    } catch (error) {
      return this.add([TLS], `is refused by OpenSSL: ${describe(error)}`);
    }
    return { context, clientAuth: section.client_auth_type, allowedSans: section.client_allowed_sans ?? [] };
  }
}

function pathOf(section: TlsSection, name: 'cert' | 'key' | 'client_ca'): string[] {
  return [TLS, section[name] === undefined ? `${name}_file` : name];
}

function readFailure(error: unknown): string {
  const errno = errnoOf(error);
  if (errno === 'ENOENT') return 'does not exist';
  if (errno === 'EACCES') return 'is not readable for this user';
  if (errno === 'EISDIR') return 'is a folder';
  return `cannot be read: ${describe(error)}`;
}
