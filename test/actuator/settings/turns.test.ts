import { describe, expect, it } from 'vitest';
import { Turns } from '../../../actuator/settings/turns.ts';

describe('turns', () => {
  it('run one at a time for a key, and many who ask meanwhile share the next', async () => {
    let atOnce = 0;
    let most = 0;
    let runs = 0;
    const turns = new Turns(async () => {
      runs += 1;
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce -= 1;
    });
    await Promise.all(Array.from({ length: 20 }, () => turns.run('a')));
    expect({ runs, most, size: turns.size }).toEqual({ runs: 2, most: 1, size: 0 });
    await Promise.all([turns.run('a'), turns.run('b')]);
    expect(most).toBe(2);
  });

  it('begin a run after every call', async () => {
    let wanted = 0;
    let seen = 0;
    const turns = new Turns(async () => {
      const now = wanted;
      await Promise.resolve();
      seen = now;
    });
    for (let i = 1; i <= 50; i++) {
      wanted = i;
      const done = turns.run('a');
      if (i % 3 === 0) {
        await done;
        expect(seen).toBe(i);
      }
    }
    await turns.run('a');
    expect(seen).toBe(50);
  });
});
