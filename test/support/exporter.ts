import { existsSync } from 'node:fs';
import type { Paths } from '../../amdgpu/paths.ts';
import type { Clock } from '../../base/clock.ts';
import { createLog } from '../../base/log.ts';
import { createExporter, type Exporter } from '../../exporter/app.ts';
import { COLLECTORS } from '../../exporter/collectors.ts';

/** Long enough for a busy machine; a scrape that waits for it has failed anyway. */
const PATIENCE_MS = 10_000;
/** Reads of `pcie_bw` sleep a second in the driver, and the profiler needs a folder. */
const NOT_BY_FILES = new Set(['profiler', 'pcie_bw']);

const PROCESSES_READ = /^amdgpu_exporter_collector_success\{collector="process"\} 1$/m;

export interface TestExporter {
  exporter: Exporter;
  /** What the exporter logged, a line an entry. */
  logged: readonly string[];
  /** A scrape that holds what is read slowly too. */
  settled(): Promise<string>;
  close(): void;
}

/** The exporter in this process, on a tree with sys/ and proc/ in it, with real lanes and all that files can tell. */
export async function startExporter(
  tree: string,
  options: { clock?: Clock; collectors?: ReadonlySet<string> } = {},
): Promise<TestExporter> {
  const paths: Paths = { sysfs: `${tree}/sys`, procfs: `${tree}/proc` };
  const logged: string[] = [];
  const hasProcesses = existsSync(paths.procfs);
  const exporter = createExporter({
    paths,
    node: 'test',
    version: '0.0.0',
    revision: 'test',
    log: createLog({ level: 'warn', destination: { write: (line) => void logged.push(line) } }),
    collectors: new Set(COLLECTORS.map((collector) => collector.name).filter((name) => !NOT_BY_FILES.has(name))),
    laneDeadlineMs: PATIENCE_MS,
    scrapeDeadlineMs: PATIENCE_MS,
    processes: { perProcess: true, maxSeries: 1000, occupancyMs: 15_000, fullScanMs: 10_000, intervalMs: 0 },
    ...options,
  });
  await exporter.start();
  return {
    exporter,
    logged,
    async settled() {
      // Slow files and processes show in a scrape after they came: until then it does not say the same twice.
      let text = await exporter.scrape(PATIENCE_MS);
      for (let tries = 0; tries < 20; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        const next = await exporter.scrape(PATIENCE_MS);
        const same = steady(next) === steady(text);
        text = next;
        if (same && (!hasProcesses || PROCESSES_READ.test(next))) break;
      }
      return text;
    },
    close: () => exporter.close(),
  };
}

/** Failed reads go on being counted. */
const steady = (exposition: string): string =>
  hardwareOnly(exposition).replaceAll(/^amdgpu_read_errors_total.*$/gm, '');

/** The part of a scrape that is about hardware and moves with the tree alone. */
export function hardwareOnly(exposition: string): string {
  const families = exposition.split(/\n(?=# HELP )/);
  return families
    .map((family) => family.trim())
    .filter((family) => {
      const name = /^# HELP (\S+)/.exec(family)?.[1] ?? '';
      return name.startsWith('amdgpu_') && !/^amdgpu_exporter_|_timestamp_seconds$/.test(name);
    })
    .map((family) => `${family}\n`)
    .join('');
}
