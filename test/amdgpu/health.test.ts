import { constants } from 'node:os';
import { expect, it } from 'vitest';
import { healthOf } from '../../amdgpu/health.ts';
import type { FileResult } from '../../amdgpu/lanes/protocol.ts';

const { EPERM, EBUSY, EIO, EINVAL, ENODEV, ENOENT, EOPNOTSUPP, ETIME } = constants.errno;
const text = Buffer.from('1\n');
const empty = Buffer.alloc(0);

function health(files: Record<string, FileResult>, asleep = false): string {
  return healthOf(Object.keys(files), { op: 'read', files: Object.values(files), asleep, milliseconds: 1 } as never);
}

it('a card whose sensors say anything is well, whatever else fails', () => {
  expect(health({ gpu_metrics: EBUSY, 'hwmon/temp2_input': text })).toBe('ok');
  expect(health({ pp_dpm_sclk: text })).toBe('ok');
  expect(health({})).toBe('ok');
});

it('a card that refuses its sensors is in reset, though the driver still knows its memory and link', () => {
  const books = { mem_info_vram_used: text, current_link_speed: text, 'power/runtime_status': text };
  for (const refused of [EPERM, EBUSY]) {
    expect(health({ ...books, gpu_metrics: refused, 'hwmon/temp2_input': refused })).toBe('resetting');
  }
});

it('a card whose firmware does not answer is silent, though the driver still knows its memory and cap', () => {
  const books = { mem_info_vram_used: text, 'hwmon/power1_cap': text, power_dpm_force_performance_level: text };
  expect(health({ ...books, gpu_metrics: EIO, 'hwmon/temp2_input': ETIME })).toBe('silent');
  expect(health({ ...books, 'hwmon/temp2_input': empty })).toBe('silent');
});

it('a card that has no sensors is well by what the driver knows', () => {
  expect(health({ mem_info_vram_used: text })).toBe('ok');
  expect(health({ 'hwmon/power1_cap': text })).toBe('ok');
  expect(health({ mem_info_vram_used: text, gpu_metrics: EOPNOTSUPP, 'hwmon/temp1_input': EINVAL })).toBe('ok');
});

it('a card all of whose files are empty is silent', () => {
  expect(health({ pp_dpm_sclk: empty, 'hwmon/power1_cap': empty })).toBe('silent');
  expect(health({ gpu_metrics: EINVAL })).toBe('silent');
});

it('a card all of whose files vanished is gone', () => {
  expect(health({ gpu_metrics: ENODEV, mem_info_vram_used: ENOENT })).toBe('gone');
  expect(health({ gpu_metrics: ENODEV, mem_info_vram_used: EIO })).not.toBe('gone');
});

it('a card that sleeps was not asked, and one that did not come back in time is silent', () => {
  expect(health({}, true)).toBe('asleep');
  expect(healthOf(['gpu_metrics'], { op: 'timeout' } as never)).toBe('silent');
});
