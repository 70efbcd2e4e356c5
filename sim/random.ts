/**
 * A small seeded generator. Every place draws from its own stream, named by a path, so that a value added in one file
 * does not shift the values of all others.
 */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer, both ends included. */
  int(low: number, high: number): number;
  /** Uniform in [low, high), rounded to `digits` decimals. */
  real(low: number, high: number, digits?: number): number;
  bits64(): bigint;
}

export function random(seed: number, ...path: (string | number)[]): Random {
  let state = hash(`${seed}/${path.join('/')}`);
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const word = (): bigint => BigInt(Math.floor(next() * 2 ** 32));
  return {
    next,
    int: (low, high) => low + Math.floor(next() * (high - low + 1)),
    real: (low, high, digits = 3) => Number((low + next() * (high - low)).toFixed(digits)),
    bits64: () => (word() << 32n) | word(),
  };
}

/** FNV-1a over the UTF-16 units: enough to tell paths apart. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
