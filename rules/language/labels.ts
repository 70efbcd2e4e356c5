/**
 * Label values that conditions are usually about, and other names people know them by. The sets are open: newer drivers have
 * more, so this serves to tell a slip of the pen, never to refuse what is merely new.
 */

const TEMPERATURES = ['junction', 'edge', 'mem', 'vr_gfx', 'vr_soc', 'vr_mem', 'gfx', 'soc', 'skin'];
const CLOCKS = ['gfx', 'mem', 'soc', 'fabric', 'vclk', 'dclk', 'vclk1', 'dclk1', 'dcef', 'vpe', 'ipu', 'pcie'];
const CAUSES = [
  ['ppt0', 'ppt1', 'ppt2', 'ppt3', 'spl', 'fppt', 'sppt', 'sppt_apu', 'ppm', 'fit', 'apcc'],
  ['tdc_gfx', 'tdc_soc', 'tdc_mem', 'tdc_hbm', 'tdc_vdd', 'tdc_cvip', 'tdc_u', 'edc_cpu', 'edc_gfx'],
  ['temp_gpu', 'temp_core', 'temp_mem', 'temp_edge', 'temp_hotspot', 'temp_hotspot_gfx', 'temp_hotspot_mem'],
  ['temp_soc', 'temp_vr_gfx', 'temp_vr_soc', 'temp_vr_mem', 'temp_vr_mem0', 'temp_vr_mem1', 'temp_vr_u'],
  ['temp_liquid0', 'temp_liquid1', 'temp_plx', 'vrhot0', 'vrhot1', 'prochot_cpu', 'prochot_gfx'],
].flat();

/** First label of a quantity, by its key. */
export const KNOWN_LABELS: ReadonlyMap<string, readonly string[]> = new Map([
  ['temperature', [...TEMPERATURES, 'hbm0', 'mid0', 'aid0', 'xcd0', 'core0', 'l3_0']],
  ['temperature_limit', TEMPERATURES],
  ['clock', CLOCKS],
  ['average_clock', CLOCKS],
  ['clock_level', CLOCKS],
  ['clock_limit', CLOCKS],
  ['clock_request', ['gfx', 'mem']],
  ['busy', ['gfx', 'memory_controller', 'vcn']],
  ['throttle_active', CAUSES],
  ['voltage', ['vddgfx', 'vddsoc', 'vddmem', 'vddnb', 'vddboard', 'vddcpu']],
]);

const TEMPERATURE_ALIASES = { hotspot: 'junction', hot_spot: 'junction', memory: 'mem', hbm: 'mem', vram: 'mem' };
const CLOCK_ALIASES = {
  sclk: 'gfx',
  gfxclk: 'gfx',
  shader: 'gfx',
  mclk: 'mem',
  memory: 'mem',
  uclk: 'mem',
  fclk: 'fabric',
  socclk: 'soc',
};

export const ALIASES: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map<string, Record<string, string>>([
  ['temperature', TEMPERATURE_ALIASES],
  ['temperature_limit', TEMPERATURE_ALIASES],
  ['clock', CLOCK_ALIASES],
  ['average_clock', CLOCK_ALIASES],
  ['clock_level', CLOCK_ALIASES],
  ['clock_limit', CLOCK_ALIASES],
  ['clock_request', { sclk: 'gfx', gfxclk: 'gfx', mclk: 'mem', memory: 'mem' }],
  ['busy', { compute: 'gfx', gpu: 'gfx', memory: 'memory_controller', mem: 'memory_controller', video: 'vcn' }],
]);
