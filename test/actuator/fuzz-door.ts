import express from 'express';
import { establishTrust } from '../../actuator/http/auth.ts';
import { type Accepted, webhook } from '../../actuator/http/webhook.ts';
import { Loop } from '../../actuator/loop.ts';
import { Store } from '../../actuator/store.ts';
import { openTriggers, wanted } from '../../actuator/triggers.ts';
import { systemClock } from '../../base/clock.ts';
import { createWebServer, type WebServer } from '../../base/http.ts';
import { createLog, onceLog } from '../../base/log.ts';
import type { Change, Decision } from '../../model/decision.ts';
import type { Trigger } from '../../model/trigger.ts';
import { World } from './decide/world.ts';
import { NODE } from './intake/messages.ts';

/** Webhook, store and loop as the actuator has them, before cards that a test sets; `fresh` begins with an empty book. */
export class Door {
  readonly #policies: string;
  readonly #cards: number;
  world: World;
  /** Since `fresh`. */
  decisions: Decision[] = [];
  committed: Change[] = [];
  errors: unknown[] = [];
  /** Functions that the reconciler would have been sent to. */
  readonly poked = new Set<string>();
  #store!: Store;
  #loop!: Loop;
  #server: WebServer | undefined;
  url = '';

  constructor(policies: string, cards: number) {
    this.#policies = policies;
    this.#cards = cards;
    this.world = new World(policies, cards);
    this.fresh(() => undefined);
  }

  fresh(prepare: (world: World) => void): void {
    const world = new World(this.#policies, this.#cards);
    prepare(world);
    this.world = world;
    this.decisions = [];
    this.committed = [];
    this.errors = [];
    this.poked.clear();
    this.#store = new Store({
      book: world.book,
      // What a ledger keeps is text.
      ledger: { commit: (changes) => void this.committed.push(...JSON.parse(JSON.stringify(changes))) },
      once: onceLog(createLog({ level: 'error', destination: { write: () => undefined } })),
      monotonic: () => systemClock.monotonic(),
      onCommit: () => undefined,
      onFailure: () => this.errors.push(new Error('a commit failed')),
    });
    this.#loop = new Loop({
      store: this.#store,
      look: async () => world.facts(),
      known: () => world.facts(),
      poke: (on) => void this.poked.add(on),
      onDecision: (decision) => void this.decisions.push(decision),
      onError: (error) => void this.errors.push(error),
    });
  }

  async start(): Promise<this> {
    const log = createLog({ level: 'error', destination: { write: (line) => void this.errors.push(line) } });
    const app = express();
    app.use(establishTrust({ log }));
    app.use(
      webhook({
        node: NODE,
        known: (key) => this.world.book.triggers.get(key),
        accept: (triggers) => this.#accept(triggers),
        now: () => this.world.now,
        ready: () => 'ready',
        counters: { request: () => undefined, alerts: () => undefined, truncated: () => undefined },
        clock: systemClock,
        log,
      }),
    );
    this.#server = createWebServer({ app, listen: ['127.0.0.1:0'], log });
    const [address] = await this.#server.start();
    this.url = `${address?.url}/v1/alerts`;
    return this;
  }

  #accept(triggers: readonly Trigger[]): Accepted {
    const { book } = this.world;
    const kept = wanted(book, triggers);
    if (kept.length === 0) return 'queued';
    this.#store.commit(openTriggers(book, kept));
    this.#loop.push({ type: 'triggers', triggers: kept });
    return 'queued';
  }

  /** Answers with the status, once all that follows was decided. */
  async post(body: Uint8Array, headers: Record<string, string> = {}): Promise<number> {
    const response = await fetch(this.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: Buffer.from(body),
    });
    await response.arrayBuffer();
    await this.#loop.idle();
    return response.status;
  }

  async tick(): Promise<void> {
    this.#loop.push({ type: 'tick' });
    await this.#loop.idle();
  }

  async stop(): Promise<void> {
    await this.#server?.stop(0);
  }
}
