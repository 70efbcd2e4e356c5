import { firstLine } from './text.ts';

/**
 * Files that hold one value on one line. Sources: `drivers/gpu/drm/amd/pm/amdgpu_pm.c` (hwmon, busy percent),
 * `drivers/gpu/drm/amd/amdgpu/amdgpu_vram_mgr.c` (memory sizes), `amdgpu_ucode.c` (firmware versions),
 * `drivers/pci/pci-sysfs.c` (PCI ids). The unit is the file's own; nothing is scaled here.
 */

const U64_MAX = 0xffff_ffff_ffff_ffffn;
const U64_DECIMAL_DIGITS = 20;
const U64_HEX_DIGITS = 16;

/** A token of decimal digits and nothing else, as a safe integer. */
export function decimal(token: string): number | undefined {
  if (token.length === 0) return undefined;
  let value = 0;
  for (let i = 0; i < token.length; i++) {
    const digit = token.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
    if (value > Number.MAX_SAFE_INTEGER) return undefined;
  }
  return value;
}

/** A token of decimal digits that fits 64 unsigned bits. */
export function decimalBig(token: string): bigint | undefined {
  if (token.length === 0 || token.length > U64_DECIMAL_DIGITS) return undefined;
  for (let i = 0; i < token.length; i++) {
    const digit = token.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return undefined;
  }
  const value = BigInt(token);
  return value <= U64_MAX ? value : undefined;
}

/** A token of up to 16 hexadecimal digits without prefix, as a 64-bit value. */
export function hexBig(token: string): bigint | undefined {
  if (token.length === 0 || token.length > U64_HEX_DIGITS) return undefined;
  for (let i = 0; i < token.length; i++) {
    const code = token.charCodeAt(i) | 32;
    const isDigit = code >= 48 && code <= 57 && token.charCodeAt(i) === code;
    if (!isDigit && (code < 97 || code > 102)) return undefined;
  }
  return BigInt(`0x${token}`);
}

/** Does the token begin with `0x`? The kernel prints the prefix in lower case; writers of captures do not always. */
export function hasHexPrefix(token: string): boolean {
  return token.charCodeAt(0) === 48 && (token.charCodeAt(1) | 32) === 120;
}

/** One unsigned decimal number. Absent when the line is empty, holds anything else, or exceeds 2^53 - 1. */
export function parseUint(text: string): number | undefined {
  return decimal(firstLine(text));
}

/** One unsigned 64-bit number, decimal or with `0x`: byte counts, 64-bit ids, counters that may pass 2^53. */
export function parseBig(text: string): bigint | undefined {
  const line = firstLine(text);
  return hasHexPrefix(line) ? hexBig(line.slice(2)) : decimalBig(line);
}

/** One signed decimal number: temperatures below zero, `numa_node` (-1). */
export function parseInt10(text: string): number | undefined {
  const line = firstLine(text);
  if (line.charCodeAt(0) !== 45) return decimal(line);
  const size = decimal(line.slice(1));
  if (size === undefined) return undefined;
  return size === 0 ? 0 : -size;
}

/** The line as it stands (a name, a state, `unique_id`); absent when empty, so that no empty label is printed. */
export function parseWord(text: string): string | undefined {
  const line = firstLine(text);
  return line === '' ? undefined : line;
}

/**
 * A hexadecimal id in the kernel's own spelling, lower case, width kept: `0x1002` (vendor, device, subsystem_*), `0xc1`
 * (revision), `0x030000` (class), `0x003a5600` (fw_version/*).
 */
export function parseHexId(text: string): string | undefined {
  const line = firstLine(text);
  if (!hasHexPrefix(line) || hexBig(line.slice(2)) === undefined) return undefined;
  return line.toLowerCase();
}
