import { Readings } from '../amdgpu/readings.ts';
import type { CardRecord } from '../amdgpu/record.ts';
import { HEALTHS } from '../model/card.ts';
import { info } from '../model/quantities/info.ts';
import { escapeHelp, labelText, type Table } from './exposition.ts';

/** State of each card, also of those that are silent or gone. */
export function statusTables(cards: readonly CardRecord[], known: Map<string, Readings>, at: number): Table[] {
  return cards.map((record) => {
    let readings = known.get(record.pci);
    if (readings === undefined) {
      readings = new Readings();
      known.set(record.pci, readings);
    }
    readings.begin(at);
    const up = record.health === 'ok' || record.health === 'asleep';
    readings.put(info.up, up ? 1 : 0, 'all files');
    for (const health of HEALTHS) readings.put(info.health, health === record.health ? 1 : 0, 'all files', health);
    return { gpu: record.gpu, readings };
  });
}

/** Failed reads and the age of each card's data. Absolute values, as the records hold them. */
export function renderErrors(cards: readonly CardRecord[]): string {
  let text = family(
    'amdgpu_read_errors_total',
    'Reads of a source that brought no value, by reason; counted since the exporter started.',
    'counter',
  );
  for (const record of cards) {
    for (const slot of record.errors.values()) {
      slot.cached ??= `amdgpu_read_errors_total${labelText([
        ['gpu', record.gpu],
        ['source', slot.source],
        ['reason', slot.reason],
      ])} `;
      text += `${slot.cached}${slot.count}\n`;
    }
  }
  if (cards.length === 0) text = '';
  const seen = cards.filter((record) => record.lastSuccess !== undefined);
  if (seen.length === 0) return text === '' ? '' : `${text}\n`;
  const name = 'amdgpu_exporter_last_success_timestamp_seconds';
  text += `\n${family(name, 'When a card was last read.', 'gauge')}`;
  for (const record of seen) {
    text += `${name}${labelText([['gpu', record.gpu]])} ${(record.lastSuccess as number) / 1000}\n`;
  }
  const duration = 'amdgpu_exporter_card_read_duration_seconds';
  text += `\n${family(duration, 'Time that the last pass over the files of a card took.', 'gauge')}`;
  for (const record of seen) text += `${duration}${labelText([['gpu', record.gpu]])} ${record.readMs / 1000}\n`;
  return `${text}\n`;
}

function family(name: string, help: string, type: string): string {
  return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
}
