/** Keys that lead a line, in this order; the rest follows as it came. */
const LEADING = ['time', 'level', 'component', 'msg'];

/** One record as `key=value` pairs on one line. Nested objects become dotted keys, lists become JSON. */
export function renderLogfmt(record: Readonly<Record<string, unknown>>): string {
  const pairs: string[] = [];
  for (const key of LEADING) if (record[key] !== undefined) append(pairs, key, record[key]);
  for (const key of Object.keys(record)) if (!LEADING.includes(key)) append(pairs, key, record[key]);
  return pairs.join(' ');
}

function append(pairs: string[], key: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const [inner, deeper] of Object.entries(value)) append(pairs, `${key}.${inner}`, deeper);
    return;
  }
  pairs.push(`${bareKey(key)}=${bareValue(value)}`);
}

function bareKey(key: string): string {
  return key.replace(/[\s="\x00-\x1f\x7f]/g, '_') || '_';
}

function bareValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' || /[\s="\\\x00-\x1f\x7f]/.test(text) ? JSON.stringify(text) : text;
}
