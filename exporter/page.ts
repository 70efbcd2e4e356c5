import type { CardRecord } from '../amdgpu/record.ts';

export interface PageData {
  version: string;
  node: string;
  cards: readonly CardRecord[];
  metricsPath: string;
  simulated: boolean;
}

const SHOWN = ['busy.gfx', 'vram_used', 'power', 'power_cap', 'temperature.junction', 'temperature.mem', 'clock.gfx'];
const HEADS = ['Busy', 'VRAM used', 'Power', 'Cap', 'Junction', 'Memory', 'Clock'];

/** The page at `/`: what this is, which cards it sees and how they are. Plain HTML, no scripts, nothing loaded from elsewhere. */
export function renderPage({ version, node, cards, metricsPath, simulated }: PageData): string {
  const rows = cards.map((record) => {
    const { card } = record.found;
    const readings = record.live.toMap();
    const cells = SHOWN.map((key) => {
      const reading = readings.get(key);
      const shown = reading !== undefined && 'value' in reading && record.health === 'ok';
      return `<td>${shown ? human(key, Number(reading.value)) : '–'}</td>`;
    });
    const partitions = card.partitions.length > 1 ? ` · ${card.partitions.length} partitions` : '';
    const name = html(
      [card.model.name || card.model.deviceId || 'GPU', card.virtual ? '(virtual)' : ''].join(' ').trim(),
    );
    return `<tr class="${record.health}"><td>${card.gpu}</td><td><code>${html(card.pci)}</code></td><td>${name}${partitions}</td><td><b>${record.health}</b></td>${cells.join('')}</tr>`;
  });
  const heads = ['GPU', 'PCI address', 'Model', 'State', ...HEADS].map((head) => `<th>${head}</th>`).join('');
  const table =
    rows.length > 0
      ? `<table><thead><tr>${heads}</tr></thead><tbody>${rows.join('')}</tbody></table>`
      : '<p>No AMD GPU found. The exporter goes on looking; <code>nightshift doctor</code> says what it sees.</p>';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>nightshift exporter</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="refresh" content="5">
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d8dee4}
th{font-weight:600;color:#57606a}tr.silent td,tr.gone td,tr.resetting td{background:#ffebe9}tr.asleep td{color:#57606a}
code{font-size:.95em}a{color:#0a58ca}.sim{background:#fff3cd;padding:.3rem .6rem}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}th,td{border-color:#30363d}th{color:#8d96a0}
tr.silent td,tr.gone td,tr.resetting td{background:#4c1418}a{color:#6cb6ff}.sim{background:#4d3d00}}
</style></head><body>
<h1>nightshift exporter</h1>
<p>AMD GPU metrics for Prometheus, read from the kernel. Version ${html(version)} on <b>${html(node)}</b>.</p>
${simulated ? '<p class="sim">SIMULATED: these cards do not exist.</p>' : ''}
${table}
<p><a href="${html(metricsPath)}">Metrics</a> · <a href="/v1/state">State (JSON)</a> · <a href="/-/healthy">Healthy</a> · <a href="/-/ready">Ready</a></p>
</body></html>
`;
}

function human(key: string, value: number): string {
  if (key.startsWith('busy')) return `${(value * 100).toFixed(0)} %`;
  if (key.startsWith('vram')) return `${(value / 2 ** 30).toFixed(1)} GiB`;
  if (key.startsWith('power')) return `${value.toFixed(0)} W`;
  if (key.startsWith('temperature')) return `${value.toFixed(0)} °C`;
  return `${(value / 1e6).toFixed(0)} MHz`;
}

function html(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
