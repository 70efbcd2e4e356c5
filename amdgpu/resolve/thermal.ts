import { compute } from '../../model/quantities/compute.ts';
import { thermal } from '../../model/quantities/thermal.ts';
import { parseWord } from '../formats/scalar.ts';
import { decodeTable } from '../tables/decode.ts';
import { type Context, divided, first, int, states, uint } from './context.ts';

/** Labels that the driver gives its channels, for trees (and old drivers) without the label files. */
const TEMP_LABELS = ['', 'edge', 'junction', 'mem'];
const VOLTAGE_LABELS = ['vddgfx', 'vddnb', 'vddboard'];
const TABLE_TEMPERATURES: readonly (readonly [field: string, sensor: string])[] = [
  ['temperature_edge', 'edge'],
  ['temperature_hotspot', 'junction'],
  ['temperature_mem', 'mem'],
  ['temperature_vrgfx', 'vr_gfx'],
  ['temperature_vrsoc', 'vr_soc'],
  ['temperature_vrmem', 'vr_mem'],
  ['temperature_gfx', 'gfx'],
  ['temperature_soc', 'soc'],
  ['temperature_skin', 'skin'],
];
const TABLE_STACKS: readonly (readonly [field: string, sensor: string])[] = [
  ['temperature_hbm', 'hbm'],
  ['temperature_mid', 'mid'],
  ['temperature_aid', 'aid'],
  ['temperature_xcd', 'xcd'],
  ['temperature_core', 'core'],
  ['temperature_l3', 'l3_'],
];
const PWM_MODES = ['full_speed', 'manual', 'automatic'];
const GM = 'gpu_metrics';
/** All ones of the sensor's 16 bits: the fan stands still or cannot be read. */
const NO_FAN_READING = 65535;

export function resolveThermal(context: Context): void {
  temperatures(context);
  fans(context);
  voltages(context);
  boards(context);
}

/** Limits: the chip's own, read at discovery. */
export function resolveThermalLimits(context: Context): void {
  const { raw, out } = context;
  limits(context);
  out.put(thermal.fanMin, uint(raw, 'hwmon/fan1_min'), 'hwmon fan1_min');
  out.put(thermal.fanMax, uint(raw, 'hwmon/fan1_max'), 'hwmon fan1_max');
}

function temperatures({ raw, table, tableFirst, card, out }: Context): void {
  const bare = card.model.family === 'mi300' || card.model.family === 'mi350';
  const put = (sensor: string, celsius: number | undefined, source: string): void => {
    // After a fatal error the MI300 sensor path answers without filling the value in; no die is at 0 °C while it runs.
    if (celsius !== undefined && !(bare && celsius === 0)) out.put(thermal.temperature, celsius, source, sensor);
  };
  const fromFiles = new Map<string, [number, string]>();
  for (let channel = 1; channel <= 9; channel++) {
    const milli = int(raw, `hwmon/temp${channel}_input`);
    if (milli === undefined) continue;
    fromFiles.set(tempLabel(raw, channel), [milli / 1000, `hwmon temp${channel}_input`]);
  }
  for (const [field, sensor] of TABLE_TEMPERATURES) {
    let celsius = table?.num(field);
    // Parts without a regulator sensor fill in 0.
    if (celsius === 0 && sensor.startsWith('vr_')) celsius = undefined;
    const file = fromFiles.get(sensor);
    fromFiles.delete(sensor);
    if (celsius !== undefined && (tableFirst || file === undefined)) put(sensor, celsius, GM);
    else if (file !== undefined) put(sensor, ...file);
  }
  for (const [sensor, [celsius, source]] of fromFiles) put(sensor, celsius, source);
  for (const [field, prefix] of TABLE_STACKS) {
    table?.nums(field)?.forEach((celsius, i) => {
      if (celsius !== 0) put(`${prefix}${i}`, celsius, GM);
    });
  }
}

function tempLabel(raw: Context['raw'], channel: number): string {
  return raw.parse(`hwmon/temp${channel}_label`, parseWord) ?? TEMP_LABELS[channel] ?? `temp${channel}`;
}

/** 0 stands in guests, and -273 °C for "no hysteresis": both are no limits. The quantity's window drops them silently here. */
function limits({ raw, out }: Context): void {
  for (let channel = 1; channel <= 9; channel++) {
    for (const [suffix, limit] of [
      ['crit', 'critical'],
      ['crit_hyst', 'critical_hysteresis'],
      ['emergency', 'emergency'],
    ] as const) {
      const name = `temp${channel}_${suffix}`;
      const celsius = divided(int(raw, `hwmon/${name}`), 1000);
      if (celsius !== undefined && celsius > 0) {
        out.put(thermal.limit, celsius, `hwmon ${name}`, tempLabel(raw, channel), limit);
      }
    }
  }
}

function fans({ raw, table, out }: Context): void {
  const max = uint(raw, 'hwmon/fan1_max');
  const rpm = uint(raw, 'hwmon/fan1_input');
  if (rpm === NO_FAN_READING) out.miss(thermal.fan, 'absent', 'hwmon fan1_input');
  else if (rpm !== undefined && max !== undefined && max > 0 && rpm > 2 * max) {
    out.drop(thermal.fan, 'hwmon fan1_input');
  } else out.put(thermal.fan, rpm, 'hwmon fan1_input');
  out.put(thermal.fanTarget, uint(raw, 'hwmon/fan1_target'), 'hwmon fan1_target');
  const pwm = uint(raw, 'hwmon/pwm1');
  const scale = uint(raw, 'hwmon/pwm1_max') ?? 255;
  if (pwm !== undefined && scale > 0) out.put(thermal.fanDuty, pwm / scale, 'hwmon pwm1');
  else out.put(thermal.fanDuty, divided(table?.num('fan_pwm'), 1000), GM);
  const mode = uint(raw, 'hwmon/pwm1_enable');
  states(out, thermal.fanMode, PWM_MODES, mode === undefined ? undefined : PWM_MODES[mode], 'hwmon pwm1_enable');
}

function voltages({ raw, table, tableFirst, card, out }: Context): void {
  const rails = new Map<string, [number, string]>();
  for (let channel = 0; channel <= 3; channel++) {
    const millivolts = uint(raw, `hwmon/in${channel}_input`);
    if (millivolts === undefined) continue;
    const label = raw.parse(`hwmon/in${channel}_label`, parseWord) ?? VOLTAGE_LABELS[channel] ?? `in${channel}`;
    rails.set(label, [millivolts / 1000, `hwmon in${channel}_input`]);
  }
  for (const [field, rail] of [
    ['voltage_gfx', 'vddgfx'],
    ['voltage_soc', 'vddsoc'],
    ['voltage_mem', 'vddmem'],
    ['average_gfx_voltage', 'vddgfx'],
    ['average_soc_voltage', 'vddsoc'],
    ['average_cpu_voltage', 'vddcpu'],
  ] as const) {
    const millivolts = table?.num(field);
    // MI100 has no reading here and writes 0; a rail of an awake card is not at 0 V.
    if (millivolts === undefined || (millivolts === 0 && card.model.family !== 'apu')) continue;
    if (tableFirst || !rails.has(rail)) rails.set(rail, [millivolts / 1000, GM]);
  }
  for (const [rail, [volts, source]] of rails) out.put(thermal.voltage, volts, source, rail);
  for (const [field, rail] of [
    ['average_cpu_current', 'vddcpu'],
    ['average_soc_current', 'vddsoc'],
    ['average_gfx_current', 'vddgfx'],
  ] as const) {
    out.put(thermal.current, divided(first(table, field), 1000), GM, rail);
  }
}

function boards({ raw, out }: Context): void {
  for (const [file, kind, quantity] of [
    ['board/gpuboard_temp', 'gpuboard_temp', thermal.board],
    ['board/baseboard_temp', 'baseboard_temp', thermal.baseboard],
  ] as const) {
    const bytes = raw.bytes(file);
    if (bytes === undefined || bytes.length === 0) continue;
    const result = decodeTable(kind, bytes);
    if (!result.ok) {
      out.miss(quantity, result.fault === 'unknown_version' ? 'unsupported' : 'failed', file, '');
      continue;
    }
    for (const { sensor, celsius } of result.table.temps()) out.put(quantity, celsius, file, sensor);
    out.put(compute.absentFields, result.table.absentCount, file, file);
  }
}
