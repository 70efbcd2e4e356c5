/** Prometheus says how long it will wait; a fifth of it, half a second at most, is for the way there and back. */
export function deadlineOf(header: string | undefined, fallbackMs: number): number {
  const seconds = header === undefined ? Number.NaN : Number(header);
  if (!Number.isFinite(seconds) || seconds <= 0) return fallbackMs;
  const ms = seconds * 1000;
  return Math.max(50, ms - Math.min(500, ms / 5));
}

/** Whether the client takes gzip (RFC 9110: `gzip;q=0` refuses it, and `*` stands for what is not named). */
export function acceptsGzip(header: string | undefined): boolean {
  let others = false;
  for (const part of (header ?? '').split(',')) {
    const [coding, ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const taken = !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    if (coding === 'gzip' || coding === 'x-gzip') return taken;
    if (coding === '*') others = taken;
  }
  return others;
}
