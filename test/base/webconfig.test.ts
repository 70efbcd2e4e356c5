import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describe as describeError, exitCode, formatProblem, NightshiftError } from '../../base/errors.ts';
import { clientRefusal, subjectAltNames } from '../../base/tls.ts';
import { loadWebConfig } from '../../base/webconfig.ts';
import { openWebConfig } from '../../base/webconfig-store.ts';
import { encryptKey, selfSigned } from './certificates.ts';

const HASH = '$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG';
let folder: string;
let file: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'webconfig-'));
  file = join(folder, 'web.yml');
  const a = await selfSigned(folder, 'a');
  await selfSigned(folder, 'b');
  await encryptKey(a, join(folder, 'locked.key'));
  writeFileSync(join(folder, 'junk.pem'), 'junk');
});
afterAll(() => rmSync(folder, { recursive: true }));

function load(text: string) {
  writeFileSync(file, text);
  return loadWebConfig(file);
}

function problems(text: string): string[] {
  try {
    load(text);
  } catch (error) {
    expect(error).toBeInstanceOf(NightshiftError);
    expect(exitCode(error)).toBe(2);
    return (error as NightshiftError).problems.map((problem) => formatProblem(problem).replace(`${file}:`, ''));
  }
  return [];
}

const pair = 'tls_server_config:\n  cert_file: a.crt\n  key_file: a.key\n';

describe('a good web configuration', () => {
  it('may say nothing at all', () => {
    for (const text of ['', '# nothing\n', '{}\n']) {
      expect(load(text)).toMatchObject({ tls: undefined, rateLimit: undefined, warnings: [], files: [file] });
    }
  });

  it('is understood in full, with paths relative to the file', () => {
    const config = load(`
tls_server_config:
  cert_file: a.crt
  key_file: ./a.key
  client_ca_file: b.crt
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans: [prometheus.example.org]
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]
  prefer_server_cipher_suites: false
  curve_preferences: [X25519, CurveP256]
http_server_config:
  http2: false
  headers:
    X-Frame-Options: deny
    X-Content-Type-Options: nosniff
    X-XSS-Protection: ''
    Strict-Transport-Security: max-age=60
basic_auth_users:
  ann: ${HASH}
rate_limit: { interval: 100ms, burst: 5 }
`);
    expect(config.tls).toMatchObject({
      clientAuth: 'RequireAndVerifyClientCert',
      allowedSans: ['prometheus.example.org'],
    });
    expect(config.tls?.context).toMatchObject({
      cert: readFileSync(join(folder, 'a.crt'), 'utf8'),
      ca: readFileSync(join(folder, 'b.crt'), 'utf8'),
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.3',
      honorCipherOrder: false,
      ecdhCurve: 'X25519:prime256v1',
    });
    expect(config.tls?.context.ciphers).toMatch(/^TLS_AES_128_GCM_SHA256:.*:ECDHE-ECDSA-AES256-GCM-SHA384$/);
    expect([...config.headers.keys()]).toEqual([
      'X-Frame-Options',
      'X-Content-Type-Options',
      'Strict-Transport-Security',
    ]);
    expect([...config.users]).toEqual([['ann', HASH]]);
    expect(config.rateLimit).toEqual({ intervalMs: 100, burst: 5 });
    expect(config.files).toEqual([file, ...['a.crt', 'a.key', 'b.crt'].map((name) => join(folder, name))]);
    expect(config.warnings).toEqual([]);
  });

  it('may hold certificate and key itself', () => {
    const indent = (name: string) => readFileSync(join(folder, name), 'utf8').replace(/^/gm, '    ');
    const config = load(`tls_server_config:\n  cert: |\n${indent('a.crt')}\n  key: |\n${indent('a.key')}\n`);
    expect(config.tls?.clientAuth).toBe('NoClientCert');
    expect(config.files).toEqual([file]);
  });

  it('says that HTTP/2 is served as HTTP/1.1', () => {
    expect(load('http_server_config: { http2: true }\n').warnings).toEqual([expect.stringContaining('HTTP/1.1')]);
  });

  it('warns of a certificate that expired', () => {
    writeFileSync(file, pair);
    const config = loadWebConfig(file, { now: () => Date.now() + 30 * 86_400_000 });
    expect(config.warnings).toEqual([expect.stringMatching(/cert_file: the certificate expired on/)]);
  });
});

describe('a bad web configuration', () => {
  it.each([
    ['tls_server_confg:\n  a: 1\n', '1:1: unknown key "tls_server_confg", did you mean "tls_server_config"?'],
    [`${pair}  cert_fil: x\n`, '4:3: unknown key "tls_server_config.cert_fil", did you mean "cert_file"?'],
    [
      'http_server_config:\n  headers:\n    X-Powered-By: me\n',
      '3:5: unknown key "http_server_config.headers.X-Powered-By", known here: Content-Security-Policy',
    ],
    ['tls_server_config:\n  cert_file: a.crt\n', '1:1: tls_server_config names no key: key_file is missing'],
    ['tls_server_config:\n  key_file: a.key\n', '1:1: tls_server_config names no certificate: cert_file is missing'],
    [
      'tls_server_config:\n  cert_file: none.crt\n  key_file: a.key\n',
      /^2:14: tls_server_config\.cert_file \/.*none\.crt does not exist$/,
    ],
    ['tls_server_config:\n  cert_file: .\n  key_file: a.key\n', /^2:14: .* is a folder$/],
    [
      'tls_server_config:\n  cert_file: junk.pem\n  key_file: a.key\n',
      '2:14: tls_server_config.cert_file holds no certificate',
    ],
    ['tls_server_config:\n  cert_file: a.crt\n  key_file: junk.pem\n', '3:13: tls_server_config.key_file holds no key'],
    [
      'tls_server_config:\n  cert_file: a.crt\n  key_file: locked.key\n',
      '3:13: tls_server_config.key_file is encrypted',
    ],
    [
      'tls_server_config:\n  cert_file: a.crt\n  key_file: b.key\n',
      '3:13: tls_server_config.key_file does not belong to the certificate',
    ],
    [
      'tls_server_config:\n  cert_file: a.crt\n  cert: x\n  key_file: a.key\n',
      '3:9: tls_server_config.cert is not a certificate in PEM form',
    ],
    [
      `${pair}  client_ca_file: b.crt\n`,
      '4:19: tls_server_config.client_ca_file has no effect without client_auth_type',
    ],
    [
      `${pair}  client_ca_file: junk.pem\n  client_auth_type: RequireAndVerifyClientCert\n`,
      '4:19: tls_server_config.client_ca_file holds no certificate',
    ],
    [
      `${pair}  client_auth_type: RequireAndVerifyClientCert\n`,
      '4:21: tls_server_config.client_auth_type RequireAndVerifyClientCert needs client_ca_file',
    ],
    [`${pair}  client_auth_type: Always\n`, '4:21: tls_server_config.client_auth_type must be one of NoClientCert'],
    [`${pair}  client_allowed_sans: [a]\n`, '4:24: tls_server_config.client_allowed_sans needs client_auth_type'],
    [
      `${pair}  min_version: TLS10\n`,
      '4:16: tls_server_config.min_version cannot be TLS10: it is broken and not served',
    ],
    [`${pair}  max_version: 1.3\n`, '4:16: tls_server_config.max_version must be a text, not 1.3'],
    [`${pair}  min_version: TLS13\n  max_version: TLS12\n`, '4:16: tls_server_config.min_version is above max_version'],
    [
      `${pair}  cipher_suites:\n    - TLS_AES_128_GCM_SHA256\n    - TLS_RSA_WITH_RC4_128_SHA\n`,
      '6:7: tls_server_config.cipher_suites.1 cannot be used: cipher suite "TLS_RSA_WITH_RC4_128_SHA"',
    ],
    [
      `${pair}  curve_preferences: [X25519MLKEM768]\n`,
      '4:23: tls_server_config.curve_preferences.0 cannot be used: curve "X25519MLKEM768" cannot be served',
    ],
    [
      `${pair}  prefer_server_cipher_suites: maybe\n`,
      '4:32: tls_server_config.prefer_server_cipher_suites must be true or false, not "maybe"',
    ],
    ['http_server_config:\n  http2: "yes"\n', '2:10: http_server_config.http2 must be true or false, not "yes"'],
    [
      'http_server_config:\n  headers:\n    X-Frame-Options: allow\n',
      '3:22: http_server_config.headers.X-Frame-Options must be one of deny, sameorigin',
    ],
    [
      'http_server_config:\n  headers:\n    X-XSS-Protection: "1\\r\\nSet-Cookie: a"\n',
      '3:23: http_server_config.headers.X-XSS-Protection holds a character',
    ],
    ['basic_auth_users:\n  ann: hunter2\n', '2:8: basic_auth_users.ann is not a bcrypt hash'],
    [
      `basic_auth_users:\n  ann: ${HASH.replace('$10$', '$31$')}\n`,
      '2:8: basic_auth_users.ann costs too much time: 31',
    ],
    [`basic_auth_users:\n  "a:b": ${HASH}\n`, '2:10: basic_auth_users.a:b cannot be a user name'],
    ['basic_auth_users:\n', '1:1: basic_auth_users is empty'],
    ['basic_auth_users: {}\n', '1:1: basic_auth_users is empty'],
    ['basic_auth_users: [ann]\n', '1:19: basic_auth_users must be a block of keys, not a list'],
    ['tls_server_config:\n  # all commented out\n', /^1:1: tls_server_config is empty/],
    ['rate_limit:\n  interval: 5\n  burst: 1\n', '2:13: rate_limit.interval must be a text, not 5'],
    ['rate_limit:\n  interval: soon\n  burst: 1\n', '2:13: rate_limit.interval "soon" is not a duration'],
    ['rate_limit:\n  interval: 1s\n', '1:1: rate_limit.burst is missing'],
    ['a: [1\n', /^2:1: /],
    ['basic_auth_users:\n\tann: x\n', /^2:1: .*[Tt]ab/],
    [`rate_limit:\n  burst: 1\n  burst: 2\n`, /^3:3: .*unique/],
    ['- a\n', '1:1: the file must be a block of keys, not a list'],
    ['a: 1\n---\nb: 1\n', /^2:1: a second document/],
  ])('%j is refused at its line and column', (text, expected) => {
    const found = problems(text);
    if (typeof expected === 'string')
      expect(
        found.some((line) => line.startsWith(expected)),
        found.join('\n'),
      ).toBe(true);
    else
      expect(
        found.some((line) => expected.test(line)),
        found.join('\n'),
      ).toBe(true);
  });

  it('has all its errors told at once, in one line', () => {
    const text = `tls_server_config:\n  cert_file: none.crt\n  key_file: none.key\nhttp_server_config:\n  htp2: false\nbasic_auth_users:\n  ann: x\nother: 1\n`;
    expect(problems(text).map((line) => line.split(' ')[0])).toEqual(
      expect.arrayContaining(['2:14:', '3:13:', '5:3:', '7:8:', '8:1:']),
    );
    expect(problems(text)).toHaveLength(5);
    try {
      load(text);
    } catch (error) {
      expect(describeError(error)).not.toContain('\n');
    }
  });

  it('never has a mistyped password repeated', () => {
    const said = problems('basic_auth_users:\n  ann: hunter2\n  bob: [hunter2]\n').join('\n');
    expect(said).toContain('basic_auth_users.bob');
    expect(said).not.toContain('hunter2');
  });

  it('that cannot be read is a configuration error', () => {
    expect(() => loadWebConfig(join(folder, 'absent.yml'))).toThrow(
      expect.objectContaining({
        code: 'WEB_CONFIG_UNREADABLE',
        fault: 'configuration',
        message: expect.stringContaining('does not exist'),
      }),
    );
  });
});

describe('openWebConfig', () => {
  it('keeps the last good configuration and notices changes of any file once', async () => {
    copyFileSync(join(folder, 'a.crt'), join(folder, 'live.crt'));
    copyFileSync(join(folder, 'a.key'), join(folder, 'live.key'));
    writeFileSync(file, pair.replaceAll('a.', 'live.'));
    const store = openWebConfig(file);
    expect([await store.changed(), await store.changed()]).toEqual([false, false]);
    copyFileSync(join(folder, 'b.crt'), join(folder, 'live.crt'));
    expect([await store.changed(), await store.changed()]).toEqual([true, false]);
    const before = store.current();
    expect(() => store.reload()).toThrow(expect.objectContaining({ code: 'WEB_CONFIG_INVALID' }));
    expect(store.current()).toBe(before);
    copyFileSync(join(folder, 'b.key'), join(folder, 'live.key'));
    expect(await store.changed()).toBe(true);
    store.reload();
    expect(store.current().tls?.context.cert).toBe(readFileSync(join(folder, 'b.crt'), 'utf8'));
  });

  it('asks for a restart where open listeners cannot follow', () => {
    writeFileSync(file, pair);
    const store = openWebConfig(file);
    writeFileSync(file, '');
    expect(() => store.reload()).toThrow(expect.objectContaining({ code: 'WEB_CONFIG_NEEDS_RESTART' }));
    writeFileSync(file, `${pair}  client_auth_type: RequireAnyClientCert\n`);
    expect(() => store.reload()).toThrow(expect.objectContaining({ code: 'WEB_CONFIG_NEEDS_RESTART' }));
    expect(store.current().tls?.clientAuth).toBe('NoClientCert');
  });
});

describe('clientRefusal', () => {
  const none = { given: false, verified: false, sans: [] };
  const stranger = { given: true, verified: false, sans: ['a'] };
  const friend = { given: true, verified: true, sans: ['a'] };

  it.each([
    ['NoClientCert', none, true],
    ['RequestClientCert', none, true],
    ['RequestClientCert', stranger, true],
    ['RequireAnyClientCert', none, false],
    ['RequireAnyClientCert', stranger, true],
    ['RequireClientCert', none, false],
    ['VerifyClientCertIfGiven', none, true],
    ['VerifyClientCertIfGiven', stranger, false],
    ['VerifyClientCertIfGiven', friend, true],
    ['RequireAndVerifyClientCert', none, false],
    ['RequireAndVerifyClientCert', stranger, false],
    ['RequireAndVerifyClientCert', friend, true],
  ] as const)('%s with %j: welcome %s', (clientAuth, client, welcome) => {
    expect(clientRefusal({ clientAuth, allowedSans: [] }, client) === undefined).toBe(welcome);
  });

  it('asks for one of the allowed names', () => {
    const policy = { clientAuth: 'RequireAndVerifyClientCert', allowedSans: ['b', 'a'] } as const;
    expect(clientRefusal(policy, friend)).toBeUndefined();
    expect(clientRefusal(policy, { ...friend, sans: ['a.b'] })).toMatch(/none of the allowed names/);
  });

  it('reads names of every kind, also one that tries to smuggle in another', () => {
    const subjectAltName = 'DNS:a.org, IP Address:10.0.0.1, URI:spiffe://x/y, email:m@x.org, DNS:"b, DNS:evil"';
    expect(subjectAltNames({ subjectAltName })).toEqual([
      'a.org',
      '10.0.0.1',
      'spiffe://x/y',
      'm@x.org',
      'b, DNS:evil',
    ]);
    expect(subjectAltNames({ subjectAltName: undefined })).toEqual([]);
  });
});
