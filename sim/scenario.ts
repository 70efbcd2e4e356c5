import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { closest } from '../base/closest.ts';
import { configurationError, errnoOf, type Problem } from '../base/errors.ts';
import { checkShape, type Path, readYaml, type YamlText } from '../base/yaml.ts';
import {
  CURVES,
  EVENTS,
  type EventName,
  type Layer,
  layerHead,
  type Selector,
  type SimEvent,
  scenarioHead,
  timelineEntry,
} from './scenario/schema.ts';

export type { Amount, EventName, Job, Layer, Selector, SimEvent } from './scenario/schema.ts';
export { EVENT_NAMES, EVENTS } from './scenario/schema.ts';

/** What happens to a node, and when. Times in seconds; `start` since midnight, all others since the beginning. */
export interface Scenario {
  name: string;
  description: string;
  duration: number;
  start: number;
  /** °C. */
  ambient: number;
  load: Layer[];
  /** In order of time. */
  timeline: { at: number; event: SimEvent }[];
}

/** Above dist/ in the built program, beside this file in the sources. */
const PLACES = ['./scenarios/', '../../sim/scenarios/'];

function folder(): string {
  const places = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return places.find((place) => existsSync(place)) ?? (places[0] as string);
}

/** Names of the scenarios that come with the program. */
export function scenarioNames(): string[] {
  return readdirSync(folder())
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => name.slice(0, -'.yaml'.length))
    .sort();
}

/** A scenario by its name, or from a file: whatever holds a slash or ends in .yaml or .yml is a file. */
export function loadScenario(nameOrFile: string, gpus: number): Scenario {
  const isFile = /\/|\.ya?ml$/.test(nameOrFile);
  if (!isFile && !scenarioNames().includes(nameOrFile)) {
    const names = scenarioNames();
    const meant = closest(nameOrFile, names);
    throw configurationError(
      'SCENARIO_UNKNOWN',
      `there is no scenario "${nameOrFile}"`,
      `${meant ? `Did you mean ${meant}? ` : ''}There are ${names.join(', ')}; or name a file, ./${nameOrFile}.yaml.`,
    );
  }
  const file = isFile ? nameOrFile : `${folder()}${nameOrFile}.yaml`;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const why = errnoOf(cause) ?? 'unknown error';
    throw configurationError('SCENARIO_UNKNOWN', `${file} cannot be read (${why})`, 'Name a file that can be read.', {
      cause,
    });
  }
  return parseScenario(text, file, gpus);
}

/** Throws SCENARIO_INVALID with all that is wrong, each with file, line and column. `gpus`: how many the node has. */
export function parseScenario(text: string, file: string, gpus: number): Scenario {
  const yaml = readYaml(text, file);
  const problems = [...yaml.problems];
  const reader = new Reader(yaml, problems, gpus);
  const scenario = problems.length === 0 ? reader.scenario(file) : undefined;
  if (scenario === undefined || problems.length > 0) {
    throw configurationError('SCENARIO_INVALID', `the scenario ${file} is wrong`, 'See docs/simulator.md.', {
      problems,
    });
  }
  return scenario;
}

class Reader {
  readonly #yaml: YamlText;
  readonly #problems: Problem[];
  readonly #gpus: number;

  constructor(yaml: YamlText, problems: Problem[], gpus: number) {
    this.#yaml = yaml;
    this.#problems = problems;
    this.#gpus = gpus;
  }

  scenario(file: string): Scenario | undefined {
    const head = this.#check([], this.#yaml.value, scenarioHead);
    if (head === undefined) return undefined;
    const { description, duration, start, ambient } = head;
    if (duration <= 0) this.#wrong(['duration'], 'duration must be longer than 0s');
    const load = head.load.map((value, index) => this.#layer(['load', index], value));
    const timeline = head.timeline.map((value, index) => this.#entry(['timeline', index], value, duration));
    return {
      name: file.replace(/^.*\//, '').replace(/\.ya?ml$/, ''),
      description,
      duration,
      start,
      ambient,
      load: load.filter((layer) => layer !== undefined),
      timeline: timeline.filter((entry) => entry !== undefined).sort((a, b) => a.at - b.at),
    };
  }

  #layer(path: Path, value: unknown): Layer | undefined {
    const head = this.#check(path, value, layerHead);
    if (head === undefined) return undefined;
    const layer = this.#check(path, value, CURVES[head.curve] as z.ZodType<Layer>);
    if (layer === undefined) return undefined;
    this.#selector([...path, 'gpus'], layer.gpus);
    if ((layer.from === undefined) !== (layer.until === undefined))
      this.#wrong(path, `${path.join('.')} needs both from and until, or neither`);
    this.#points(path, layer);
    return layer;
  }

  /** Points stand in order, and a cycle takes time. */
  #points(path: Path, layer: Layer): void {
    if (layer.curve === 'cycle') {
      if (layer.phases.every(({ lasts }) => lasts <= 0))
        this.#wrong([...path, 'phases'], 'a cycle must last longer than 0s');
    } else if (layer.curve === 'bursts') {
      if (layer.every[0] <= 0) this.#wrong([...path, 'every'], `${path.join('.')}.every must be longer than 0s`);
    } else if (layer.curve !== 'steady') {
      layer.points.forEach((point, index) => {
        const before = layer.points[index - 1];
        if (before && point.at <= before.at)
          this.#wrong(
            [...path, 'points', index, 'at'],
            `${[...path, 'points', index].join('.')}.at must be later than the point before`,
          );
      });
    }
  }

  #entry(path: Path, value: unknown, duration: number): { at: number; event: SimEvent } | undefined {
    const head = this.#check(path, value, timelineEntry);
    if (head === undefined) return undefined;
    const { at, event: name, ...rest } = head;
    if (at > duration) this.#wrong([...path, 'at'], `${path.join('.')}.at comes after the end (duration)`);
    const event = this.#check(path, rest, EVENTS[name] as z.ZodType<object>);
    if (event === undefined) return undefined;
    if ('gpus' in event) this.#selector([...path, 'gpus'], event.gpus as Selector);
    return { at, event: { event: name, ...event } as SimEvent };
  }

  #selector(path: Path, selector: Selector): void {
    const missing = numbersOf(selector).find((gpu) => gpu >= this.#gpus);
    if (missing !== undefined)
      this.#wrong(path, `${path.join('.')} names GPU ${missing}; the node has 0 to ${this.#gpus - 1}`);
  }

  #check<T>(path: Path, value: unknown, schema: z.ZodType<T>): T | undefined {
    const result = checkShape(this.#yaml, path, value, schema);
    this.#problems.push(...result.problems);
    return result.value;
  }

  #wrong(path: Path, message: string): void {
    this.#problems.push({ message, at: this.#yaml.at(path) });
  }
}

const numbersOf = (selector: Selector): number[] =>
  typeof selector === 'number' ? [selector] : typeof selector === 'string' ? [] : selector;

/** The GPUs that a selector means on a node of `count`. */
export function selected(selector: Selector, count: number): number[] {
  const all = Array.from({ length: count }, (_, gpu) => gpu);
  switch (selector) {
    case 'all':
      return all;
    case 'first':
      return all.slice(0, 1);
    case 'last':
      return all.slice(-1);
    case 'even':
      return all.filter((gpu) => gpu % 2 === 0);
    case 'odd':
      return all.filter((gpu) => gpu % 2 === 1);
    default:
      return numbersOf(selector).filter((gpu) => gpu < count);
  }
}

/** An event as typed by hand: `hang 2`, `ambient 40`, `ecc 2 ue 1`. Throws SIMULATION_EVENT_INVALID saying what is allowed. */
export function parseEvent(name: string, args: readonly (string | number)[], gpus: number): SimEvent {
  if (!Object.hasOwn(EVENTS, name)) {
    const meant = closest(name, Object.keys(EVENTS));
    const hint = `${meant ? `Did you mean ${meant}? ` : ''}There are ${Object.keys(EVENTS).join(', ')}.`;
    throw configurationError('SIMULATION_EVENT_INVALID', `there is no event "${name}"`, hint);
  }
  const schema = EVENTS[name as EventName];
  const keys = Object.keys(schema.shape);
  const usage = `Write ${name} ${keys.map((key) => key.toUpperCase()).join(' ')}; what stands last may be left out where it has a default.`;
  const fail = (why: string): never => {
    throw configurationError('SIMULATION_EVENT_INVALID', `${[name, ...args].join(' ')}: ${why}`, usage);
  };
  if (args.length > keys.length) fail(`at most ${keys.length} words after it`);
  const given = Object.fromEntries(args.map((arg, i) => [keys[i] as string, typed(arg)]));
  const result = schema.safeParse(given);
  if (!result.success) {
    const [issue] = result.error.issues;
    return fail(`${issue?.path.join('.').toUpperCase() || 'it'}: ${issue?.message}`);
  }
  const event = { event: name, ...result.data } as SimEvent;
  if ('gpus' in event) {
    const missing = numbersOf(event.gpus).find((gpu) => gpu >= gpus);
    if (missing !== undefined) fail(`there is no GPU ${missing}; this node has 0 to ${gpus - 1}`);
  }
  return event;
}

/** `2` is a number and `2,3` a list; `10m` stays a word. */
function typed(arg: string | number): unknown {
  if (typeof arg === 'number') return arg;
  if (/^-?\d+(\.\d+)?$/.test(arg)) return Number(arg);
  if (/^\d+(,\d+)+$/.test(arg)) return arg.split(',').map(Number);
  return arg;
}
