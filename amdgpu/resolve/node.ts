import { info } from '../../model/quantities/info.ts';
import { memory } from '../../model/quantities/memory.ts';
import { ras } from '../../model/quantities/ras.ts';
import { parseInt10, parseUint, parseWord } from '../formats/scalar.ts';
import type { Readings } from '../readings.ts';
import type { Survey } from '../survey.ts';

/** What belongs to the node and not to a card. `gpus` counts those that are there. */
export function resolveNode(out: Readings, survey: Survey, gpus: number): void {
  const { node } = survey;
  out.put(info.gpus, gpus, 'class/drm');
  const version = node.parse('module/amdgpu/version', parseWord) ?? '';
  const source = node.parse('module/amdgpu/srcversion', parseWord) ?? '';
  const kernel = node.parse('sys/kernel/osrelease', parseWord) ?? '';
  if (version !== '' || source !== '' || kernel !== '')
    out.put(info.driver, 1, 'module/amdgpu', version, source, kernel);
  out.put(memory.ttmPages, node.parse('module/ttm/parameters/pages_limit', parseUint), 'module/ttm');
  out.put(memory.ttmPool, node.parse('module/ttm/parameters/page_pool_size', parseUint), 'module/ttm');
  const threshold = 'module/amdgpu/parameters/bad_page_threshold';
  out.put(ras.threshold, node.parse(threshold, parseInt10), threshold);
  out.put(ras.coredumps, survey.coredumps, 'class/devcoredump');
}
