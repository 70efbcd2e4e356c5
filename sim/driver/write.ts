import { since } from '../driver.ts';
import { devicePath, hwmonPath } from '../files/paths.ts';
import { MODELS } from '../models.ts';
import type { NodeDescription } from '../node.ts';
import { fixedLevels, graphicsLevels, videoLevels } from './clock-levels.ts';
import { computePartition, partitionView } from './compute-partition.ts';
import type { Control, Target } from './control.ts';
import { writeCoreFile } from './cores.ts';
import { withDifference } from './difference.ts';
import { enforceIsolation } from './isolation.ts';
import { features, percentOverdrive, powerState } from './legacy.ts';
import { memoryPartition } from './memory-partition.ts';
import { overdrive } from './overdrive.ts';
import { performanceLevel } from './performance-level.ts';
import { socPstate, xgmiPlpd } from './policies.ts';
import { powerCap, secondPowerCap } from './power-cap.ts';
import { powerProfile } from './power-profile.ts';
import { accepted, refused, type WriteResult } from './result.ts';
import { throttleLogging } from './throttle-log.ts';
import { ownerOf, treeIndex } from './tree-index.ts';

export type { WriteErrno, WriteResult } from './result.ts';

/** Every file of a GPU that its driver lets one write, by its place below `device/`. Which of them a chip has, its tree says. */
const CONTROLS: Readonly<Record<string, Control>> = {
  'hwmon/power1_cap': powerCap,
  'hwmon/power2_cap': secondPowerCap,
  power_dpm_force_performance_level: performanceLevel,
  pp_dpm_sclk: graphicsLevels,
  pp_dpm_mclk: fixedLevels,
  pp_dpm_socclk: fixedLevels,
  pp_dpm_fclk: fixedLevels,
  pp_dpm_vclk: videoLevels,
  pp_dpm_dclk: videoLevels,
  pp_od_clk_voltage: overdrive,
  pp_power_profile_mode: powerProfile,
  'pm_policy/soc_pstate': socPstate,
  'pm_policy/xgmi_plpd': xgmiPlpd,
  current_compute_partition: computePartition,
  current_memory_partition: memoryPartition,
  'compute_partition_config/xcp_config': partitionView,
  enforce_isolation: enforceIsolation,
  thermal_throttling_logging: throttleLogging,
  power_dpm_state: powerState,
  pp_sclk_od: percentOverdrive,
  pp_mclk_od: percentOverdrive,
  pp_features: features,
};

/**
 * One write(2) of `text` to a file of the node, as its driver takes it: settings of the node change, or an errno says why not.
 * `path` is relative to the root of the tree, with or without links resolved. A file that nobody may write answers EACCES, as
 * opening it does even for root. Settings show at once; clocks, power and temperatures follow when the node is stepped.
 */
export function writeFile(node: NodeDescription, path: string, text: string): WriteResult {
  const index = treeIndex(node);
  const file = index.resolve(path);
  const entry = file === undefined ? undefined : index.entry(file);
  if (file === undefined || !entry) return refused('ENOENT');
  if (((entry.mode ?? 0) & 0o222) === 0) return refused('EACCES');
  const owner = ownerOf(node, file);
  const control = owner && CONTROLS[owner.name];
  if (!control) {
    const errno = writeCoreFile(entry.content, text);
    return errno ? refused(errno) : accepted();
  }
  const { gpu } = owner;
  if (gpu.live.inReset) return refused(since(node.driver, 'linux-6.19') ? 'EBUSY' : 'EPERM');
  const target: Target = { node, gpu, spec: MODELS[node.model], device: devicePath(gpu), hwmon: hwmonPath(gpu) };
  // The driver sees a C string.
  return apply(target, control, text.split('\0', 1)[0] as string);
}

/** A change of the topology may show in any file. */
function apply(target: Target, control: Control, text: string): WriteResult {
  const { node } = target;
  if (control === computePartition) return withDifference(node, () => control(target, text));
  const answer = control(target, text);
  if (typeof answer === 'string') return refused(answer);
  const index = treeIndex(node);
  return accepted(answer.filter((path) => index.entry(path)));
}

/** Modes of all files of the node, by path: what `ls -l` shows of a real one, whatever the folder on disk allows. */
export function fileModes(node: NodeDescription): Map<string, number> {
  return treeIndex(node).modes();
}
