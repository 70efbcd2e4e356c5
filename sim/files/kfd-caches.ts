import type { ModelSpec } from '../models.ts';
import type { SimPartition } from '../node.ts';
import type { Directory } from './entry.ts';

/** Caches of an agent. Source: drivers/gpu/drm/amd/amdkfd/{kfd_topology,kfd_crat}.c. */

/** Bits of `type`: what is kept, and whose cache it is. */
const DATA = 1;
const INSTRUCTION = 2;
const SIMD = 8;

interface Level {
  level: number;
  kilobytes: number;
  line: number;
  type: number;
  /** Compute units that share one. */
  cus: number;
  /** One for all dies of the agent, rather than one a die. */
  joint?: boolean;
}

function levels(spec: ModelSpec): Level[] {
  const modern = spec.memoryModes.length > 0;
  const whole = spec.cusPerXcc;
  return [
    { level: 1, kilobytes: modern ? 32 : 16, line: modern ? 128 : 64, type: DATA | SIMD, cus: 1 },
    { level: 1, kilobytes: modern ? 64 : 32, line: 64, type: INSTRUCTION | SIMD, cus: 2 },
    { level: 1, kilobytes: 16, line: 64, type: DATA | SIMD, cus: 2 },
    { level: 2, kilobytes: modern ? 4096 : 8192, line: 128, type: DATA | SIMD, cus: whole },
    ...(modern ? [{ level: 3, kilobytes: 262_144, line: 64, type: DATA | SIMD, cus: whole, joint: true }] : []),
  ];
}

/**
 * Compute units stand in arrays with more slots than working units; where two share a cache, so do neighbouring slots, hence
 * an array with an odd number of working units has one cache that serves a single unit.
 */
function sharedPerXcc(spec: ModelSpec, level: Level): number {
  if (level.cus === 1) return spec.cusPerXcc;
  if (level.cus === 2) return spec.arraysPerXcc * Math.ceil(spec.cuSlotsPerArray / 2);
  return 1;
}

export function cacheCount(spec: ModelSpec, partition: SimPartition): number {
  const count = (level: Level): number => (level.joint ? 1 : partition.xccs.length) * sharedPerXcc(spec, level);
  return levels(spec).reduce((sum, level) => sum + count(level), 0);
}

const MAP_BITS = 32;

export function cacheFiles(spec: ModelSpec, partition: SimPartition, dir: Directory): void {
  let index = 0;
  for (const level of levels(spec)) {
    const dies = level.joint ? 1 : partition.xccs.length;
    const each = sharedPerXcc(spec, level);
    for (let cache = 0; cache < dies * each; cache++) {
      const units = level.cus > 2 ? (level.joint ? spec.cusPerXcc * partition.xccs.length : spec.cusPerXcc) : level.cus;
      const length = Math.ceil(units / MAP_BITS) * MAP_BITS;
      const siblings = Array.from({ length }, (_, bit) => (bit < units ? 1 : 0)).join(',');
      dir.raw(
        `caches/${index++}/properties`,
        `processor_id_low ${(cache % each) * level.cus}\nlevel ${level.level}\nsize ${level.kilobytes}\n` +
          `cache_line_size ${level.line}\ncache_lines_per_tag 0\nassociation 0\nlatency 0\ntype ${level.type}\n` +
          `sibling_map ${siblings}\n`,
      );
    }
  }
}
