import { beforeNul, decimal, decimalBig } from './decimal.ts';

/**
 * Who a process is, beyond its number: PIDs are reused, (PID, start time, boot) is not.
 * Source: `fs/proc/array.c`, `fs/proc/stat.c`, `drivers/char/random.c`.
 */

/** Field 22 of `/proc/PID/stat`, counted from the state (field 3). */
const START_TIME = 22 - 3;

/**
 * `/proc/PID/stat`: start time in clock ticks (`sysconf(_SC_CLK_TCK)`, 100 a second) since boot. The command name in brackets
 * is chosen by the process and may hold spaces and brackets, so fields are counted from the last closing one.
 */
export function parseStartTime(text: string): bigint | undefined {
  const line = beforeNul(text);
  const open = line.indexOf(' (');
  const close = line.lastIndexOf(') ');
  if (open < 0 || close < open || decimalBig(line.slice(0, open)) === undefined) return undefined;
  return decimalBig(
    line
      .slice(close + 2)
      .trim()
      .split(' ')[START_TIME] ?? '',
  );
}

/** `/proc/stat`: when the machine was booted, in seconds since the epoch. */
export function parseBtime(text: string): number | undefined {
  const all = beforeNul(text);
  const at = all.startsWith('btime ') ? 0 : all.indexOf('\nbtime ') + 1;
  if (at === 0 && !all.startsWith('btime ')) return undefined;
  const end = all.indexOf('\n', at);
  return decimal(all.slice(at + 6, end < 0 ? undefined : end).trim());
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** `/proc/sys/kernel/random/boot_id`: one UUID a boot. */
export function parseBootId(text: string): string | undefined {
  const id = beforeNul(text).trim().toLowerCase();
  return UUID.test(id) ? id : undefined;
}
