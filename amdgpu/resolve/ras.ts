import { ras } from '../../model/quantities/ras.ts';
import {
  parseBadPages,
  parseErrCount,
  parseEventState,
  parseFeatureMask,
  parseRasVersion,
  parseSchema,
} from '../formats/ras.ts';
import type { Context } from './context.ts';

/** Drivers that use the ACA framework (accelerator check architecture) have aca_BLOCK instead, with the same lines. */
const ERR_COUNT = /^ras\/(?:(\w+)_err_count|aca_(\w+))$/;

/** Event counts are cheap to read and come with every pass. */
export function resolveRasEvents({ raw, out }: Context): void {
  for (const event of raw.parse('ras/event_state', parseEventState)?.events ?? []) {
    out.put(ras.events, event.count, 'ras/event_state', event.name);
  }
}

export function resolveRas({ raw, out }: Context): void {
  for (const name of raw.names()) {
    const [, counted, aca] = ERR_COUNT.exec(name) ?? [];
    const block = counted ?? aca;
    if (block === undefined) continue;
    const counts = raw.parse(name, parseErrCount);
    if (counts === undefined) continue;
    if (counts === 'busy') {
      out.miss(ras.errors, 'busy', name, block, 'uncorrectable');
      continue;
    }
    out.put(ras.errors, counts.ce, name, block, 'correctable');
    out.put(ras.errors, counts.ue, name, block, 'uncorrectable');
    out.put(ras.errors, counts.de, name, block, 'deferred');
  }
  const pages = raw.parse('ras/gpu_vram_bad_pages', parseBadPages);
  out.put(ras.badPages, pages?.reserved, 'ras/gpu_vram_bad_pages', 'retired');
  out.put(ras.badPages, pages?.pending, 'ras/gpu_vram_bad_pages', 'pending');
  out.put(ras.badPages, pages?.unreservable, 'ras/gpu_vram_bad_pages', 'unreservable');
  const features = raw.parse('ras/features', parseFeatureMask);
  const version = raw.parse('ras/version', parseRasVersion);
  const schema = raw.parse('ras/schema', parseSchema);
  if (features === undefined && version === undefined && schema === undefined) return;
  const hex = (value: bigint | undefined): string => (value === undefined ? '' : `0x${value.toString(16)}`);
  out.put(ras.info, 1, 'ras/features', hex(features), hex(version?.table), hex(schema));
}
