/** 64-bit FNV-1a. */
const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const SEPARATOR = 0xff;

/**
 * The hash by which Alertmanager names a set of labels: names in the order of their bytes, each name and value followed by
 * 0xff. For senders that leave `fingerprint` out, so that their alerts have the identity that others give them.
 */
export function fingerprintOf(labels: Readonly<Record<string, string>>): string {
  const names = Object.keys(labels).map((name) => ({ name, bytes: Buffer.from(name) }));
  names.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  let hash = OFFSET;
  const add = (byte: number) => {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  };
  for (const { name, bytes } of names) {
    for (const part of [bytes, Buffer.from(labels[name] ?? '')]) {
      part.forEach(add);
      add(SEPARATOR);
    }
  }
  return hash.toString(16).padStart(16, '0');
}
