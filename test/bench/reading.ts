import type { createLog } from '../../base/log.ts';
import type { createExporter } from '../../exporter/app.ts';
import type { COLLECTORS } from '../../exporter/collectors.ts';
import { type Floor, measureFloor } from './floor.ts';
import type { Subject } from './subjects.ts';
import { type Times, timesOf } from './times.ts';

/** The built modules: the same code loaded from its sources by a test runner is slower. */
export interface Built {
  createExporter: typeof createExporter;
  createLog: typeof createLog;
  COLLECTORS: typeof COLLECTORS;
}

const DEADLINE_MS = 5000;

/** What one scrape is made of, in the process itself and so without HTTP. Milliseconds; `floor` too. */
export interface Reading {
  files: number;
  floor: Floor;
  /** A pass over all files, by the lane's own watch. */
  lane: Times;
  /** From the request for a pass to the readings: lane, transfer, resolve. */
  collect: Times;
  resolve: Times;
  scrape: Times;
}

export async function measureReading(built: Built, { tree }: Subject, rounds: number): Promise<Reading> {
  const exporter = built.createExporter({
    paths: { sysfs: `${tree}/sys`, procfs: `${tree}/proc` },
    node: 'bench',
    version: '0.0.0',
    revision: '',
    log: built.createLog({ level: 'error' }),
    collectors: new Set(built.COLLECTORS.filter((collector) => collector.byDefault).map(({ name }) => name)),
    laneDeadlineMs: 400,
    scrapeDeadlineMs: DEADLINE_MS,
  });
  // Lanes do not hold the event loop.
  const alive = setInterval(() => undefined, 60_000);
  try {
    await exporter.start();
    const lists = { lane: [] as number[], collect: [] as number[], resolve: [] as number[], scrape: [] as number[] };
    for (let round = 0; round < rounds + Math.ceil(rounds / 10); round++) {
      const start = performance.now();
      const { cards, report } = await exporter.node.collect(DEADLINE_MS);
      const between = performance.now();
      await exporter.scrape(DEADLINE_MS);
      if (round < rounds / 10) continue; // compilers and caches
      lists.scrape.push(performance.now() - between);
      lists.collect.push(between - start);
      lists.lane.push(cards.reduce((sum, card) => sum + card.readMs, 0));
      lists.resolve.push([...report.seconds.values()].reduce((sum, seconds) => sum + seconds * 1000, 0));
    }
    const paths = exporter.node.cards.flatMap((card) => card.planned.map((name) => card.pathOf(name)));
    const floor = measureFloor(paths, { passes: rounds });
    return {
      files: paths.length,
      floor: { ...floor, p50: floor.p50 / 1000, p99: floor.p99 / 1000 },
      lane: timesOf(lists.lane),
      collect: timesOf(lists.collect),
      resolve: timesOf(lists.resolve),
      scrape: timesOf(lists.scrape),
    };
  } finally {
    clearInterval(alive);
    exporter.close();
  }
}
