import { messageOf } from './alerts.ts';
import { CapFiles } from './caps.ts';
import { Sender } from './client.ts';
import type { Memory } from './processes.ts';
import type { Program } from './program.ts';
import { CAPPED, FOUND } from './receivers.ts';
import type { Subject } from './subjects.ts';
import { sleep, type Times, timesOf } from './times.ts';

export interface ReactionPlan {
  /** Alerts one after the other. */
  alerts: number;
  /** Alerts in the storms. */
  storm: number;
}

/** What a receiver needs from the POST on. Milliseconds. */
export interface Reaction {
  /** Until the file of the card says the new cap. */
  written: Times;
  /** Until the answer was whole. */
  answered: Times;
  oneMessage: Storm;
  manyMessages: Storm;
}

export interface Storm {
  alerts: number;
  /** Until the last answer was whole, ms. */
  answered: number;
  /** Until the last card was set, ms. */
  written: number;
}

/** Connections that a storm of messages comes in by. */
const CONNECTIONS = 8;
/** Before the first that is timed: compilers have to see the code run. */
const WARM_UP = 24;

let serials = 0;

export async function measureReaction(program: Program, subject: Subject, plan: ReactionPlan): Promise<Reaction> {
  const { caps } = subject;
  const files = new CapFiles(caps.map(({ file }) => file));
  const sender = new Sender(program.port, CONNECTIONS);
  try {
    await oneByOne(sender, files, subject, WARM_UP);
    const { written, answered } = await oneByOne(sender, files, subject, plan.alerts);
    const oneMessage = await storm(sender, files, subject, plan.storm, true);
    const manyMessages = await storm(sender, files, subject, plan.storm, false);
    return { written: timesOf(written), answered: timesOf(answered), oneMessage, manyMessages };
  } finally {
    sender.close();
    files.close();
  }
}

/** Each on the next card, of which the one before was given back a round ago. */
export async function oneByOne(
  sender: Sender,
  files: CapFiles,
  { caps }: Subject,
  alerts: number,
): Promise<{ written: number[]; answered: number[] }> {
  const written: number[] = [];
  const answered: number[] = [];
  for (let i = 0; i < alerts; i++) {
    const { pci, file } = caps[i % caps.length] as Subject['caps'][number];
    const serial = serials++;
    const firing = messageOf([{ pci, serial }]);
    const seen = files.until(file, CAPPED);
    const start = performance.now();
    const answer = post(sender, firing).then(() => answered.push(performance.now() - start));
    written.push((await seen) - start);
    await answer;
    const back = files.until(file, FOUND);
    await post(sender, messageOf([{ pci, serial, status: 'resolved' }]));
    await back;
    // Its last commits are not part of the next one's time.
    await sleep(10);
  }
  return { written, answered };
}

async function storm(
  sender: Sender,
  files: CapFiles,
  { caps }: Subject,
  alerts: number,
  whole: boolean,
): Promise<Storm> {
  await sleep(500);
  const about = Array.from({ length: alerts }, (_, i) => ({
    pci: caps[i % caps.length]?.pci ?? '',
    serial: serials++,
  }));
  const bodies = whole ? [messageOf(about)] : about.map((one) => messageOf([one]));
  const all = caps.map(({ file }) => files.until(file, CAPPED, 60_000));
  const start = performance.now();
  await Promise.all(bodies.map((body) => post(sender, body)));
  const answered = performance.now() - start;
  const written = Math.max(...(await Promise.all(all))) - start;
  await sleep(500);
  const back = caps.map(({ file }) => files.until(file, FOUND, 60_000));
  await post(sender, messageOf(about.map((one) => ({ ...one, status: 'resolved' }))));
  await Promise.all(back);
  return { alerts, answered, written };
}

/** What is left after many notices. */
export interface Endurance {
  notices: number;
  /** Episodes that began in them. */
  episodes: number;
  /** Notices taken in a second. */
  perSecond: number;
  before: Memory;
  half: Memory;
  after: Memory;
}

/** Alerts of one message: most of them say again what was said, some are new, as many are over. */
const MESSAGE = { renewed: 30, begun: 10, ended: 10 } as const;

export async function measureEndurance(program: Program, { caps }: Subject, notices: number): Promise<Endurance> {
  const sender = new Sender(program.port);
  const open: { pci: string; serial: number }[] = [];
  const begin = () => {
    const serial = serials++;
    const one = { pci: caps[serial % caps.length]?.pci ?? '', serial };
    open.push(one);
    return one;
  };
  const size = MESSAGE.renewed + MESSAGE.begun + MESSAGE.ended;
  const messages = Math.ceil(notices / size);
  let episodes = MESSAGE.renewed + MESSAGE.ended;
  await post(sender, messageOf(Array.from({ length: episodes }, begin)));
  const before = program.memory();
  let half = before;
  const start = performance.now();
  for (let i = 0; i < messages; i++) {
    const ended = open.splice(0, MESSAGE.ended).map((one) => ({ ...one, status: 'resolved' as const }));
    const renewed = open.slice(0, MESSAGE.renewed);
    const begun = Array.from({ length: MESSAGE.begun }, begin);
    episodes += begun.length;
    await post(sender, messageOf([...renewed, ...begun, ...ended]));
    if (i === Math.floor(messages / 2)) half = program.memory();
  }
  const perSecond = (messages * size) / ((performance.now() - start) / 1000);
  const after = program.memory();
  sender.close();
  return { notices: messages * size, episodes, perSecond, before, half, after };
}

async function post(sender: Sender, body: string): Promise<void> {
  const status = await sender.post(body);
  if (status !== 202) throw new Error(`a message was answered with ${status}`);
}
