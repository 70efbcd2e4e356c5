import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { factsOf } from '../support/described.ts';
import { hardwareOnly, startExporter, type TestExporter } from '../support/exporter.ts';
import { GOLDEN_NODES, type WrittenNode, writtenNode } from '../support/nodes.ts';
import { promtoolCheckMetrics } from '../support/promtool.ts';
import { Series } from '../support/series.ts';

const FOLDER = fileURLToPath(new URL('../fixtures/golden/', import.meta.url));
const UPDATE = process.env.UPDATE_GOLDEN === '1';

describe.each(Object.entries(GOLDEN_NODES))('a node of %s', (name, options) => {
  let written: WrittenNode;
  let running: TestExporter;
  let text: string;
  let series: Series;
  beforeAll(async () => {
    written = writtenNode(options);
    running = await startExporter(written.tree);
    text = await running.settled();
    series = new Series(text);
  });
  afterAll(() => {
    running.close();
    written.remove();
  });

  it('shows what its description says, and nothing that it does not have', () => {
    const wrong = written.node.gpus
      .flatMap((gpu) => factsOf(written.node, gpu))
      .map((fact) => ({ ...fact, published: series.all(fact.metric, fact.labels).map(({ value }) => value) }))
      .filter(({ value, published }) =>
        value === null ? published.length > 0 : published.length !== 1 || !close(published[0] as number, value),
      );
    expect(wrong).toEqual([]);
  });

  it('is scraped as the golden file says', () => {
    const golden = `${FOLDER}${name}.prom`;
    const scraped = withoutHelp(hardwareOnly(text));
    if (UPDATE) writeFileSync(golden, scraped);
    expect(scraped.split('\n')).toEqual(readFileSync(golden, 'utf8').split('\n'));
  });

  it('is read without errors and to promtool\u2019s content', async () => {
    expect(series.value('amdgpu_gpus')).toBe(written.node.gpus.length);
    const errors = series.all('amdgpu_read_errors_total').filter(({ value }) => value > 0);
    expect(errors).toEqual([]);
    for (const [family, { help }] of series.families) expect(help, family).toBeTruthy();
    for (const { labels, value } of series.all('amdgpu_exporter_collector_success'))
      expect(value, labels.collector).toBe(1);
    expect(await promtoolCheckMetrics(text)).toEqual([]);
  });
});

it('every golden file belongs to a node', () => {
  expect(readdirSync(FOLDER).sort()).toEqual(
    Object.keys(GOLDEN_NODES)
      .map((name) => `${name}.prom`)
      .sort(),
  );
});

const close = (a: number, b: number): boolean => Math.abs(a - b) <= Math.abs(b) * 1e-12;

/** Wording is held elsewhere, and changes more often than numbers. */
function withoutHelp(exposition: string): string {
  return exposition
    .split('\n')
    .filter((line) => !line.startsWith('# HELP '))
    .join('\n');
}
