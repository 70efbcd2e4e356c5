import { describe, expect, it } from 'vitest';
import { CardMemory } from '../../../amdgpu/memory.ts';
import { cadenceOf } from '../../../amdgpu/plan.ts';
import { RawFiles } from '../../../amdgpu/raw.ts';
import { Readings } from '../../../amdgpu/readings.ts';
import type { Context } from '../../../amdgpu/resolve/context.ts';
import { resolveRas } from '../../../amdgpu/resolve/ras.ts';
import { ras } from '../../../model/quantities/ras.ts';

function errorsOf(files: Record<string, string>): Record<string, unknown> {
  const raw = new RawFiles();
  for (const [name, text] of Object.entries(files)) raw.set(name, Buffer.from(text));
  const out = new Readings();
  out.begin(0);
  resolveRas({ raw, out, memory: new CardMemory() } as unknown as Context);
  return Object.fromEntries([...out.of(ras.errors)].map(({ labels, value }) => [labels.join('.'), Number(value)]));
}

describe('error counts by block', () => {
  it('are read from the files that every driver had', () => {
    expect(errorsOf({ 'ras/gfx_err_count': 'ue: 1\nce: 2\n' })).toEqual({
      'gfx.uncorrectable': 1,
      'gfx.correctable': 2,
    });
  });

  it('are read from what drivers with the ACA framework have in their place', () => {
    expect(errorsOf({ 'ras/aca_umc': 'ue: 1\nce: 2\nde: 3\n' })).toEqual({
      'umc.uncorrectable': 1,
      'umc.correctable': 2,
      'umc.deferred': 3,
    });
  });

  it.each(['ras/umc_err_count', 'ras/aca_umc', 'ras/aca_xgmi_wafl', 'xgmi_error'])(
    'of %s are read on the slow timer alone',
    (name) => {
      expect(cadenceOf(name)).toBe('costly');
    },
  );
});
