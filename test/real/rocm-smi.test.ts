import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { MODELS } from '../../sim/models.ts';
import { describeNode, type Gpu, type NodeDescription, type NodeOptions, writeTree } from '../../sim/tree.ts';
import { startExporter } from '../support/exporter.ts';
import { inTreeUnavailable } from '../support/in-tree.ts';
import { rocmSmiJson, rocmSmiText, type SmiDocument, suitRocmSmi } from '../support/rocm-smi.ts';
import { Series } from '../support/series.ts';
import { skipUnless } from '../support/skips.ts';
import {
  CARD_ROWS,
  type CardRow,
  type Scope,
  type SystemRow,
  same,
  systemRows,
  THEIRS_ALONE,
  type Value,
} from '../support/smi-rows.ts';

/**
 * AMD's rocm-smi (Debian 5.2.3) and our exporter on the same trees. Whatever key it prints must have a row that
 * compares it or a reason why there is none; whatever differs must be a difference that is known, and just that one.
 */

interface Case {
  options: NodeOptions;
  /** Calls of rocm-smi; each aborts as a whole where it meets something newer than itself. */
  calls: readonly (readonly string[])[];
}

const WHOLE = [['-a'], ['--showmeminfo', 'all'], ['--showtopo']];
const CASES: Readonly<Record<string, Case>> = {
  MI100: { options: { model: 'mi100', cards: 4, driver: 'linux-6.1' }, calls: WHOLE },
  MI210: { options: { model: 'mi210', cards: 4, driver: 'linux-6.1' }, calls: WHOLE },
  MI250X: { options: { model: 'mi250x', cards: 2, driver: 'linux-6.1' }, calls: WHOLE },
  MI300X: {
    options: { model: 'mi300x', cards: 4, driver: 'linux-6.12' },
    // It aborts on gpu_metrics 1.4 (-t, -u, energy), on the deep-sleep line `S:` of an idle card, on a third RAS counter.
    calls: [
      ['-i', '-v', '-p', '-M', '-P', '--showbus', '--showserial', '--showuniqueid', '--showfwinfo', '--showmemvendor'],
      ['--showproductname', '--showreplaycount', '--showpids', '--showtopo'],
      ['--showmeminfo', 'all'],
      ['-c', '-d', '0', '1', '2'],
    ],
  },
};

interface Verdict {
  model: string;
  what: string;
  theirs: Value;
  ours: Value;
  /** Undefined where they say the same; '' where they differ and nobody knows why. */
  why?: string;
  where: string;
}

const verdicts: Verdict[] = [];
const directory = mkdtempSync(join(tmpdir(), 'rocm-smi-'));

beforeEach(() => skipUnless(inTreeUnavailable() === undefined, inTreeUnavailable() ?? ''));
afterAll(() => {
  rmSync(directory, { recursive: true });
  if (verdicts.length > 0) console.log(table(verdicts));
});

/** Values that would look alike by chance are set apart. */
function distinct(options: NodeOptions): NodeDescription {
  const node = describeNode({
    ...options,
    processes: [
      { gpus: [{ gpu: 0, vram: 3 << 28, sdma: 1_250_000, cuOccupancy: 60, queues: ['compute', 'sdma'] }] },
      {
        gpus: [
          { gpu: 1, vram: 5 << 28, sdma: 70_000, cuOccupancy: 33 },
          { gpu: 2, vram: 7 << 28, sdma: 9_000, cuOccupancy: 21 },
        ],
      },
    ],
  });
  const [first, second, third] = node.gpus as [Gpu, Gpu, Gpu];
  first.settings.level = 'manual';
  if (first.die !== 'secondary') first.settings.cap -= 37;
  second.ras.badPages = [
    { page: 0x4000_1000, size: 0x1000, flag: 'R' },
    { page: 0x4000_3000, size: 0x1000, flag: 'R' },
    { page: 0x4000_7000, size: 0x1000, flag: 'P' },
    { page: 0x4000_9000, size: 0x1000, flag: 'F' },
  ];
  for (const [index, block] of Object.values(third.ras.blocks).entries())
    Object.assign(block, { ce: 10 + index, ue: index });
  third.settings.profile = 5;
  third.live.link = { ...third.live.link, width: 8 };
  return node;
}

interface Ready {
  model: string;
  tree: string;
  scope: Scope;
  cards: readonly { key: string; gpu: Gpu; label: string }[];
  document: SmiDocument;
}

async function look(model: string, { options, calls }: Case): Promise<Ready> {
  const node = distinct(options);
  const tree = join(directory, model);
  writeTree(tree, node);
  const { exporter, settled, close } = await startExporter(tree);
  let series: Series;
  try {
    series = new Series(await settled());
    expect(exporter.pool.stats.stuck).toEqual([]);
  } finally {
    close();
  }
  suitRocmSmi(tree);
  const document: Record<string, Record<string, string>> = {};
  for (const args of calls) {
    for (const [name, values] of Object.entries(rocmSmiJson(tree, args)))
      document[name] = { ...document[name], ...values };
  }
  const cards = Object.keys(document)
    .filter((name) => /^card\d+$/.test(name))
    .map((key) => {
      const pci = document[key]?.['PCI Bus']?.toLowerCase();
      const gpu = node.gpus.find((one) => one.pci === pci);
      const label = series.labelValues('amdgpu_info', 'gpu', { pci_address: pci ?? '' })[0];
      if (gpu === undefined || label === undefined) throw new Error(`${key} is ${pci}, which only rocm-smi knows`);
      return { key, gpu, label };
    });
  const gpuOf = (card: number): string => cards.find(({ key }) => key === `card${card}`)?.label ?? '';
  return { model, tree, scope: { node, series, gpuOf }, cards, document };
}

function judge(
  { model }: Ready,
  where: string,
  what: string,
  theirs: Value,
  ours: Value,
  known: readonly { why: string; holds(theirs: Value, ours: Value): boolean }[] = [],
): void {
  const verdict = { model, what, theirs, ours, where };
  if (same(theirs, ours)) verdicts.push(verdict);
  else verdicts.push({ ...verdict, why: known.find(({ holds }) => holds(theirs, ours))?.why ?? '' });
}

/** All rows that a key has; none is a hole in the comparison, unless there is a reason. */
function compareKey<S extends Scope>(
  ready: Ready,
  where: string,
  rows: readonly (CardRow | SystemRow)[],
  scope: S,
  key: string,
  text: string,
): void {
  let found = THEIRS_ALONE.some(([pattern]) => pattern.test(key));
  for (const row of rows as readonly (CardRow & SystemRow)[]) {
    const match = row.key.exec(key);
    if (match === null) continue;
    found = true;
    const seen = scope as S & Parameters<typeof row.ours>[0];
    judge(ready, `${where} ${key}`, row.what, row.theirs(text, match), row.ours(seen, match), row.known?.(seen));
  }
  if (!found) judge(ready, where, `key without a row: ${key}`, text, undefined);
}

function compareDocument(ready: Ready): void {
  const { document, cards, scope } = ready;
  for (const { key, gpu, label } of cards) {
    for (const [name, text] of Object.entries(document[key] ?? {}))
      compareKey(ready, key, CARD_ROWS, { ...scope, gpu, label }, name, text);
  }
  const rows = systemRows(MODELS[scope.node.model].cuSlotsPerArray);
  for (const [name, text] of Object.entries(document.system ?? {}))
    compareKey(ready, 'system', rows, scope, name, text);
}

const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim());

/** Its heading has the two counts the wrong way round: the code behind it puts the correctable errors first. */
function compareRas(ready: Ready): void {
  const { series } = ready.scope;
  let label = '';
  for (const line of linesOf(rocmSmiText(ready.tree, ['--showrasinfo', 'all']))) {
    const card = /^GPU\[(\d+)\]/.exec(line)?.[1];
    if (card !== undefined) label = ready.scope.gpuOf(Number(card));
    const [, name, state, correctable, uncorrectable] =
      /^([A-Z_0-9]+)\s+(ENABLED|DISABLED)\s*(\d+)?\s*(\d+)?$/.exec(line) ?? [];
    if (name === undefined) continue;
    const ours = (severity: string): Value =>
      series.value('amdgpu_ras_errors_total', { gpu: label, block: name.toLowerCase(), severity });
    const theirs = (count: string | undefined): Value => (state === 'ENABLED' ? Number(count) : undefined);
    judge(ready, `${name} of ${label}`, 'RAS, correctable', theirs(correctable), ours('correctable'));
    judge(ready, `${name} of ${label}`, 'RAS, uncorrectable', theirs(uncorrectable), ours('uncorrectable'));
  }
}

const PAGE_STATES = { RESERVED: 'retired', PENDING: 'pending', UNRESERVABLE: 'unreservable' } as const;

function comparePages(ready: Ready): void {
  const counts = new Map<string, number>();
  let label = '';
  for (const line of linesOf(rocmSmiText(ready.tree, ['--showpagesinfo']))) {
    const card = /^GPU\[(\d+)\]/.exec(line)?.[1];
    if (card !== undefined) label = ready.scope.gpuOf(Number(card));
    const state = /^0x[0-9a-f]+\s+0x[0-9a-f]+\s+(\w+)$/.exec(line)?.[1]?.toUpperCase();
    if (state !== undefined) counts.set(`${label} ${state}`, (counts.get(`${label} ${state}`) ?? 0) + 1);
  }
  for (const { label: gpu } of ready.cards) {
    for (const [word, state] of Object.entries(PAGE_STATES)) {
      const ours = ready.scope.series.value('amdgpu_bad_pages', { gpu, state });
      judge(ready, `${state} of ${gpu}`, 'bad pages', counts.get(`${gpu} ${word}`) ?? 0, ours);
    }
  }
}

/** A matrix of `min-max` in MB/s; 0-0 where no link goes directly. */
function compareBandwidth(ready: Ready): void {
  const { series, gpuOf } = ready.scope;
  for (const line of linesOf(rocmSmiText(ready.tree, ['--shownodesbw']))) {
    const [, from, cells] = /^GPU(\d+)\s+((?:\d+-\d+|N\/A).*)$/.exec(line) ?? [];
    if (from === undefined) continue;
    for (const [to, cell] of (cells ?? '').split(/\s+/).entries()) {
      if (cell === 'N/A') continue;
      const most = Number(cell.split('-')[1]);
      const labels = { gpu: gpuOf(Number(from)), peer: gpuOf(to), link: 'xgmi' };
      const ours = series.value('amdgpu_io_link_bandwidth_max_bytes_per_second', labels);
      judge(ready, `${from} to ${to}`, 'bandwidth of a link', most === 0 ? undefined : most * 1e6, ours);
    }
  }
}

function compareProfiles(ready: Ready): void {
  const { series, gpuOf } = ready.scope;
  for (const line of linesOf(rocmSmiText(ready.tree, ['--showprofile']))) {
    const [, card, name, star] =
      /^GPU\[(\d+)\]\s*: \d+\. Available power profile \(.*\): ([A-Z ]+?)(\*?)$/.exec(line) ?? [];
    if (card === undefined || name === undefined) continue;
    const labels = { gpu: gpuOf(Number(card)), profile: name.replace(' ', '_') };
    judge(ready, line, 'power profile', star === '*' ? 1 : 0, series.value('amdgpu_power_profile', labels));
  }
}

/** By an exporter of its own: the collector is off unless one asks for it, for the driver sleeps a second in each read. */
async function compareTraffic(ready: Ready): Promise<void> {
  const { exporter, close } = await startExporter(ready.tree, { collectors: new Set(['pcie', 'pcie_bw']) });
  let series: Series;
  try {
    // Nothing is read of a card before its first scrape; then each card has its turn.
    await expect
      .poll(async () => (await exporter.scrape(5000)).match(/^amdgpu_pcie_sent_.*\{/gm)?.length, { timeout: 10_000 })
      .toBe(ready.cards.length);
    series = new Series(await exporter.scrape(5000));
  } finally {
    close();
  }
  for (const line of linesOf(rocmSmiText(ready.tree, ['--showbw']))) {
    const [, card, mebibytes] = /^GPU\[(\d+)\]\s*: Estimated maximum PCIe bandwidth .*: ([\d.]+)$/.exec(line) ?? [];
    if (card === undefined) continue;
    const gpu = ready.scope.gpuOf(Number(card));
    const bytes = (way: string): number => series.value(`amdgpu_pcie_${way}_bytes_per_second`, { gpu }) ?? Number.NaN;
    const sum = ((bytes('received') + bytes('sent')) / 2 ** 20).toFixed(3);
    judge(ready, line, 'PCIe traffic, both ways', mebibytes, sum);
  }
}

/** `PID 4203 is using 1 DRM device(s):` and their numbers in the next line. */
function compareDevices(ready: Ready): void {
  const text = rocmSmiText(ready.tree, ['--showpidgpus']);
  for (const [, pid, cards] of text.matchAll(/^PID (\d+) is using \d+ DRM device\(s\):\n([\d ]*)$/gm)) {
    const theirs = (cards ?? '')
      .trim()
      .split(' ')
      .map((card) => ready.scope.gpuOf(Number(card)));
    const ours = ready.scope.series.labelValues('amdgpu_process_queues', 'gpu', { pid: pid ?? '' });
    const list = (labels: readonly string[]): string => [...new Set(labels)].sort().join(' ');
    judge(ready, `pid ${pid}`, 'which GPUs a process uses', list(theirs), list(ours));
  }
}

describe.each(Object.entries(CASES))('%s', (model, how) => {
  it('says of every quantity what rocm-smi says, or differs for a reason that is known', async () => {
    const ready = await look(model, how);
    expect(ready.cards.map(({ label }) => label).sort()).toEqual(
      ready.scope.node.gpus.map(({ index }) => String(index)),
    );
    compareDocument(ready);
    compareBandwidth(ready);
    compareDevices(ready);
    if (model !== 'MI300X') {
      compareRas(ready);
      comparePages(ready);
    }
    if (model === 'MI100') {
      compareProfiles(ready);
      await compareTraffic(ready);
    }
    expect(verdicts.filter((verdict) => verdict.model === model && verdict.why === '')).toEqual([]);
  });
});

/** How often each was compared; a row that no model reaches would prove nothing. */
it('every row of the comparison was reached, and found both sides with a value', () => {
  const reached = new Set(verdicts.filter(({ ours }) => ours !== undefined).map(({ what }) => what));
  const rows = [...CARD_ROWS, ...systemRows(1)].map(({ what }) => what);
  const texts = ['RAS, correctable', 'RAS, uncorrectable', 'bad pages', 'bandwidth of a link', 'power profile'];
  texts.push('PCIe traffic, both ways', 'which GPUs a process uses');
  expect([...rows, ...texts].filter((what) => !reached.has(what))).toEqual([]);
});

function table(all: readonly Verdict[]): string {
  const models = Object.keys(CASES);
  const whats = [...new Set(all.map(({ what }) => what))];
  const cell = (what: string, model: string): string => {
    const here = all.filter((verdict) => verdict.what === what && verdict.model === model);
    const valued = here.filter(({ theirs, ours }) => theirs !== undefined || ours !== undefined);
    const equal = valued.filter(({ why }) => why === undefined).length;
    if (here.length === 0) return '-';
    if (valued.length === 0) return 'none';
    return equal === valued.length ? `${equal} equal` : `${equal} of ${valued.length}`;
  };
  const width = Math.max(...whats.map((what) => what.length));
  const line = (name: string, cells: readonly string[]): string =>
    `${name.padEnd(width)}  ${cells.map((text) => text.padEnd(10)).join('')}`.trimEnd();
  const notes = [...new Set(all.map(({ what, why }) => (why === undefined ? '' : `${what}: ${why || 'UNKNOWN'}`)))];
  return [
    'rocm-smi 5.2.3 beside the exporter ("-": it does not show it there, "none": both say that there is none)',
    line('', models),
    ...whats.map((what) =>
      line(
        what,
        models.map((model) => cell(what, model)),
      ),
    ),
    'Where they differ:',
    ...notes.filter((note) => note !== '').map((note) => `  ${note}`),
    'Not compared:',
    ...THEIRS_ALONE.map(([pattern, why]) => `  ${pattern.source}: ${why}`),
    '  RAS and bad pages of MI300X, temperatures, busy and energy of MI300X: rocm-smi aborts on tables newer than itself',
    '  --showxgmierr: it passes its own pointer by value and gets an error for an answer',
  ].join('\n');
}
