import { createHmac, randomBytes } from 'node:crypto';

/** What is masked, by the file that holds it. */
export type Kind = 'serial' | 'unique_id' | 'fru' | 'hive' | 'xgmi_device' | 'boot' | 'host' | 'user' | 'comm';

/** Shorter ones could be part of anything: they are replaced only where they were found. */
const LONG_ENOUGH = 8;
const DIGITS = '0123456789';
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/**
 * Fakes in place of what identifies a machine. The same real value gets the same fake of the same shape and length, whether it is
 * written in hexadecimal or decimal, so that files still fit each other; nobody without the key of this run can go back.
 */
export class Masker {
  readonly #key: Buffer;
  readonly #numbers = new Map<bigint, bigint>();
  /** Real text to fake text, of at least LONG_ENOUGH characters. */
  readonly #texts = new Map<string, string>();
  readonly #words = new Map<string, string>();
  readonly #counts = new Map<Kind, Set<string>>();
  #pattern: RegExp | undefined;

  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key;
  }

  /** How many different values of each kind were met. */
  get counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].map(([kind, values]) => [kind, values.size]));
  }

  /** A 64-bit id in decimal or hexadecimal digits; zero and what is no number stay as they are. */
  id(kind: Kind, text: string, base: 10 | 16): string {
    const bare = text.replace(/^0x/i, '');
    if (!(base === 16 ? /^[0-9a-f]+$/i : /^\d+$/).test(bare)) return text === '' ? text : this.text(kind, text);
    const real = BigInt(base === 16 ? `0x${bare}` : bare);
    if (real === 0n || real === 0xffff_ffff_ffff_ffffn) return text;
    this.#count(kind, real.toString());
    const fake = this.#number(real);
    this.#learn(real.toString(), fake.toString());
    const [realHex, fakeHex] = [real.toString(16), fake.toString(16)];
    this.#learn(realHex, fakeHex);
    this.#learn(realHex.toUpperCase(), fakeHex.toUpperCase());
    if (base === 10) return fake.toString();
    const digits = fakeHex.padStart(bare.length, '0');
    return text.slice(0, text.length - bare.length) + (/[A-F]/.test(bare) ? digits.toUpperCase() : digits);
  }

  /** Text of which each digit becomes a digit, each letter a letter, and all else stays. */
  text(kind: Kind, text: string): string {
    if (/^[0\W]*$/.test(text)) return text;
    this.#count(kind, text);
    const fake = this.#shape(text);
    this.#learn(text, fake);
    return fake;
  }

  /** A name that is replaced as a whole word wherever it stands: of the host, of a user. */
  word(kind: Kind, name: string): void {
    if (name.length < 3 || this.#words.has(name)) return;
    this.#count(kind, name);
    this.#words.set(name, this.#shape(name));
    this.#pattern = undefined;
  }

  /** Replaces all that has been learnt, in a file's bytes or in a link's target. */
  apply(bytes: Uint8Array): Uint8Array {
    const before = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    const after = this.applyText(before);
    return after === before ? bytes : Buffer.from(after, 'latin1');
  }

  applyText(text: string): string {
    if (this.#texts.size + this.#words.size === 0) return text;
    this.#pattern ??= this.#compile();
    return text.replace(this.#pattern, (found) => this.#texts.get(found) ?? this.#words.get(found) ?? found);
  }

  /** Real values that still stand in `bytes`. */
  remains(bytes: Uint8Array): boolean {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    return [...this.#texts.keys()].some((real) => text.includes(real));
  }

  #count(kind: Kind, value: string): void {
    const known = this.#counts.get(kind) ?? new Set();
    this.#counts.set(kind, known.add(value));
  }

  #learn(real: string, fake: string): void {
    if (real.length < LONG_ENOUGH || real === fake || this.#texts.has(real)) return;
    this.#texts.set(real, fake);
    this.#pattern = undefined;
  }

  /** Longest first: a short value may be the beginning of a long one. */
  #compile(): RegExp {
    const texts = [...this.#texts.keys()].sort((a, b) => b.length - a.length).map(escaped);
    const words = [...this.#words.keys()].sort((a, b) => b.length - a.length);
    const whole = words.map((word) => `(?<![A-Za-z0-9])${escaped(word)}(?![A-Za-z0-9])`);
    return new RegExp([...texts, ...whole].join('|'), 'g');
  }

  /** Same number of hexadecimal and of decimal digits as the real one: a value above 2^53 stays above. */
  #number(real: bigint): bigint {
    const known = this.#numbers.get(real);
    if (known !== undefined) return known;
    const [hex, decimal] = [real.toString(16).length, real.toString().length];
    const span = 1n << BigInt(4 * hex);
    for (let round = 0; ; round++) {
      const fake = BigInt(`0x${this.#digest(`${real}`, round).toString('hex')}`) % span;
      const fits = fake.toString(16).length === hex && fake.toString().length === decimal && fake !== real;
      if (!fits || fake > 1n << 53n !== real > 1n << 53n) {
        // A number of one or two digits may have no other of its shape.
        if (round < 10_000) continue;
        this.#numbers.set(real, real);
        return real;
      }
      this.#numbers.set(real, fake);
      return fake;
    }
  }

  #shape(text: string): string {
    for (let round = 0; ; round++) {
      const digest = this.#digest(text, round);
      let i = 0;
      const next = (from: string): string => from[(digest[i++ % digest.length] as number) % from.length] as string;
      const fake = text.replace(/[0-9]|[a-z]|[A-Z]/g, (char) =>
        /[0-9]/.test(char) ? next(DIGITS) : /[a-z]/.test(char) ? next(LETTERS) : next(LETTERS).toUpperCase(),
      );
      if (fake !== text || round > 100) return fake;
    }
  }

  #digest(text: string, round: number): Buffer {
    return createHmac('sha256', this.#key).update(`${round} ${text}`).digest();
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

const WHOLE_FILES: readonly (readonly [file: RegExp, kind: Kind, base: 10 | 16 | 'text'])[] = [
  [/(^|\/)serial_number$/, 'serial', 'text'],
  [/(^|\/)unique_id$/, 'unique_id', 16],
  [/(^|\/)fru_id$/, 'fru', 'text'],
  [/(^|\/)xgmi_hive_id$/, 'hive', 10],
  [/(^|\/)xgmi_device_id$/, 'xgmi_device', 10],
  [/(^|\/)boot_id$/, 'boot', 'text'],
];
const KFD_IDS: readonly (readonly [key: string, kind: Kind])[] = [
  ['unique_id', 'unique_id'],
  ['hive_id', 'hive'],
];

/** Learns, and masks, what this file is known to hold; text that is no id file comes back as it was. */
export function maskKnown(masker: Masker, path: string, bytes: Uint8Array, maskComm: boolean): Uint8Array {
  const text = Buffer.from(bytes).toString('latin1');
  const masked = maskText(masker, path, text, maskComm);
  return masked === text ? bytes : Buffer.from(masked, 'latin1');
}

function maskText(masker: Masker, path: string, text: string, maskComm: boolean): string {
  for (const [file, kind, base] of WHOLE_FILES) {
    if (!file.test(path)) continue;
    return text.replace(/[^\s\0]+(?: [^\s\0]+)*/g, (value) =>
      base === 'text' ? masker.text(kind, value) : masker.id(kind, value, base),
    );
  }
  if (/topology\/nodes\/\d+\/properties$/.test(path)) {
    return KFD_IDS.reduce(
      (all, [key, kind]) =>
        all.replace(
          new RegExp(`^(${key} )(\\d+)$`, 'm'),
          (_, head: string, id: string) => head + masker.id(kind, id, 10),
        ),
      text,
    );
  }
  if (!maskComm) return text;
  // The kernel's own threads are nobody's secret, and tell in which PID namespace the numbers are.
  if (/^proc\/[12]\//.test(path)) return text;
  if (/^proc\/\d+\/comm$/.test(path)) return text.replace(/[^\n]+/, (comm) => masker.text('comm', comm));
  if (/^proc\/\d+\/stat$/.test(path))
    return text.replace(/\((.*)\)/s, (_, comm: string) => `(${masker.text('comm', comm)})`);
  return text;
}
