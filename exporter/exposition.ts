import type { Readings, Slot } from '../amdgpu/readings.ts';
import { helpText, metricName, type Quantity } from '../model/quantities/quantity.ts';

/** Series of one card, or of the node (`gpu` undefined). */
export interface Table {
  gpu: string | undefined;
  readings: Readings;
  /** Changes at its own begin only, so that its text is kept until then. */
  steady?: boolean;
}

const TYPE = { gauge: 'gauge', counter: 'counter', state: 'gauge', info: 'gauge' } as const;

const heads = new WeakMap<Quantity, string>();

/**
 * One family in the Prometheus text format 0.0.4, or nothing where no table has a value. The name and labels of a series
 * never change, so they are written once and kept with it: prom-client does the same work at every scrape.
 */
export function renderFamily(quantity: Quantity, tables: readonly Table[]): string {
  let body = '';
  for (const table of tables) body += table.steady === true ? keptBody(quantity, table) : bodyOf(quantity, table);
  return body === '' ? '' : `${head(quantity)}${body}\n`;
}

function bodyOf(quantity: Quantity, { gpu, readings }: Table): string {
  let body = '';
  readings.each(quantity, (slot) => {
    slot.cached ??= `${seriesName(quantity, gpu, slot)} `;
    body += `${slot.cached}${slot.value}\n`;
  });
  return body;
}

const kept = new WeakMap<Readings, { pass: number; bodies: Map<Quantity, string> }>();

function keptBody(quantity: Quantity, table: Table): string {
  const { readings } = table;
  let entry = kept.get(readings);
  if (entry === undefined || entry.pass !== readings.pass) {
    entry = { pass: readings.pass, bodies: new Map() };
    kept.set(readings, entry);
  }
  let body = entry.bodies.get(quantity);
  if (body === undefined) {
    body = bodyOf(quantity, table);
    entry.bodies.set(quantity, body);
  }
  return body;
}

function head(quantity: Quantity): string {
  let text = heads.get(quantity);
  if (text === undefined) {
    const name = metricName(quantity);
    text = `# HELP ${name} ${escapeHelp(helpText(quantity))}\n# TYPE ${name} ${TYPE[quantity.kind]}\n`;
    heads.set(quantity, text);
  }
  return text;
}

function seriesName(quantity: Quantity, gpu: string | undefined, slot: Slot): string {
  const pairs: [string, string | undefined][] = [['gpu', quantity.node === true ? undefined : gpu]];
  for (const [i, label] of quantity.labels.entries()) pairs.push([label, slot.labels[i]]);
  if (quantity.partitioned === true) pairs.push(['partition', slot.labels[quantity.labels.length]]);
  return `${metricName(quantity)}${labelText(pairs)}`;
}

/** A label without a value is left out: to Prometheus both are the same, and an empty id reads like an id. */
export function labelText(pairs: readonly (readonly [name: string, value: string | undefined])[]): string {
  const given = pairs.filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return '';
  return `{${given.map(([name, value]) => `${name}="${escapeLabel(value as string)}"`).join(',')}}`;
}

export function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

export function escapeHelp(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
