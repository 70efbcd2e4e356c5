import type { Reading } from './reading.ts';
import type { Serving } from './serving.ts';
import type { Times } from './times.ts';

/** All that was measured on one tree; undefined is what was not, there or at all. */
export interface Column {
  name: string;
  reading: Reading | undefined;
  serving: Serving | undefined;
  plain: Times | undefined;
  nodeExporter: Serving | undefined;
  smi: { all: Times; use: Times } | undefined;
}

type Cell = (column: Column) => string | undefined;

export const decimals = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
export const pair = (times: { p50: number; p99: number }): string => `${decimals(times.p50)} / ${decimals(times.p99)}`;
export const ratio = (above: number | undefined, below: number | undefined): string | undefined =>
  above === undefined || below === undefined ? undefined : decimals(above / below);
export const whole = (value: number): string => value.toLocaleString('en');
export const mib = (memory: { private: number; rss: number }): string =>
  `${memory.private.toFixed(0)} / ${memory.rss.toFixed(0)}`;

/** Private memory that moves less than this between the halves of a run is flat: a heap breathes. MiB. */
const BREATH = 4;

/** Before so many scrapes a heap has not found its size, and what it grows by says nothing. */
const SETTLED = 5000;

function verdict({ growth, identity }: Serving): string {
  const word = identity.count < SETTLED ? '' : growth > BREATH ? 'GROWS ' : 'flat ';
  return `${word}(${growth < 0 ? '' : '+'}${growth.toFixed(1)})`;
}

const of = <T>(part: T | undefined, show: (part: T) => string): string | undefined =>
  part === undefined ? undefined : show(part);

/** Part of a scrape in its process, with its share of it. */
const share = (part: (reading: Reading) => number): Cell => {
  return ({ reading }) => of(reading, (r) => `${decimals(part(r))} (${Math.round((100 * part(r)) / r.scrape.p50)} %)`);
};

const ROWS: readonly (readonly [title: string, cell?: Cell])[] = [
  ['Ratios, each of two things measured in this run'],
  ['reading in the lane / C floor, p50', ({ reading }) => ratio(reading?.lane.p50, reading?.floor.p50)],
  ['reading in the lane / C floor, p99', ({ reading }) => ratio(reading?.lane.p99, reading?.floor.p99)],
  ['scrape / plain server, same bytes, p50', ({ serving, plain }) => ratio(serving?.identity.p50, plain?.p50)],
  ['scrape / node_exporter drm, p50', ({ serving, nodeExporter: o }) => ratio(serving?.identity.p50, o?.identity.p50)],
  [
    'the same, a series',
    ({ serving: s, nodeExporter: o }) => ratio(s && s.identity.p50 / s.series, o && o.identity.p50 / o.series),
  ],
  ['rocm-smi -a --json / scrape, p50', ({ serving, smi }) => ratio(smi?.all.p50, serving?.identity.p50)],
  ['rocm-smi --showuse --json / scrape, p50', ({ serving, smi }) => ratio(smi?.use.p50, serving?.identity.p50)],
  ['Reading, ms (p50 / p99)'],
  ['files in a pass', ({ reading }) => of(reading, (r) => whole(r.files))],
  ['C floor', ({ reading }) => of(reading, (r) => pair(r.floor))],
  ['lane', ({ reading }) => of(reading, (r) => pair(r.lane))],
  ['A scrape without HTTP, ms at p50 (share)'],
  ['all of it', ({ reading }) => of(reading, (r) => decimals(r.scrape.p50))],
  ['reading in the lane', share((r) => r.lane.p50)],
  ['resolve', share((r) => r.resolve.p50)],
  ['transfer and waiting', share((r) => Math.max(0, r.collect.p50 - r.lane.p50 - r.resolve.p50))],
  ['render', share((r) => Math.max(0, r.scrape.p50 - r.collect.p50))],
  ['A scrape by HTTP, ms (p50 / p99)'],
  ['identity', ({ serving }) => of(serving, (s) => pair(s.identity))],
  ['gzip', ({ serving }) => of(serving, (s) => pair(s.gzip))],
  ['plain server, same bytes', ({ plain }) => of(plain, pair)],
  ['series', ({ serving }) => of(serving, (s) => whole(s.series))],
  ['bytes, identity', ({ serving }) => of(serving, (s) => whole(s.bytes))],
  ['bytes, gzip', ({ serving }) => of(serving, (s) => whole(s.packedBytes))],
  ['start to first good scrape, ms', ({ serving }) => of(serving, (s) => s.startMs.toFixed(0))],
  ['Processor, all processes'],
  ['ms a scrape, back to back', ({ serving }) => of(serving, (s) => decimals(s.cpuMs))],
  ['of a core at one scrape a second', ({ serving }) => of(serving?.coreShare, (c) => `${(100 * c).toFixed(2)} %`)],
  ['Memory of all processes, MiB (private / RSS)'],
  ['processes', ({ serving }) => of(serving, (s) => String(s.processes))],
  ['after start', ({ serving }) => of(serving, (s) => mib(s.atStart))],
  ['at half of the scrapes', ({ serving }) => of(serving, (s) => mib(s.atHalf))],
  ['at the end', ({ serving }) => of(serving, (s) => mib(s.atEnd))],
  ['scrapes', ({ serving }) => of(serving, (s) => whole(s.identity.count))],
  ['second half above the first', ({ serving }) => of(serving, verdict)],
  ['Others on the same tree, ms (p50 / p99)'],
  ['node_exporter drm', ({ nodeExporter }) => of(nodeExporter, (s) => pair(s.identity))],
  ['  its series', ({ nodeExporter }) => of(nodeExporter, (s) => whole(s.series))],
  ['  its processor time a scrape, ms', ({ nodeExporter }) => of(nodeExporter, (s) => decimals(s.cpuMs))],
  ['  its memory, MiB (private / RSS)', ({ nodeExporter }) => of(nodeExporter, (s) => mib(s.atEnd))],
  ['rocm-smi -a --json', ({ smi }) => of(smi, (s) => pair(s.all))],
  ['rocm-smi --showuse --json', ({ smi }) => of(smi, (s) => pair(s.use))],
];

/** Markdown, so that it can stand in the docs as it is printed. */
export function renderTable(columns: readonly Column[]): string {
  const lines = [['', ...columns.map(({ name }) => name)]];
  for (const [title, cell] of ROWS) {
    lines.push(
      cell === undefined
        ? [`**${title}**`, ...columns.map(() => '')]
        : [title, ...columns.map((column) => cell(column) ?? '-')],
    );
  }
  return markdown(lines);
}

/** A table whose first line is its head; all columns but the first are numbers. */
export function markdown(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)));
  const pad = (text: string, at: number): string =>
    at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0);
  const rows = lines.map((line) => `| ${line.map(pad).join(' | ')} |`);
  const rule = `|${widths.map((width, at) => `${'-'.repeat(width + (at === 0 ? 2 : 1))}${at === 0 ? '' : ':'}`).join('|')}|`;
  return [rows[0], rule, ...rows.slice(1)].join('\n');
}
