import { attributeName, attributeScale, numberingOf, RECORDS_START, TAG_BYTES } from './attributes.ts';
import { type Field, type Layout, SCALARS, scalarWidth } from './types.ts';

/** A layout found by walking records, with what must be the same for it to hold again. */
interface Shape {
  layout: Layout;
  attrCount: number;
  tagOffsets: readonly number[];
  tags: readonly number[];
}

interface Seen {
  id: number;
  code: number;
  count: number;
  unitCode: number;
  offset: number;
}

/** A driver emits the same records at every read, so the walk is done once; distinct ones on a node are a handful. */
const MAX_SHAPES = 16;
const shapes: Shape[] = [];

/**
 * Layout of a self-describing table. Unknown ids are skipped by their length. A record that runs past `size`, or has a type
 * without known length, ends the walk; what came before is kept. Of two records with one id the first counts.
 */
export function recordLayout(view: DataView, size: number, version: string): Layout {
  const attrCount = size >= RECORDS_START ? view.getInt32(4, true) : 0;
  const known = shapes.find((s) => holds(s, view, size, attrCount, version));
  if (known) return known.layout;
  const shape = walk(view, size, attrCount, version);
  if (shapes.length >= MAX_SHAPES) shapes.shift();
  shapes.push(shape);
  return shape.layout;
}

function holds(shape: Shape, view: DataView, size: number, attrCount: number, version: string): boolean {
  if (shape.layout.size !== size || shape.attrCount !== attrCount || shape.layout.version !== version) return false;
  const { tags, tagOffsets } = shape;
  for (let i = 0; i < tags.length; i++) {
    if (view.getUint32(tagOffsets[i] as number, true) !== tags[i]) return false;
  }
  return true;
}

function walk(view: DataView, size: number, attrCount: number, version: string): Shape {
  const seen: Seen[] = [];
  const tags: number[] = [];
  const tagOffsets: number[] = [];
  let at = RECORDS_START;
  while (tags.length < attrCount && at + TAG_BYTES <= size) {
    const tag = view.getUint32(at, true);
    tags.push(tag);
    tagOffsets.push(at);
    const code = (tag >>> 20) & 0xf;
    const count = tag & 0x3ff;
    const offset = at + TAG_BYTES;
    if (code >= SCALARS.length || offset + count * scalarWidth(code) > size) break;
    seen.push({ id: (tag >>> 10) & 0x3ff, code, count, unitCode: tag >>> 24, offset });
    at = offset + count * scalarWidth(code);
  }
  return { layout: { version, size, fields: named(seen) }, attrCount, tagOffsets, tags };
}

function named(seen: readonly Seen[]): Map<string, Field> {
  const numbering = numberingOf(new Map(seen.map((s) => [s.id, s.count])));
  const fields = new Map<string, Field>();
  for (const { id, code, count, unitCode, offset } of seen) {
    const name = attributeName(id, numbering);
    const scale = name && attributeScale(name, unitCode);
    if (!name || !scale || count === 0 || fields.has(name)) continue;
    fields.set(name, { name, code, count, offset, end: offset + count * scalarWidth(code), sentinel: true, ...scale });
  }
  return fields;
}
