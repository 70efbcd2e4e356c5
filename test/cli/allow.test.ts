import { describe, expect, it } from 'vitest';
import { mayRead, needsAwake } from '../../cli/capture/allow.ts';

describe('the files of a capture', () => {
  it.each([
    ...[
      'resource',
      'resource0',
      'resource2_wc',
      'resource0_resize',
      'rom',
      'config',
      'vpd',
      'remove',
      'rescan',
      'reset',
    ],
    ...['driver_override', 'msi_bus', 'enable', 'broken_parity_status', 'link/l1_aspm', 'drm/card0/dev'],
    ...['pcie_bw', 'pm_metrics', 'xcp_reg_state', 'reg_state', 'psp_vbflash', 'usbc_pd_fw', 'run_cleaner_shader'],
    ...['ras/ras_ctrl', 'a_file_nobody_knows'],
  ])('never include %s', (name) => {
    expect(mayRead(name, true)).toBe(false);
  });

  it.each(['ras/umc_err_count', 'ras/aca_umc', 'xgmi_error'])('include %s only where asked', (name) => {
    expect(mayRead(name, false)).toBe(false);
    expect(mayRead(name, true)).toBe(true);
  });

  it.each([
    ...['gpu_metrics', 'unique_id', 'pp_dpm_sclk', 'mem_info_vram_used', 'uevent', 'max_link_speed', 'reset_method'],
    ...['hwmon/hwmon3/temp1_input', 'ras/features', 'ras/gpu_vram_bad_pages', 'xcp/xcp_metrics', 'board/gpuboard_temp'],
    ...['power/runtime_status', 'compute_partition_config/xcc/num_inst', 'psp_reset_mask', 'fw_version/smc_fw_version'],
  ])('include %s', (name) => {
    expect(mayRead(name, false)).toBe(true);
  });

  it('ask a sleeping card for nothing but what the PCI core knows of it', () => {
    expect(['uevent', 'vendor', 'power/runtime_status'].filter(needsAwake)).toEqual([]);
    const asking = ['gpu_metrics', 'hwmon/hwmon3/temp1_input', 'current_link_speed', 'unique_id'];
    expect(asking.filter(needsAwake)).toEqual(asking);
  });
});
