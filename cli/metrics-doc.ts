import { COLLECTORS } from '../exporter/collectors.ts';
import { SelfMetrics } from '../exporter/self.ts';
import { renderErrors } from '../exporter/status.ts';
import { ALL_QUANTITIES, CATALOGUE } from '../model/quantities/catalogue.ts';
import { COVERAGE, type Verdict } from '../model/quantities/coverage.ts';
import { MATRIX, PROFILER_ROWS } from '../model/quantities/matrix.ts';
import { GROUPS, type Group, metricName, type Quantity } from '../model/quantities/quantity.ts';
import { code, table } from './markdown.ts';

/** One line of the coverage table. */
export interface CoverageLine {
  id: string;
  asks: string;
  verdict: 'exported' | 'not possible' | 'later' | 'missing';
  /** Metric names, an expression, or why not. */
  by: string;
}

/** Every row of the matrix with its verdict; rows that nobody accounts for are `missing`. */
export function coverage(): CoverageLine[] {
  const lines = MATRIX.flatMap(({ rows }) => rows.map(([id, asks]) => lineOf(id, asks)));
  const uncovered = PROFILER_ROWS.some(
    (id) => !ALL_QUANTITIES.some((q) => q.rows.includes('F53') || q.rows.includes(id)),
  );
  return [
    ...lines,
    {
      id: 'F1–F53',
      asks: 'counters of a profiler',
      verdict: uncovered ? 'missing' : 'exported',
      by: `\`amdgpu_profiler_counter{counter="…"}\` (collector profiler, off by default: each counter by the name that the profiler gives it)`,
    },
  ];
}

function lineOf(id: string, asks: string): CoverageLine {
  const names = [...new Set(ALL_QUANTITIES.filter((q) => q.rows.includes(id)).map(metricName))];
  const metrics = names.map(code).join(', ');
  const verdict: Verdict | undefined = COVERAGE[id];
  switch (verdict?.kind) {
    case 'derived':
      return { id, asks, verdict: 'exported', by: withNote(code(verdict.expression), verdict.note) };
    case 'impossible':
      return { id, asks, verdict: 'not possible', by: verdict.reason };
    case 'later':
      return { id, asks, verdict: 'later', by: `needs the ${verdict.needs}: ${verdict.note}` };
    default:
      if (names.length === 0) return { id, asks, verdict: 'missing', by: '' };
      return { id, asks, verdict: 'exported', by: withNote(metrics, verdict?.note) };
  }
}

function withNote(text: string, note: string | undefined): string {
  return note === undefined ? text : `${text} (${note})`;
}

/** A metric of our own work, as the exposition shows it. */
export interface SelfMetric {
  name: string;
  type: string;
  labels: string[];
  help: string;
}

/** Taken from the text itself, so that nothing is described that is not served. */
export async function selfMetrics(): Promise<SelfMetric[]> {
  const self = new SelfMetrics({
    version: '',
    revision: '',
    collectors: ['…'],
    lanes: () => ({ lanes: 1, stuck: [], splits: 0 }),
    lag: { latest: () => ({ mean: 0, p50: 0, p99: 0, max: 0 }), stop: () => {} },
    droppedProcesses: () => 0,
  });
  const errors = new Map([['x', { source: '…', reason: 'timeout', count: 0 }]]);
  const status = renderErrors([{ gpu: '0', errors, lastSuccess: 0, readMs: 0 } as never]);
  return describeText(status + (await self.registry.metrics())).filter(({ name }) => name.startsWith('amdgpu_'));
}

function describeText(text: string): SelfMetric[] {
  const found = new Map<string, SelfMetric>();
  for (const line of text.split('\n')) {
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (name !== undefined && rest !== undefined) {
      const metric = found.get(name) ?? { name, type: '', labels: [], help: '' };
      if (kind === 'HELP') metric.help = rest;
      else metric.type = rest;
      found.set(name, metric);
      continue;
    }
    const [, series = '', labels = ''] = /^([a-z_0-9]+)\{(.*)\} /.exec(line) ?? [];
    const metric = found.get(series) ?? found.get(series.replace(/_(bucket|sum|count)$/, ''));
    for (const [, label = ''] of labels.matchAll(/([a-z_0-9]+)="/g)) {
      if (metric !== undefined && label !== 'le' && !metric.labels.includes(label)) metric.labels.push(label);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const TITLES: Readonly<Record<Group, string>> = {
  info: 'Identity and state',
  compute: 'Compute',
  memory: 'Memory',
  pcie: 'PCIe',
  xgmi: 'XGMI',
  power: 'Power',
  thermal: 'Temperatures, fans, voltages',
  throttle: 'Throttling',
  clocks: 'Clocks',
  ras: 'Hardware errors',
  process: 'Processes',
  partition: 'Partitions',
  media: 'Media engines',
  apu: 'APUs and MI300A sockets',
  profiler: 'Profiler counters',
};
const TYPES: Readonly<Record<Quantity['kind'], string>> = {
  gauge: 'gauge',
  counter: 'counter',
  state: 'gauge, 0 or 1 a state',
  info: 'gauge, always 1',
};
const CADENCES: Readonly<Record<Quantity['cadence'], string>> = {
  fast: 'each scrape',
  scrape: 'each scrape',
  slow: '10 s or slower',
  static: 'at discovery',
};

/** docs/metrics.md as a whole. */
export async function renderMetricsDoc(): Promise<string> {
  const lines = coverage();
  return [HEAD, ...GROUPS.map(renderGroup), await renderSelf(), renderCoverage(lines), totals(lines), ''].join('\n');
}

const HEAD = `<!-- Generated by \`npm run docs\`. Change model/quantities/ instead. -->

# Metrics

Every family that \`nightshift exporter\` can serve. A family appears only where some card has a value for it: what a card does not have is
absent, never 0. All values are in base units. Counters carry the hardware's own absolute value, which restarts with the driver or with a
reset of the card.

Series of a card carry \`gpu\`, its number on this node, and those of a logical device also \`partition\`. What a card is called elsewhere (PCI
address, serial, render node) stands in \`amdgpu_info\` and \`amdgpu_partition_info\` alone; join by \`gpu\`, and by \`partition\`:

\`\`\`promql
amdgpu_power_watts * on (instance, gpu) group_left (pci_address, model) amdgpu_info
\`\`\`

A policy names a value by the variable in the last column, with the values of its labels behind it: \`gpu.temperature.junction\`.

See also [coverage](#coverage): what could be known of a GPU, and what becomes of it here.
`;

function renderGroup(group: Group): string {
  const collector = COLLECTORS.find(({ groups }) => groups.includes(group));
  const how =
    collector === undefined
      ? 'Always on.'
      : `Collector \`${collector.name}\`, ${collector.byDefault ? `on by default (\`--no-collector.${collector.name}\`)` : `off by default (\`--collector.${collector.name}\`)`}.`;
  const rows = CATALOGUE[group].map(renderQuantity);
  return `## ${TITLES[group]}\n\n${how}\n\n${table(['Metric', 'Type', 'Labels', 'Unit', 'What', 'Sources', 'Read', 'Policy variable'], rows)}`;
}

function renderQuantity(q: Quantity): string[] {
  const labels = [...(q.node === true ? [] : ['gpu']), ...q.labels, ...(q.partitioned === true ? ['partition'] : [])];
  const variable = q.kind === 'info' ? '' : code(['gpu', q.key, ...q.labels.map((label) => `<${label}>`)].join('.'));
  const unit = q.unit === 'none' || q.unit === 'state' ? '' : q.unit.replaceAll('_', ' ');
  const cadence =
    q.key.startsWith('pcie_received') || q.key.startsWith('pcie_sent') ? 'each minute' : CADENCES[q.cadence];
  return [
    code(metricName(q)),
    TYPES[q.kind],
    labels.map(code).join(', '),
    unit,
    q.help,
    q.sources.map(code).join(', '),
    cadence,
    q.node === true ? '' : variable,
  ];
}

async function renderSelf(): Promise<string> {
  const rows = (await selfMetrics()).map(({ name, type, labels, help }) => [
    code(name),
    type,
    labels.map(code).join(', '),
    help,
  ]);
  return `## The exporter itself

Beside these, the families \`process_*\` and \`nodejs_*\` describe the exporter's own process.

${table(['Metric', 'Type', 'Labels', 'What'], rows)}`;
}

function renderCoverage(lines: readonly CoverageLine[]): string {
  const byId = new Map(lines.map((line) => [line.id, line]));
  const sections = [...MATRIX.map(({ title, rows }) => ({ title, ids: rows.map(([id]) => id) }))];
  sections.splice(12, 0, { title: 'Profiler', ids: ['F1–F53'] });
  const parts = sections.map(({ title, ids }) => {
    const rows = ids.map((id) => {
      const line = byId.get(id) as CoverageLine;
      return [line.id, line.asks, line.verdict, line.by];
    });
    return `### ${title}\n\n${table(['Row', 'Quantity', 'Verdict', 'By, or why not'], rows)}`;
  });
  return `## Coverage

What all known GPU exporters and tools tell, row by row, and what becomes of it here. *Exported*: a family, or a query over exported
families. *Not possible*: no file that an ordinary user may read, without device node and debugfs, holds it. *Later*: needs a part of this
program that is not there yet.

${parts.join('\n')}`;
}

/** `284 rows: …, missing 0`. */
export function totals(lines: readonly CoverageLine[]): string {
  const count = (verdict: CoverageLine['verdict']): number => lines.filter((line) => line.verdict === verdict).length;
  const each = (['exported', 'not possible', 'later', 'missing'] as const).map(
    (verdict) => `${verdict} ${count(verdict)}`,
  );
  return `**Total: ${lines.length} rows (F1–F53 as one): ${each.join(', ')}.**`;
}
