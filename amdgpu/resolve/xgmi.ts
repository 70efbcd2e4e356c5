import type { Quantity } from '../../model/quantities/quantity.ts';
import { xgmi } from '../../model/quantities/xgmi.ts';
import { ioLink } from '../formats/kfd.ts';
import { parsePolicy } from '../formats/perf.ts';
import { parseWord } from '../formats/scalar.ts';
import { parseNumHops, parseNumLinks, parsePortNum, parseXgmiError, parseXgmiId } from '../formats/xgmi.ts';
import type { KfdNode, Properties } from '../kfd.ts';
import { type Context, counter, first, scaled, states } from './context.ts';

const GM = 'gpu_metrics';
/** The unit of the fields is KB, and no source says whether of 1000 or of 1024 bytes. */
const KILOBYTE = 1024n;
/** Above what any link moves (KB a second): such a step is a torn value. */
const MAX_KILOBYTES = 1e9;
const LINK_STATES = ['down', 'up', 'disabled'];

export function resolveXgmi(context: Context): void {
  const { raw, table, out } = context;
  for (const [field, quantity] of [
    ['xgmi_read_data_acc', xgmi.read],
    ['xgmi_write_data_acc', xgmi.write],
  ] as const) {
    table?.bigs(field)?.forEach((value, link) => {
      const key = `${field}|${link}`;
      const total = counter(context, quantity, key, value, { width: 64, maxRate: MAX_KILOBYTES });
      out.put(quantity, total === undefined ? undefined : BigInt(total) * KILOBYTE, GM, String(link));
    });
  }
  out.put(xgmi.linkWidth, first(table, 'xgmi_link_width'), GM);
  out.put(xgmi.linkSpeed, scaled(first(table, 'xgmi_link_speed'), 1e9), GM);
  table?.nums('xgmi_link_status')?.forEach((value, link) => {
    if (value !== undefined) states(out, xgmi.linkState, LINK_STATES, LINK_STATES[value], GM, String(link));
  });
  raw.parse('xgmi_num_hops', parseNumHops)?.forEach((hops, position) => {
    out.put(xgmi.hops, hops, 'xgmi_num_hops', String(position));
  });
  raw.parse('xgmi_num_links', parseNumLinks)?.forEach((links, position) => {
    out.put(xgmi.links, links, 'xgmi_num_links', String(position));
  });
  for (const port of raw.parse('xgmi_port_num', parsePortNum) ?? []) {
    const labels = [port.node, port.port, port.peerNode, port.peerPort].map(String);
    out.put(xgmi.ports, 1, 'xgmi_port_num', ...labels);
  }
  const policies = raw.parse('pm_policy/xgmi_plpd', parsePolicy);
  const policy = policies?.find((choice) => choice.current)?.name;
  states(out, xgmi.powerPolicy, policies?.map((choice) => choice.name) ?? [], policy, 'pm_policy/xgmi_plpd');
  hive(context);
  errors(context);
}

function hive({ raw, kfd, out }: Context): void {
  const fromFile = raw.parse('xgmi_hive_info/xgmi_hive_id', parseXgmiId);
  const fromTopology = kfd[0]?.props.get('hive_id');
  const id = fromFile ?? (fromTopology === 0n ? undefined : fromTopology);
  if (id === undefined) return;
  const device = raw.parse('xgmi_device_id', parseXgmiId);
  const physical = raw.parse('xgmi_physical_id', parseWord);
  out.put(xgmi.hive, 1, 'xgmi_hive_info', String(id), device === undefined ? '' : String(device), physical ?? '');
}

/** The read cleared the flags, so what it found is added up here: once for each read, never for the same bytes again. */
function errors({ raw, memory, out }: Context): void {
  const found = raw.parse('xgmi_error', parseXgmiError);
  if (found === undefined) return;
  const fresh = raw.takeFresh('xgmi_error');
  for (const [kind, level] of [
    ['single', 1],
    ['multiple', 2],
  ] as const) {
    const total = memory.add(`xgmi_error|${kind}`, fresh && found === level ? 1 : 0);
    out.put(xgmi.errors, total, 'xgmi_error', kind);
  }
}

/** Direct links of the topology; `place` tells which card and partition a node number is. */
export function resolveLinks(
  context: Context,
  place: (node: number) => { gpu: string; partition: string } | undefined,
): void {
  for (const node of context.kfd) {
    links(context, node, node.ioLinks, place, xgmi.ioLink, xgmi.ioLinkBandwidth);
    links(context, node, node.p2pLinks, place, xgmi.p2pLink, undefined);
  }
}

function links(
  { out }: Context,
  node: KfdNode,
  properties: readonly Properties[],
  place: (node: number) => { gpu: string; partition: string } | undefined,
  weight: Quantity,
  bandwidth: Quantity | undefined,
): void {
  for (const one of properties) {
    const link = ioLink(one);
    if (link === undefined) continue;
    const peer = place(link.to) ?? { gpu: 'cpu', partition: '' };
    const labels = [link.kind ?? 'other', peer.gpu, peer.partition, String(node.partition)];
    out.put(weight, link.weight, 'kfd io_links', ...labels);
    if (bandwidth !== undefined) out.put(bandwidth, link.maxBandwidth, 'kfd io_links', ...labels);
  }
}
