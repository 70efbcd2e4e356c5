import type { Quantity } from '../../model/quantities/quantity.ts';
import { xgmi } from '../../model/quantities/xgmi.ts';
import { ioLink } from '../formats/kfd.ts';
import { parsePolicy } from '../formats/perf.ts';
import { parseWord } from '../formats/scalar.ts';
import { parseNumHops, parseNumLinks, parsePortNum, parseXgmiError, parseXgmiId } from '../formats/xgmi.ts';
import type { Properties } from '../kfd.ts';
import { type Context, first, indexLabel, rawCounters, scaled, states } from './context.ts';

const GM = 'gpu_metrics';
/** The unit of the fields is KB, and no source says whether of 1000 or of 1024 bytes. */
const KILOBYTE = 1024;
/** Above what any link moves (KB a second): such a step is a torn value. */
const LINK_LIMITS = { width: 64, maxRate: 1e9 } as const;
const LINK_STATES = ['down', 'up', 'disabled'];

export function resolveXgmi(context: Context): void {
  const { table, out } = context;
  for (const [field, quantity] of [
    ['xgmi_read_data_acc', xgmi.read],
    ['xgmi_write_data_acc', xgmi.write],
  ] as const) {
    rawCounters(table?.nums(field), () => table?.bigs(field))?.forEach((value, link) => {
      out.count(quantity, value, GM, LINK_LIMITS, bytes, indexLabel(link));
    });
  }
  out.put(xgmi.linkWidth, first(table, 'xgmi_link_width'), GM);
  out.put(xgmi.linkSpeed, scaled(first(table, 'xgmi_link_speed'), 1e9), GM);
  table?.nums('xgmi_link_status')?.forEach((value, link) => {
    if (value !== undefined) states(out, xgmi.linkState, LINK_STATES, LINK_STATES[value], GM, String(link));
  });
}

/** Who is connected to whom, and errors that a read of its own timer found. */
export function resolveXgmiSlow(context: Context): void {
  const { raw, out } = context;
  raw.parse('xgmi_num_hops', parseNumHops)?.forEach((hops, position) => {
    out.put(xgmi.hops, hops, 'xgmi_num_hops', String(position));
  });
  raw.parse('xgmi_num_links', parseNumLinks)?.forEach((links, position) => {
    out.put(xgmi.links, links, 'xgmi_num_links', String(position));
  });
  for (const port of raw.parse('xgmi_port_num', parsePortNum) ?? []) {
    const labels = [port.node, port.port, port.peerNode, port.peerPort].map(String);
    out.putAll(xgmi.ports, 1, 'xgmi_port_num', labels);
  }
  const policies = raw.parse('pm_policy/xgmi_plpd', parsePolicy);
  const policy = policies?.find((choice) => choice.current)?.name;
  states(out, xgmi.powerPolicy, policies?.map((choice) => choice.name) ?? [], policy, 'pm_policy/xgmi_plpd');
  hive(context);
  errors(context);
}

/** Exact: beyond 2^53 bytes as a bigint. */
function bytes(kilobytes: number | bigint): number | bigint {
  const product = Number(kilobytes) * KILOBYTE;
  return Number.isSafeInteger(product) ? product : BigInt(kilobytes) * BigInt(KILOBYTE);
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

/**
 * Direct links of the topology, card to card and card to CPU. Partitions of a card share its links: those between two of
 * its own, and the repetitions of one link for each pair of partitions, are left out (64 partitions list 4,000).
 * `peer` tells which card a node number is the first partition of.
 */
export function resolveLinks(context: Context, peer: (node: number) => string | undefined): void {
  const node = context.kfd[0];
  if (node === undefined) return;
  links(context, node.ioLinks, peer, xgmi.ioLink, xgmi.ioLinkBandwidth);
  links(context, node.p2pLinks, peer, xgmi.p2pLink, undefined);
}

function links(
  { out, card }: Context,
  properties: readonly Properties[],
  peer: (node: number) => string | undefined,
  weight: Quantity,
  bandwidth: Quantity | undefined,
): void {
  for (const one of properties) {
    const link = ioLink(one);
    const to = link === undefined ? undefined : peer(link.to);
    if (link === undefined || to === undefined || to === String(card.gpu)) continue;
    const labels = [link.kind ?? 'other', to];
    out.putAll(weight, link.weight, 'kfd io_links', labels);
    if (bandwidth !== undefined) out.putAll(bandwidth, link.maxBandwidth, 'kfd io_links', labels);
  }
}
