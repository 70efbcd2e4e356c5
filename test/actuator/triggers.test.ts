import { describe, expect, it } from 'vitest';
import { applyChanges } from '../../actuator/decide/apply.ts';
import { openTriggers, roomFor } from '../../actuator/triggers.ts';
import type { Book } from '../../model/book.ts';
import type { Trigger } from '../../model/trigger.ts';
import { policyYaml, START, World } from './decide/world.ts';

const alert = (key: string, rest: Partial<Trigger> = {}): Trigger => ({
  source: 'alert',
  name: 'Hot',
  key,
  phase: 'open',
  since: START,
  at: START,
  values: {},
  trusted: false,
  ...rest,
});

function heard(triggers: readonly Trigger[]): Book {
  const { book } = new World(policyYaml());
  for (const one of triggers) applyChanges(book, openTriggers(book, [one]));
  return book;
}

describe('room for new triggers', () => {
  it('is there as long as there are few', () => {
    expect(roomFor(heard([alert('a'), alert('b')]), [alert('c')], 3)).toEqual([]);
  });

  it('is made of what was not heard of for longest, and nobody proved to have sent', () => {
    const book = heard([alert('proven', { trusted: true }), alert('a'), alert('b', { phase: 'close' }), alert('c')]);
    applyChanges(book, openTriggers(book, [alert('a', { phase: 'renew' })]));
    expect(roomFor(book, [alert('d')], 4)).toEqual(['b', 'c', 'a'].map((key) => ({ drop: 'trigger', key })));
  });

  it('is not made of what is told in this very message, and not needed for what is known', () => {
    const book = heard([alert('a'), alert('b')]);
    expect(roomFor(book, [alert('a'), alert('c')], 2)).toEqual([{ drop: 'trigger', key: 'b' }]);
    expect(roomFor(book, [alert('a')], 2)).toEqual([]);
  });

  it('is not there where all were proven', () => {
    const book = heard([alert('a', { trusted: true }), alert('b', { trusted: true })]);
    expect(roomFor(book, [alert('c')], 2)).toBeUndefined();
  });
});
