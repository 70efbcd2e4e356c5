import { describe, expect, it } from 'vitest';
import { describe as describeError } from '../../base/errors.ts';
import {
  formatListenAddress,
  isLoopbackHost,
  listenError,
  parseListenAddress,
  reachesBeyondHost,
} from '../../base/listen.ts';

describe('parseListenAddress', () => {
  it.each([
    [':9510', { kind: 'tcp', host: undefined, port: 9510 }],
    ['127.0.0.1:9510', { kind: 'tcp', host: '127.0.0.1', port: 9510 }],
    ['[::1]:9510', { kind: 'tcp', host: '::1', port: 9510 }],
    ['localhost:0', { kind: 'tcp', host: 'localhost', port: 0 }],
    ['gpu-node7.example.org:65535', { kind: 'tcp', host: 'gpu-node7.example.org', port: 65535 }],
    ['unix:/run/x.sock', { kind: 'unix', path: '/run/x.sock' }],
  ])('reads %s and writes it back', (text, address) => {
    expect(parseListenAddress(text)).toEqual(address);
    expect(formatListenAddress(parseListenAddress(text))).toBe(text);
  });

  it('reads a Unix socket written like a URL', () => {
    expect(parseListenAddress('unix:///run/a/../x.sock')).toEqual({ kind: 'unix', path: '/run/x.sock' });
  });

  it.each([
    ['', /port is missing/],
    ['9510', /colon is missing\. Write :9510/],
    ['localhost', /port is missing/],
    ['localhost:', /port is missing/],
    ['[::1]', /port is missing/],
    ['[::1', /port is missing/],
    ['::1:9510', /IPv6 address stands in brackets/],
    ['[127.0.0.1]:9510', /not an IPv6 address/],
    [':65536', /not a port between 0 and 65535/],
    [':-1', /not a port/],
    [':http', /not a port/],
    ['300.1.1.1:80', /neither an address nor a host name/],
    ['1.2.3:80', /neither an address nor a host name/],
    ['a b:80', /neither an address nor a host name/],
    ['http://localhost:80', /no scheme/],
    ['unix:run/x.sock', /must be absolute/],
    ['unix:', /must be absolute/],
    ['unix:/run/', /not the path of a file/],
    ['unix:@name', /abstract/],
    [`unix:/${'x'.repeat(107)}`, /108 bytes, the kernel takes 107/],
  ])('refuses %j', (text, why) => {
    let caught: unknown;
    try {
      parseListenAddress(text);
    } catch (error) {
      caught = error;
    }
    expect(caught).toMatchObject({ code: 'LISTEN_ADDRESS_INVALID', fault: 'configuration' });
    expect(describeError(caught)).toMatch(why);
  });
});

describe('isLoopbackHost', () => {
  it.each(['127.0.0.1', '127.8.9.1', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost'])(
    'holds for %s',
    (host) => {
      expect(isLoopbackHost(host)).toBe(true);
    },
  );
  it.each([undefined, '0.0.0.0', '::', '10.0.0.1', '::ffff:10.0.0.1', '128.0.0.1', '127.evil.org', '::2', 'fe80::1'])(
    'does not hold for %s',
    (host) => {
      expect(isLoopbackHost(host)).toBe(false);
    },
  );
});

describe('reachesBeyondHost', () => {
  it('is true for every interface and false for loopback and Unix sockets', () => {
    const reach = (text: string) => reachesBeyondHost(parseListenAddress(text));
    expect([':1', '0.0.0.0:1', '10.0.0.1:1'].map(reach)).toEqual([true, true, true]);
    expect(['127.0.0.1:1', '[::1]:1', 'unix:/a'].map(reach)).toEqual([false, false, false]);
  });
});

describe('listenError', () => {
  it.each([
    [':9510', 'EADDRINUSE', 'LISTEN_IN_USE', /sport = :9510/],
    [':80', 'EACCES', 'LISTEN_FAILED', /CAP_NET_BIND_SERVICE/],
    ['unix:/run/x', 'EACCES', 'LISTEN_FAILED', /folder is not writable/],
    ['unix:/run/x', 'ENOENT', 'LISTEN_FAILED', /folder does not exist/],
    ['10.9.8.7:1', 'EADDRNOTAVAIL', 'LISTEN_FAILED', /no interface/],
    ['[::1]:1', 'EAFNOSUPPORT', 'LISTEN_FAILED', /IPv6 switched off/],
    [':1', 'EWEIRD', 'LISTEN_FAILED', /odd/],
  ])('explains %s with %s', (address, errno, code, text) => {
    const error = listenError(parseListenAddress(address), Object.assign(new Error('odd'), { code: errno }));
    expect(error).toMatchObject({ code, fault: 'environment' });
    expect(describeError(error)).toMatch(text);
  });
});
