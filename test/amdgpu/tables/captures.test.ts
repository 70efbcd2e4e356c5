import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { decodeTable } from '../../../amdgpu/tables/decode.ts';
import { throttleNames } from '../../../amdgpu/tables/throttle.ts';
import { capturesDir } from '../../support/captures.ts';
import { skipUnless } from '../../support/skips.ts';
import { decoded } from './bytes.ts';

const here = capturesDir();
const CAPTURES = here ?? '';

const bytesAt = (...parts: string[]): Uint8Array => readFileSync(path.join(CAPTURES, ...parts));

/** Raw values as the capture's own reading has them: numbers, null for absent; 64-bit values came through a double. */
type Expected = Record<string, number | null | (number | null)[]>;

const NOT_FIELDS = new Set(['structure_size', 'format_revision', 'content_revision', '_consumed']);

/** Every field of the reading, and no other, holds what the reading says. */
function expectReading(bytes: Uint8Array, expected: Expected): void {
  const table = decoded('gpu_metrics', bytes);
  expect(table.size).toBe(expected.structure_size);
  expect(table.family).toBe(`${expected.format_revision}.${expected.content_revision}`);
  const names = new Set<string>();
  for (const [key, value] of Object.entries(expected)) {
    if (NOT_FIELDS.has(key)) continue;
    const name = key.replace(/_0_1GTs$/, '');
    names.add(name);
    const raw = (table.bigs(name) ?? []).map((v) => (v === undefined ? null : Number(v)));
    expect(raw, name).toEqual(Array.isArray(value) ? value : [value]);
  }
  expect([...table.fields()].sort()).toEqual([...names].sort());
}

function captures(): { title: string; bytes: string; reading: string }[] {
  const blobs = path.join(CAPTURES, 'gpu-metrics-blobs');
  const found = readdirSync(blobs)
    .filter((f) => f.endsWith('.decoded.json'))
    .map((f) => ({
      title: f,
      bytes: path.join(blobs, f.replace('.decoded.json', '.bin')),
      reading: path.join(blobs, f),
    }));
  for (const machine of readdirSync(CAPTURES)) {
    const reading = path.join(CAPTURES, machine, 'gpu_metrics.decoded.json');
    if (!existsSync(reading)) continue;
    const drm = path.join(CAPTURES, machine, 'sys/class/drm');
    const card = readdirSync(drm).find((c) => existsSync(path.join(drm, c, 'device/gpu_metrics')));
    if (card) found.push({ title: machine, bytes: path.join(drm, card, 'device/gpu_metrics'), reading });
  }
  return found;
}

describe('tables captured on real machines', () => {
  beforeEach(() => skipUnless(here, 'the captures of real machines are not here (set NIGHTSHIFT_CAPTURES)'));

  const found = here ? captures() : [];

  it('are there in all three forms', () => {
    expect(found.length).toBeGreaterThanOrEqual(5);
  });

  for (const { title, bytes, reading } of found) {
    it(`read as recorded: ${title}`, () => {
      expectReading(readFileSync(bytes), JSON.parse(readFileSync(reading, 'utf8')) as Expected);
    });
  }

  it('are refused where the header says nothing', () => {
    const garbage = bytesAt('gpu-metrics-blobs', 'invalid-header-zero.bin');
    expect(garbage).toHaveLength(151);
    expect(decodeTable('gpu_metrics', garbage)).toEqual({ ok: false, fault: 'bad_header' });
  });

  it('give an APU under load in units', () => {
    const table = decoded('gpu_metrics', bytesAt('gpu-metrics-blobs', 'apu-vangogh-loaded.bin'));
    expect(table.num('temperature_gfx')).toBe(81.75);
    expect(table.nums('temperature_core')).toEqual([
      80.5,
      74.25,
      77.25,
      73.5,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(table.num('average_socket_power')).toBe(18.844);
    expect(table.num('average_gfxclk_frequency')).toBe(0);
    expect(throttleNames('indep', table.big('indep_throttle_status') ?? 0n)).toEqual(['fppt', 'sppt']);
    expect(throttleNames('renoir', table.num('throttle_status') ?? 0)).toEqual(['fppt', 'sppt']);
  });

  it('give a Radeon under load in units', () => {
    const table = decoded('gpu_metrics', bytesAt('gpu-metrics-blobs', 'radeon-navi2x-loaded.bin'));
    expect(table.num('pcie_link_speed')).toBe(8);
    expect(table.num('pcie_link_width')).toBe(8);
    expect(table.num('average_socket_power')).toBe(33);
    expect(table.num('average_socclk_frequency')).toBeUndefined();
    expect(table.num('energy_accumulator')).toBeCloseTo(50110.5, 0);
  });

  it('end at their size in a file padded with NUL to a page', () => {
    const page = bytesAt('odd-nul-padded-files', 'sys/class/drm/card0/device/gpu_metrics');
    expect(page).toHaveLength(4096);
    const table = decoded('gpu_metrics', page);
    expect(table.size).toBe(120);
    expect(table.absentCount).toBe(decoded('gpu_metrics', page.subarray(0, 120)).absentCount);
  });
});
