import { describe, expect, it } from 'vitest';
import { type OfflineOptions, type OfflineResult, revertOffline } from '../../../actuator/settings/offline.ts';
import type { Case } from '../../../model/case.ts';
import type { Claim } from '../../../model/claim.ts';
import type { Change } from '../../../model/decision.ts';
import { A, B, Desk } from './desk.ts';

/** An actuator that limited two cards and died. */
async function dead(): Promise<Desk> {
  const desk = new Desk();
  desk.claim('a', { power_cap: 500, gfx_clock: 1500 }, A);
  desk.claim('b', { power_cap: 600 }, B);
  await desk.run(A);
  await desk.run(B);
  return desk;
}

function revert(desk: Desk, more: Partial<OfflineOptions> = {}, cases: Partial<Case>[] = []): Promise<OfflineResult[]> {
  const rows = {
    knobs: [...desk.rows.knobs.values()],
    cases: cases as Case[],
    claims: [...desk.rows.claims.values()].flat() as Claim[],
  };
  return revertOffline(rows, desk.port, { now: () => desk.clock.now(), onlyExpired: false, ...more });
}

const words = (results: readonly OfflineResult[]): string[] =>
  results.map(({ on, knob, outcome }) => `${on === A ? 'A' : 'B'} ${knob} ${outcome}`).sort();

describe('reverting for a dead actuator', () => {
  it('gives everything back and drops the rows', async () => {
    const desk = await dead();
    const changes: Change[] = [];
    const results = await revert(desk, { commit: (made) => changes.push(...made) });
    expect(words(results)).toEqual(['A gfx_clock given_back', 'A power_cap given_back', 'B power_cap given_back']);
    expect(desk.card.settings).toEqual({ power_cap: 750, gfx_clock: 2100, mem_clock: 1300, level: 'auto' });
    expect(desk.port.card(B).settings.power_cap).toBe(750);
    expect(changes.filter((change) => 'drop' in change)).toHaveLength(3);
  });

  it('leaves alone what somebody else set', async () => {
    const desk = await dead();
    desk.card.settings.power_cap = 651;
    expect(words(await revert(desk))).toContain('A power_cap overridden');
    expect(desk.card.settings.power_cap).toBe(651);
  });

  it('finds out what a write that was under way did', async () => {
    const desk = await dead();
    const row = desk.row();
    desk.rows.knobs.set(`${A} power_cap`, { ...row, writing: 400, wrote: 500 } as NonNullable<typeof row>);
    desk.card.settings.power_cap = 400;
    expect(words(await revert(desk))).toContain('A power_cap given_back');
  });

  it('does it also where nothing can be committed', async () => {
    const desk = await dead();
    const errors: unknown[] = [];
    const full = (): never => {
      throw new Error('disk full');
    };
    const results = await revert(desk, { commit: full, onError: (error) => errors.push(error) });
    expect(words(results)).toEqual(['A gfx_clock given_back', 'A power_cap given_back', 'B power_cap given_back']);
    expect(desk.card.settings.power_cap).toBe(750);
    expect(errors).not.toEqual([]);
  });

  it('tells of a card that hangs, and gives back the others', async () => {
    const desk = await dead();
    desk.card.fault = { hang: true };
    expect(words(await revert(desk))).toEqual([
      'A gfx_clock unanswered',
      'A power_cap unanswered',
      'B power_cap given_back',
    ]);
  });

  it('tells what was refused, does not wait for a pause of the dead, and goes on', async () => {
    const desk = await dead();
    const row = desk.row();
    const paused = { ...row, writing: 750, attempts: 5, notBefore: desk.clock.now() + 50_000 };
    desk.rows.knobs.set(`${A} power_cap`, paused as NonNullable<typeof row>);
    desk.card.fault = { refuse: 'EINVAL' };
    desk.card.faulty = 'power_cap';
    const results = await revert(desk);
    expect(words(results)).toEqual(['A gfx_clock given_back', 'A power_cap failed', 'B power_cap given_back']);
    expect(results.find(({ outcome }) => outcome === 'failed')?.detail).toContain('EINVAL');
    expect(desk.card.writes.filter((to) => to.power_cap === 750)).toHaveLength(1);
  });

  it.each<[string, Partial<Case>, string]>([
    ['runs', { deadline: 1 }, 'kept'],
    ['is over', { deadline: 0 }, 'given_back'],
    ['is over, but heat is not seen', { deadline: 0, blindFrom: -5 }, 'kept'],
    ['runs for a dry run', { deadline: 1, mode: 'dry_run' }, 'given_back'],
  ])('of expired leases alone keeps a knob whose lease %s: %s', async (_, one, outcome) => {
    const desk = await dead();
    const now = desk.clock.now();
    for (const [id, claims] of desk.rows.claims) {
      desk.rows.claims.set(
        id,
        claims.map((claim) => ({ ...claim, safety: true })),
      );
    }
    const open = { id: 'b', mode: 'enforce' as const, ...one, deadline: now + (one.deadline ?? 0) };
    const results = await revert(desk, { onlyExpired: true }, [open]);
    expect(words(results)).toContain(`B power_cap ${outcome}`);
    expect(words(results)).toContain('A power_cap given_back');
    expect(desk.port.card(B).settings.power_cap).toBe(outcome === 'kept' ? 600 : 750);
  });

  it('does not lower what has a running lease, whatever the card has', async () => {
    const desk = await dead();
    const card = desk.port.card(B);
    card.settings.power_cap = 700;
    const open = { id: 'b', mode: 'enforce' as const, deadline: desk.clock.now() + 1 };
    await revert(desk, { onlyExpired: true }, [open]);
    expect(card.writes).toHaveLength(1);
  });
});
