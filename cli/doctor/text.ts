import { printable } from '../../linux/process.ts';
import { table } from '../talk/words.ts';
import { renderActuator } from './actuator-text.ts';
import type { CardReport, DoctorReport, GroupReport } from './report.ts';

const MEANING: Readonly<Record<string, string>> = {
  absent: 'holds no value',
  unsupported: 'this part or driver does not have it',
  busy: 'in reset, in suspend or not yet initialised',
  denied: 'this user may not read it',
  asleep: 'the card is suspended',
  timeout: 'no answer: the card may hang',
  gone: 'no longer there',
  failed: 'the driver refused',
  exhausted: 'out of open files: raise the limit',
};
/** As many families as fit a line that people read. */
const MOST_NAMED = 3;

/** The report for people. */
export function renderDoctor(report: DoctorReport): string {
  const text = `${[...machine(report), '', ...(report.cards.length > 0 ? cards(report) : noCards(report))].join('\n')}\n`;
  return report.actuator === undefined ? text : `${text}${renderActuator(report.actuator)}`;
}

function machine(report: DoctorReport): string[] {
  const { paths, uid, driver, kfd, lanes, hsmpSockets } = report;
  const version = driver.version === '' ? 'of the kernel itself' : driver.version;
  const rows: [string, string][] = [
    ['Looked at', `${paths.sysfs} and ${paths.procfs}, as ${uid === 0 ? 'root' : `user ${uid ?? 'unknown'}`}`],
    ['Kernel', driver.kernel === '' ? 'not told' : printable(driver.kernel)],
    [
      'Driver',
      driver.loaded ? `amdgpu loaded, ${printable(version)}` : 'amdgpu not loaded (or its module folder is not shown)',
    ],
    [
      'Compute',
      kfd.present ? `KFD present, ${kfd.gpuNodes} GPU nodes` : 'KFD not present: no topology, no compute processes',
    ],
    ['Processes', processText(report)],
    ['MI300A host', hsmpSockets === 0 ? 'no tables of the management port' : `${hsmpSockets} sockets`],
    ['Lanes', `${lanes.lanes}${lanes.stuck.length > 0 ? `, stuck with ${lanes.stuck.join(', ')}` : ', none stuck'}`],
  ];
  return rows.map(([head, text]) => `${head.padEnd(12)} ${text}`);
}

function processText({ processes, kfd }: DoctorReport): string {
  const compute = typeof kfd.processes === 'number' ? `${kfd.processes} by KFD` : `by KFD none (${kfd.processes})`;
  if (processes.state !== 'ok') return `${compute}; DRM clients cannot be seen (${processes.state})`;
  const rest = `${processes.clients} DRM descriptors`;
  if (processes.denied === 0) return `${compute}; ${rest}`;
  return `${compute}; ${rest}; ${processes.denied} processes of other users are closed to us: their engine times and GTT are missing (CAP_SYS_PTRACE would open them)`;
}

function noCards({ places, unbound, silent }: DoctorReport): string[] {
  const lines = ['No AMD GPU found. What was looked at, and what would be there:', ''];
  lines.push(...table(places.map(({ path, state, holds }) => [path, state, holds])));
  if (silent.length > 0) lines.push('', `Devices that did not answer: ${silent.join(', ')}`);
  if (unbound.length > 0) {
    lines.push('', 'AMD GPUs on the PCI bus that the amdgpu driver does not have:');
    lines.push(...table(unbound.map(({ pci, driver }) => [pci, `driver ${printable(driver)}`])));
  } else lines.push('', 'There is no AMD GPU on the PCI bus. For a look without a card: nightshift start');
  return lines;
}

function cards(report: DoctorReport): string[] {
  const rows = report.cards.map((card) => [
    String(card.gpu),
    card.pci,
    printable(card.model),
    card.health,
    card.table ?? 'none',
    String(card.partitions),
    card.kfd ? 'yes' : 'no',
    String(card.values),
    `${card.readMs.toFixed(1)} ms`,
  ]);
  const lines = table([
    ['GPU', 'PCI address', 'Model', 'State', 'gpu_metrics', 'Partitions', 'KFD', 'Values', 'Read'],
    ...rows,
  ]);
  // Cards that differ in nothing but their number are described once.
  const alike = new Map<string, CardReport[]>();
  for (const card of report.cards) {
    const text = cardText(card).join('\n');
    alike.set(text, [...(alike.get(text) ?? []), card]);
  }
  for (const [text, same] of alike) {
    lines.push('', `GPU ${same.map(({ gpu }) => gpu).join(', ')}`, text);
  }
  if (report.unbound.length > 0) {
    lines.push('', 'Other AMD GPUs on the PCI bus, without the amdgpu driver:');
    lines.push(...table(report.unbound.map(({ pci, driver }) => [pci, `driver ${printable(driver)}`])));
  }
  return lines;
}

const STATES: Partial<Record<CardReport['health'], string>> = {
  asleep: 'It sleeps and was left asleep: nothing but its identity was read.',
  silent: 'It did not answer in time, or answered with empty files: it may hang.',
  resetting: 'It is in reset: every file refuses. Look again in a minute.',
  gone: 'It is gone.',
};

function cardText(card: CardReport): string[] {
  const lines: string[] = [];
  const state = STATES[card.health];
  if (state !== undefined) lines.push(`  ${state}`);
  if (card.table !== undefined && !/^\d/.test(card.table)) {
    lines.push(
      `  gpu_metrics: ${card.table}. The single files are read instead; accumulators and link counters are missing.`,
    );
  }
  if (card.table === undefined && card.health === 'ok')
    lines.push('  No gpu_metrics: accumulators, throttle residency and XGMI traffic are missing.');
  const rows = card.groups.map((group) => [`  ${group.group}`, `${group.readable} readable`, remarks(group)]);
  lines.push(...table(rows));
  for (const { faults } of card.groups) {
    for (const { file, reason, loses } of faults) {
      lines.push(
        `    ${file}: ${reason}, ${MEANING[reason] ?? ''}${loses.length === 0 ? '' : `; lost: ${named(loses)}`}`,
      );
    }
  }
  return lines;
}

function remarks({ empty, faults, left }: GroupReport): string {
  const parts: string[] = [];
  if (faults.length > 0) parts.push(`${faults.length} not`);
  if (empty.length > 0) parts.push(`empty: ${empty.join(', ')}`);
  if (left.length > 0) parts.push(`${left.length} left alone`);
  return parts.join('; ');
}

function named(families: readonly string[]): string {
  const more = families.length - MOST_NAMED;
  return `${families.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
