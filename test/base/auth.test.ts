import bcrypt from 'bcryptjs';
import { describe, expect, it } from 'vitest';
import { basicAuth, parseBasic } from '../../base/auth.ts';
import { bcryptThread } from '../../base/bcrypt.ts';

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const hash = (password: string, cost = 4) => bcrypt.hashSync(password, cost);

/** One user, always the same. */
function only(user: string, stored: string) {
  const users = new Map([[user, stored]]);
  return () => users;
}

/** Counts comparisons and answers with the real bcrypt. */
function counting() {
  const calls: { password: string; hash: string }[] = [];
  return {
    calls,
    compare(password: string, stored: string) {
      calls.push({ password, hash: stored });
      return bcrypt.compare(password, stored);
    },
  };
}

describe('parseBasic', () => {
  it.each([
    [basic('a', 'b:c'), { user: 'a', password: 'b:c' }],
    [basic('', ''), { user: '', password: '' }],
    [`basic ${Buffer.from('ä:ö').toString('base64')}`, { user: 'ä', password: 'ö' }],
    [undefined, undefined],
    ['', undefined],
    ['Basic', undefined],
    ['Bearer abc', undefined],
    ['Basic !!!', undefined],
    [`Basic ${Buffer.from('no colon').toString('base64')}`, undefined],
  ])('reads %j', (header, expected) => {
    expect(parseBasic(header)).toEqual(expected);
  });
});

describe('basicAuth', () => {
  it('grants the right password, asks bcrypt once, and denies everything else', async () => {
    const { calls, compare } = counting();
    const auth = basicAuth({ users: only('ann', hash('secret')), compare });
    expect(await auth.check(basic('ann', 'secret'))).toEqual({ outcome: 'granted', user: 'ann' });
    expect(await auth.check(basic('ann', 'secret'))).toEqual({ outcome: 'granted', user: 'ann' });
    expect(calls).toHaveLength(1);
    for (const header of [basic('ann', 'wrong'), basic('ann', ''), basic('bob', 'secret')]) {
      expect(await auth.check(header)).toEqual({ outcome: 'denied' });
    }
    expect(calls).toHaveLength(4);
    expect(await auth.check(undefined)).toEqual({ outcome: 'denied' });
    expect(calls).toHaveLength(4);
  });

  it('does not remember a refusal', async () => {
    const { calls, compare } = counting();
    const auth = basicAuth({ users: only('ann', hash('secret')), compare });
    for (let i = 0; i < 3; i++) expect(await auth.check(basic('ann', 'wrong'))).toEqual({ outcome: 'denied' });
    expect(calls).toHaveLength(3);
  });

  it('compares an unknown user as costly as a known one', async () => {
    const { calls, compare } = counting();
    const auth = basicAuth({ users: only('ann', hash('secret', 6)), compare });
    await auth.check(basic('nobody', 'x'));
    expect(calls).toHaveLength(1);
    expect(calls[0]!.hash).toHaveLength(60);
    expect(bcrypt.getRounds(calls[0]!.hash)).toBe(6);
  });

  it('denies an unknown user even if bcrypt should agree', async () => {
    const auth = basicAuth({ users: only('ann', hash('secret')), compare: async () => true });
    expect(await auth.check(basic('nobody', 'x'))).toEqual({ outcome: 'denied' });
    expect(await auth.check(basic('nobody', 'x'))).toEqual({ outcome: 'denied' });
  });

  it('follows a changed password and a removed user at once', async () => {
    let users = new Map([['ann', hash('old')]]);
    const auth = basicAuth({ users: () => users, compare: counting().compare });
    expect((await auth.check(basic('ann', 'old'))).outcome).toBe('granted');
    users = new Map([['ann', hash('new')]]);
    expect((await auth.check(basic('ann', 'old'))).outcome).toBe('denied');
    expect((await auth.check(basic('ann', 'new'))).outcome).toBe('granted');
    users = new Map([['bob', hash('b')]]);
    expect((await auth.check(basic('ann', 'new'))).outcome).toBe('denied');
  });

  it('denies a user who is removed while bcrypt is at work', async () => {
    let users = new Map([['ann', hash('secret')]]);
    const auth = basicAuth({
      users: () => users,
      async compare() {
        users = new Map();
        return true;
      },
    });
    expect((await auth.check(basic('ann', 'secret'))).outcome).toBe('denied');
  });

  it('asks once for the same credentials that come at the same time', async () => {
    const { calls, compare } = counting();
    const auth = basicAuth({ users: only('ann', hash('secret')), compare });
    const answers = await Promise.all(Array.from({ length: 5 }, () => auth.check(basic('ann', 'secret'))));
    expect(answers.every(({ outcome }) => outcome === 'granted')).toBe(true);
    expect(calls).toHaveLength(1);
  });

  it('bounds what waits and what is remembered', async () => {
    const { calls, compare } = counting();
    const users = new Map(['a', 'b', 'c'].map((name) => [name, hash(name)]));
    const auth = basicAuth({ users: () => users, compare, cacheSize: 2, maxPending: 2 });
    const flood = await Promise.all(['x', 'y', 'z'].map((password) => auth.check(basic('a', password))));
    expect(flood.map(({ outcome }) => outcome)).toEqual(['denied', 'denied', 'overloaded']);
    for (const name of ['a', 'b', 'c']) await auth.check(basic(name, name));
    const before = calls.length;
    await auth.check(basic('c', 'c'));
    expect(calls).toHaveLength(before);
    await auth.check(basic('a', 'a'));
    expect(calls).toHaveLength(before + 1);
  });

  it('passes on a failure of the comparison and works again afterwards', async () => {
    let broken = true;
    const auth = basicAuth({
      users: only('ann', hash('secret')),
      compare: async () => {
        if (broken) throw new Error('thread died');
        return true;
      },
    });
    await expect(auth.check(basic('ann', 'secret'))).rejects.toThrow('thread died');
    broken = false;
    expect((await auth.check(basic('ann', 'secret'))).outcome).toBe('granted');
  });
});

describe('bcryptThread', () => {
  it('compares without holding the event loop', async () => {
    const thread = bcryptThread();
    const stored = hash('secret', 11);
    await thread.compare('warm', hash('up'));
    let last = performance.now();
    let longest = 0;
    const probe = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    const begin = performance.now();
    const answers = await Promise.all([thread.compare('secret', stored), thread.compare('wrong', stored)]);
    const took = performance.now() - begin;
    clearInterval(probe);
    await thread.stop();
    expect(answers).toEqual([true, false]);
    expect(longest).toBeLessThan(took / 2);
  });

  it('refuses what waits when it is stopped, and starts again when asked', async () => {
    const thread = bcryptThread();
    const waiting = thread.compare('x', hash('x', 4));
    const refused = expect(waiting).rejects.toThrow('stopped');
    await thread.stop();
    await refused;
    expect(await thread.compare('x', hash('x'))).toBe(true);
    await thread.stop();
  });
});
