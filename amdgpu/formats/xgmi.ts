import { decimalBig, parseUint } from './scalar.ts';
import { firstLine, lines, words } from './text.ts';

/** Links between GPUs of one hive. Source: `drivers/gpu/drm/amd/amdgpu/amdgpu_xgmi.c`. */

const HEX_BYTE = /^[0-9a-fA-F]{2}$/;

/** `01 02 00 `: a two-digit hexadecimal byte a node of the hive. Absent as soon as one part is anything else. */
function hexBytes(text: string): number[] | undefined {
  const bytes: number[] = [];
  for (const token of words(firstLine(text))) {
    if (!HEX_BYTE.test(token)) return undefined;
    bytes.push(Number.parseInt(token, 16));
  }
  return bytes.length > 0 ? bytes : undefined;
}

/**
 * `xgmi_num_hops`: hops to each node of the hive in hive order, 0 for the GPU itself. Only bits 2:0 of a byte are the
 * number; bits 7:6 carry the link generation, so an xGMI3 neighbour prints as `41`.
 */
export function parseNumHops(text: string): number[] | undefined {
  return hexBytes(text)?.map((byte) => byte & 7);
}

/** `xgmi_num_links`: links to each node of the hive, in hive order. */
export function parseNumLinks(text: string): number[] | undefined {
  return hexBytes(text);
}

/** One link. Nodes count from 1. */
export interface PortLink {
  node: number;
  port: number;
  peerNode: number;
  peerPort: number;
}

const PORT = /^([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\s*->\s*([0-9a-fA-F]{2}):([0-9a-fA-F]{2})$/;

/** `xgmi_port_num`: `01:02 ->  03:00`, our node and port, then the peer's; hexadecimal. */
export function parsePortNum(text: string): PortLink[] | undefined {
  const links: PortLink[] = [];
  for (const line of lines(text)) {
    const found = PORT.exec(line);
    if (!found) continue;
    const [node, port, peerNode, peerPort] = found.slice(1).map((hex) => Number.parseInt(hex, 16));
    links.push({ node: node!, port: port!, peerNode: peerNode!, peerPort: peerPort! });
  }
  return links.length > 0 ? links : undefined;
}

/** `xgmi_device_id`, `xgmi_hive_info/xgmi_hive_id`: 64 bits in decimal; a JavaScript number would change it. */
export function parseXgmiId(text: string): bigint | undefined {
  return decimalBig(firstLine(text));
}

/** `xgmi_error`: 0 none, 1 one, 2 several since the last read. Reading it clears the flags, so all readers share one answer. */
export function parseXgmiError(text: string): 0 | 1 | 2 | undefined {
  const value = parseUint(text);
  return value === 0 || value === 1 || value === 2 ? value : undefined;
}
