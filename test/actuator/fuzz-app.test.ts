import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunningActuator } from '../support/actuator.ts';
import { alertOf, anotherStart, hotJunction, messageOf, policies, rulesOf, runActuator } from '../support/actuator.ts';
import { type PlainNode, plainNode } from '../support/hot-node.ts';
import { until } from '../support/until.ts';

/** The whole actuator, with lanes, a ledger on disk and files that stand for cards, under what nobody should send. */

const [HOT, COOL, KEPT] = [0, 1, 2];
const [FOUND, CAPPED] = [750, 525];

interface Bench extends RunningActuator {
  node: PlainNode;
  send(path: string, body: Buffer, headers?: Record<string, string>): Promise<number>;
}

async function bench(): Promise<Bench> {
  const node = plainNode({ model: 'mi300x', cards: 3 });
  node.heat(40, COOL);
  const running = await runActuator(node.dir, {
    rules: rulesOf(policies(hotJunction({ times: 'dwell: 0s, lease: 1h, cooldown: 0s' }))),
    protectedCards: new Set([node.pci(KEPT)]),
    acts: { acts: 1_000, perMs: 60_000 },
  });
  return {
    ...running,
    node,
    async send(path, body, headers = {}) {
      const response = await fetch(`${running.url}${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body,
      });
      await response.arrayBuffer();
      return response.status;
    },
  };
}

/** Size and content of every file of the tree, by path. */
function filesOf(dir: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(path, statSync(path).size > 65_536 ? `${statSync(path).size}` : readFileSync(path, 'latin1'));
  }
  return found;
}

/** Messages that would act if one thing about them were right, about every card. */
const wrong = fc
  .record({
    card: fc.constantFrom(HOT, COOL, KEPT),
    spoil: fc.constantFrom('name', 'node', 'status', 'version', 'card', 'start', 'text', 'nothing'),
    put: fc.oneof(fc.constantFrom('', '__proto__', 'mi300x-08', '0', '\u0000'), fc.string({ unit: 'binary' })),
  })
  .map(({ card, spoil, put }) => ({ card, spoil, put }));

function spoiled(node: PlainNode, { card, spoil, put }: { card: number; spoil: string; put: string }): Buffer {
  const alert = alertOf({
    pci: spoil === 'card' ? `x${put}` : node.pci(card),
    name: spoil === 'name' ? `${put}x` : 'AmdGpuJunctionHot',
    node: spoil === 'node' ? `x${put}` : 'mi300x-07',
    // What is well-formed in all is told to cards on which it must not act.
    ...(spoil === 'nothing' && card === HOT ? { status: 'resolved' as const } : {}),
    startsAt: spoil === 'start' ? `${put}x` : anotherStart(),
  });
  if (spoil === 'status') alert.status = `${put}x`;
  const text = messageOf(alert);
  if (spoil === 'version') return Buffer.from(text.replace('"version":"4"', `"version":${JSON.stringify(`x${put}`)}`));
  return Buffer.from(spoil === 'text' ? text.slice(0, text.length - 1 - (put.length % 40)) : text);
}

describe('the actuator, told all kinds of things that are wrong', () => {
  it('answers each, sets nothing, keeps its ledger, and then acts on the first that is right', async () => {
    const b = await bench();
    const before = filesOf(b.node.dir);
    const seen = new Set<number>();
    const path = fc.constantFrom(
      '/v1/alerts',
      '/v1/alerts',
      '/v1/alerts',
      '/v1/alerts/',
      '/v1/ALERTS',
      '/v1/triggers',
      '/v1/pause',
      '/v1/revert',
      '/x',
    );
    const junk = fc.oneof(
      fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)),
      fc.json().map((json) => Buffer.from(json)),
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(wrong, junk), path, async (what, where) => {
        const status = await b.send(where, Buffer.isBuffer(what) ? what : spoiled(b.node, what));
        seen.add(status);
        // Nobody on loopback may control anything, and what is nowhere is not found.
        expect([202, 400, 403, 404]).toContain(status);
        if (!where.toLowerCase().startsWith('/v1/alerts')) expect(status).toBeGreaterThanOrEqual(403);
      }),
      { numRuns: 400 },
    );
    expect([...seen].sort()).toEqual([202, 400, 403, 404]);
    await b.actuator.loop.idle();
    expect(b.history('acted')).toEqual([]);
    expect([b.actuator.book.cases.size, b.actuator.book.claims.size, b.actuator.book.knobs.size]).toEqual([0, 0, 0]);
    expect(filesOf(b.node.dir)).toEqual(before);
    const metrics = await b.metrics();
    for (const name of ['nightshift_loop_errors_total', 'nightshift_ledger_commit_failures_total']) {
      expect([name, metrics.value(name)]).toEqual([name, 0]);
    }
    // What the book holds is what a restart would find.
    const kept = b.ledger.load();
    expect([...kept.triggers.keys()].sort()).toEqual([...b.actuator.book.triggers.keys()].sort());
    b.ledger.checkIntegrity();

    expect((await b.tell({ pci: b.node.pci(HOT), startsAt: anotherStart() })).status).toBe(202);
    await until('the card is held', () => b.node.cap(HOT) === CAPPED);
    expect([b.node.cap(COOL), b.node.cap(KEPT)]).toEqual([FOUND, FOUND]);
    b.node.heat(40, HOT);
    await until('the card is given back', () => b.node.cap(HOT) === FOUND && b.actuator.book.cases.size === 0);
    expect(b.history('acted')).toHaveLength(1);
  }, 120_000);
});
