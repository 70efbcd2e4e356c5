import { seriesIn } from './client.ts';
import type { Memory } from './processes.ts';
import { type Program, startPlainServer } from './program.ts';
import { sleep, type Times, timeEach } from './times.ts';

/** What a server costs those who scrape it, and the machine. */
export interface Serving {
  startMs: number;
  series: number;
  bytes: number;
  packedBytes: number;
  identity: Times;
  gzip: Times;
  /** Milliseconds of processor time a scrape, all processes, one scrape after the other. */
  cpuMs: number;
  /** Share of one core at a scrape a second; undefined where that was not measured. */
  coreShare?: number;
  processes: number;
  atStart: Memory;
  atHalf: Memory;
  atEnd: Memory;
  /** MiB by which the highest private memory of the second half is above the highest of the first. */
  growth: number;
}

export interface Plan {
  scrapes: number;
  /** Seconds at one scrape a second; 0: none. */
  paced: number;
}

const SAMPLES = 20;
/** Scrapes before the first that is timed: compilers have to see the code run. */
const WARM_UP = 100;

export async function measureServing(program: Program, plan: Plan, series = seriesIn): Promise<Serving> {
  const { client } = program;
  const atStart = program.memory();
  const privates: number[] = [];
  const step = Math.max(1, Math.floor(plan.scrapes / SAMPLES));
  let atHalf = atStart;
  await timeEach(WARM_UP, () => ask(program, 'identity'));
  const before = program.cpuSeconds();
  const identity = await timeEach(plan.scrapes, async (round) => {
    await ask(program, 'identity');
    if (round % step !== step - 1) return;
    privates.push(program.memory().private);
    if (privates.length === SAMPLES / 2) atHalf = program.memory();
  });
  const cpuMs = ((program.cpuSeconds() - before) * 1000) / plan.scrapes;
  const atEnd = program.memory();
  const gzip = await timeEach(Math.max(50, Math.floor(plan.scrapes / 20)), () => ask(program, 'gzip'));
  const { body, bytes } = await client.ask('identity', true);
  const packedBytes = (await client.ask('gzip')).bytes;
  const middle = privates.length / 2;
  const growth = Math.max(...privates.slice(middle)) - Math.max(...privates.slice(0, middle));
  const coreShare = plan.paced > 0 ? await paced(program, plan.paced) : undefined;
  return {
    startMs: program.startMs,
    series: series(body),
    bytes,
    packedBytes,
    identity,
    gzip,
    cpuMs,
    ...(coreShare === undefined ? {} : { coreShare }),
    processes: program.processes(),
    atStart,
    atHalf,
    atEnd,
    growth,
  };
}

async function ask(program: Program, encoding: 'identity' | 'gzip'): Promise<void> {
  const { status } = await program.client.ask(encoding);
  if (status !== 200) throw new Error(`a scrape was answered with ${status}`);
}

async function paced(program: Program, seconds: number): Promise<number> {
  await sleep(1000); // what the busy time left to do, it does now
  const start = performance.now();
  const before = program.cpuSeconds();
  for (let second = 1; second <= seconds; second++) {
    await ask(program, 'gzip');
    await sleep(Math.max(0, start + second * 1000 - performance.now()));
  }
  return (program.cpuSeconds() - before) / ((performance.now() - start) / 1000);
}

/** The same number of bytes from a server that has nothing to find out. */
export async function measurePlain(bytes: number, scrapes: number): Promise<Times> {
  const plain = await startPlainServer(bytes);
  try {
    await timeEach(50, () => ask(plain, 'identity'));
    return await timeEach(scrapes, () => ask(plain, 'identity'));
  } finally {
    await plain.stop();
  }
}
