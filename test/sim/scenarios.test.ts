import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MODELS } from '../../sim/models.ts';
import { ScenarioRun, sum } from '../../sim/scenario/run.ts';
import { loadScenario, parseScenario, scenarioNames } from '../../sim/scenario.ts';
import { type Lab, lab, liveFor } from './living.ts';

const SPEED = 600;
/** Lets a node live through a scenario that comes with the program. */
const through = (scenario: string, model: 'mi210' | 'mi300x', cards: number, speed = SPEED): Lab =>
  lab({ node: { model, cards }, scenario, speed, hz: 10 });
const at = (node: Lab, minutes: number) => node.seconds().findLast(({ t }) => t <= minutes * 60);
const max = (values: readonly (number | undefined)[]): number => Math.max(...values.map((value) => value ?? 0));

describe('the scenarios that come with the program', () => {
  it('are these, and each is about something that its test shows', () => {
    const tested = readFileSync(import.meta.filename, 'utf8');
    expect(scenarioNames()).toEqual(
      [
        ...[
          'blocked-cooler',
          'day-and-night',
          'ecc-storm',
          'fabric-saturated',
          'foreign-hand',
          'full-card',
          'hot-card',
          'hot-room',
          'hung-card',
        ],
        ...['look-alikes', 'night-shift', 'quiet-night', 'reset', 'self-test', 'vram-filling'],
      ].sort(),
    );
    for (const name of scenarioNames()) expect(tested, name).toContain(`it('${name}: `);
  });

  it.each([1, 2, 3, 8, 16])('fit a node of %i GPUs', (gpus) => {
    for (const name of scenarioNames()) expect(loadScenario(name, gpus).load.length).toBeGreaterThan(0);
  });

  it('quiet-night: no GPU is busy for longer than an answer takes, and all hold their memory', () => {
    const node = lab({ node: { model: 'mi210', cards: 2 }, scenario: 'quiet-night', speed: 10 });
    liveFor(node, 10, 3600);
    expect(max(node.seconds().flatMap(({ busy }) => busy))).toBeLessThan(0.06);
    expect(node.seconds().at(-1)?.vram[0]).toBeGreaterThan(0.4 * MODELS.mi210.vram);
    expect(node.events('burst start').length).toBeGreaterThan(1);
    expect(node.seconds().at(-1)?.junction[0]).toBeLessThan(50);
  });

  it('night-shift: bursts of 30 to 50 % come between 23:00 and 03:00 alone, also on GPUs held at 100 %', () => {
    const node = through('night-shift', 'mi300x', 2, 60);
    liveFor(node, 60, 4.5 * 3600);
    const bursts = node.events('burst start') as unknown as {
      time: string;
      gpu: number;
      amount: { busy: number; vram: number };
    }[];
    for (const gpu of [0, 1]) expect(bursts.filter((burst) => burst.gpu === gpu).length).toBeGreaterThan(100);
    for (const { time, amount } of bursts) {
      expect(time.slice(11, 16) >= '23:00' || time.slice(11, 16) < '03:00', time).toBe(true);
      expect(amount.busy).toBeGreaterThanOrEqual(0.3);
      expect(amount.busy).toBeLessThanOrEqual(0.5);
    }
    // What cannot be seen in the load of a GPU that is full can be seen in its memory.
    const night = node.seconds().filter(({ time }) => time.slice(11, 16) >= '23:00');
    expect(night.every(({ busy }) => (busy[0] ?? 0) > 0.99)).toBe(true);
    expect(new Set(night.map(({ vram }) => vram[0])).size).toBeGreaterThan(10);
    expect(max(night.map(({ busy }) => busy[1]))).toBeGreaterThan(0.3);
    const day = node.seconds().filter(({ time }) => time.slice(11, 13) === '03');
    expect(max(day.map(({ busy }) => busy[1]))).toBeLessThan(0.06);
  }, 60_000);

  it('hot-card: one GPU passes the thresholds of the shipped rules and is cool again, while another at full load stays below', () => {
    const node = lab({ node: { model: 'mi300x', cards: 4 }, scenario: 'hot-card', speed: 10, hz: 10 });
    liveFor(node, 10, 700);
    const hottest = (gpu: number): number => max(node.seconds().map(({ junction }) => junction[gpu]));
    expect(hottest(0)).toBeGreaterThan(95);
    expect(hottest(2)).toBeLessThan(85);
    expect(node.seconds().at(-1)?.junction[0]).toBeLessThan(85);
  }, 60_000);

  it('hot-room: the junction crosses 85 °C and its residency grows, until the room is cool again', () => {
    const node = through('hot-room', 'mi300x', 4);
    const residency = (): number => node.node.gpus.reduce((total, gpu) => total + gpu.counters.socketThermal, 0);
    liveFor(node, SPEED, 600);
    const before = residency();
    expect(max(at(node, 10)?.junction ?? [])).toBeLessThan(85);
    liveFor(node, SPEED, 3600);
    expect(max(at(node, 60)?.junction ?? [])).toBeGreaterThan(85);
    expect(residency()).toBeGreaterThan(before);
    liveFor(node, SPEED, 2700);
    expect(max(at(node, 114)?.junction ?? [])).toBeLessThan(85);
    expect(node.seconds().at(-1)?.ambient).toBeLessThan(25);
  }, 60_000);

  it('blocked-cooler: the first GPU gets hot, and its neighbours stay as they are', () => {
    const node = through('blocked-cooler', 'mi210', 3);
    liveFor(node, SPEED, 58 * 60);
    const rise = (gpu: number): number => (at(node, 39)?.junction[gpu] ?? 0) - (at(node, 9)?.junction[gpu] ?? 0);
    expect(rise(0)).toBeGreaterThan(20);
    expect(Math.abs(rise(2))).toBeLessThan(4);
    expect(at(node, 57)?.junction[0]).toBeLessThan((at(node, 39)?.junction[0] ?? 0) - 20);
  }, 60_000);

  it('vram-filling: the leak and the last job both reach into the last tenth of the memory', () => {
    const node = through('vram-filling', 'mi210', 2);
    const share = (minutes: number, gpu: number): number => (at(node, minutes)?.vram[gpu] ?? 0) / MODELS.mi210.vram;
    liveFor(node, SPEED, 119 * 60);
    expect([share(10, 0), share(30, 0), share(50, 0)].map((value) => Number(value.toFixed(1)))).toEqual([
      0.3, 0.5, 0.8,
    ]);
    expect(share(70, 0)).toBeGreaterThan(0.9);
    expect(share(30, 1)).toBeLessThan(share(60, 1));
    expect(share(60, 1)).toBeLessThan(0.9);
    expect(share(92, 1)).toBeGreaterThan(0.9);
    expect(share(110, 0)).toBeLessThan(0.3);
  }, 60_000);

  it('fabric-saturated: the links carry next to all that they can, and then little, in turn', () => {
    const node = lab({ node: { model: 'mi300x', cards: 2 }, scenario: 'fabric-saturated' });
    const rates: number[] = [];
    for (let second = 0, last = sent(); second < 120; second++) {
      node.clock.advance(1000);
      rates.push(((sent() - last) * 1024) / (((32 * 16) / 8) * 1e9));
      last = sent();
    }
    function sent(): number {
      return node.node.gpus[0]?.counters.xgmiWrite[0] ?? 0;
    }
    expect(max(rates)).toBeGreaterThan(0.9);
    expect(Math.min(...rates)).toBeLessThan(0.15);
    expect(node.events('communicate start').length).toBeGreaterThanOrEqual(2);
  });

  it('ecc-storm: error counts of the last GPU rise in its ras files, and pages are retired', () => {
    const node = through('ecc-storm', 'mi300x', 2);
    const count = (name: string): number =>
      Number(new RegExp(`${name}: (\\d+)`).exec(node.read(1, 'ras/umc_err_count'))?.[1]);
    const start = count('ce');
    liveFor(node, SPEED, 18 * 60);
    const half = count('ce');
    // The file is looked at once in a second of its readers, which is ten minutes here.
    expect(half).toBeGreaterThan(start + 400);
    expect(half).toBeLessThan(start + 1600);
    expect(count('ue')).toBe(0);
    liveFor(node, SPEED, 30 * 60);
    expect(count('ce')).toBe(start + 3000);
    expect(count('ue')).toBe(5);
    expect(node.read(1, 'ras/gpu_vram_bad_pages').split('\n')).toHaveLength(5);
    expect(node.read(0, 'ras/gpu_vram_bad_pages')).toBe('');
  }, 60_000);

  it('hung-card: the last GPU answers nothing for ten minutes, and then works again', () => {
    const node = through('hung-card', 'mi210', 4);
    liveFor(node, SPEED, 8 * 60);
    expect(node.read(3, 'hwmon/temp2_input')).toBe('');
    expect(node.read(2, 'hwmon/temp2_input')).not.toBe('');
    liveFor(node, SPEED, 10 * 60);
    expect(node.number(3, 'hwmon/temp2_input')).toBeGreaterThan(30_000);
    expect(node.number(3, 'gpu_busy_percent')).toBeGreaterThan(80);
    const health = node.seconds().map((second) => second.health[3]);
    expect([...new Set(health)]).toEqual(expect.arrayContaining(['ok', 'hung']));
  }, 60_000);

  it('full-card: inference goes to the CPU where a job fills the memory, and comes back when the job has saved and ended', () => {
    const node = through('full-card', 'mi210', 2, 60);
    liveFor(node, 60, 25 * 60);
    const p99 = (minutes: number, gpu: number) => at(node, minutes)?.inference?.[gpu]?.p99 ?? Number.NaN;
    const backend = (minutes: number) => at(node, minutes)?.inference?.map((server) => server.backend);
    expect(backend(5)).toEqual(['gpu', 'gpu']);
    expect(p99(5, 0)).toBeLessThan(0.09);
    expect(backend(19)).toEqual(['cpu', 'gpu']);
    expect(p99(19, 0)).toBeGreaterThan(1.8);
    expect(p99(19, 0)).toBeLessThan(2.6);
    expect(p99(19, 1)).toBeLessThan(0.09);
    const [end] = node.events('job end') as unknown as { t: number; code: number; gpu: number }[];
    expect(end).toMatchObject({ code: 0, gpu: 0 });
    // It saved first: 85 % of 64 GB at 5 GB/s.
    expect((end?.t ?? 0) - 20 * 60).toBeGreaterThan(10);
    expect((end?.t ?? 0) - 20 * 60).toBeLessThan(16);
    expect(backend(25)).toEqual(['gpu', 'gpu']);
    // It saves several times before, and exchanges gradients: the clock of the load shows both.
    expect(node.events('checkpoint start').length).toBeGreaterThan(3);
    expect(
      Math.min(
        ...node
          .seconds()
          .filter(({ t }) => t > 60 && t < 1100)
          .map(({ busy }) => busy[0] ?? 1),
      ),
    ).toBeLessThan(0.5);
  }, 60_000);

  it('reset: the cap that was set is lost, counters begin anew, and the jobs go on', () => {
    const node = through('reset', 'mi210', 2);
    liveFor(node, SPEED, 6 * 60);
    expect(node.number(0, 'hwmon/power1_cap')).toBe(220e6);
    expect(node.number(0, 'hwmon/power1_average')).toBeLessThan(225e6);
    const ticks = node.node.gpus[0]?.counters.ticks ?? 0;
    liveFor(node, SPEED, 6 * 60);
    expect(node.number(0, 'hwmon/power1_cap')).toBe(300e6);
    expect(node.node.gpus[0]?.counters.ticks).toBeLessThan(ticks / 1000);
    expect(node.number(0, 'gpu_busy_percent')).toBe(100);
  }, 60_000);

  it('foreign-hand: caps appear that nobody here has set, and power follows', () => {
    const node = through('foreign-hand', 'mi210', 2);
    const caps: string[] = [];
    for (const minutes of [4, 6, 10, 15]) {
      liveFor(node, SPEED, minutes * 60);
      caps.push([0, 1].map((gpu) => node.number(gpu, 'hwmon/power1_cap') / 1e6).join());
    }
    expect(caps).toEqual(['300,300', '250,250', '200,250', '280,280']);
    expect(at(node, 18)?.power[0]).toBeLessThan(205);
    expect(at(node, 3)?.power[0]).toBeGreaterThan(280);
  }, 60_000);

  it('look-alikes: dips and gaps are there and named, and no burst is', () => {
    const node = lab({ node: { model: 'mi210', cards: 2 }, scenario: 'look-alikes', speed: 20 });
    liveFor(node, 20, 25 * 60);
    expect(node.events('checkpoint start').map((line) => 'gpu' in line && line.gpu)).toEqual([0, 0]);
    expect(node.events('gap start').length).toBeGreaterThan(3);
    expect(node.events('burst start')).toEqual([]);
    const busy = node.seconds().map((second) => second.busy[0] ?? 0);
    expect(Math.min(...busy)).toBeLessThan(0.1);
    expect(busy.filter((value) => value < 0.5).length / busy.length).toBeLessThan(0.05);
  }, 60_000);

  it('self-test: forty minutes at the limit twice a night, and nothing else', () => {
    const node = through('self-test', 'mi210', 1);
    liveFor(node, SPEED, 6 * 3600);
    const busy = node.seconds().filter((second) => (second.busy[0] ?? 0) > 0.9);
    const hours = [...new Set(busy.map(({ time }) => time.slice(11, 13)))];
    expect(hours).toEqual(['01', '04', '05']);
    const minutes = (busy.length / node.seconds().length) * 360;
    expect(minutes).toBeGreaterThan(76);
    expect(minutes).toBeLessThan(84);
  }, 60_000);

  it('day-and-night: inference follows the day, the night is for batch work, and the room is warmest in the afternoon', () => {
    const node = lab({ node: { model: 'mi210', cards: 2 }, scenario: 'day-and-night', speed: 1800 });
    liveFor(node, 1800, 23.5 * 3600);
    const mean = (gpu: number, from: string, until: string): number => {
      const found = node.seconds().filter(({ time }) => time.slice(11, 16) >= from && time.slice(11, 16) < until);
      return found.reduce((total, second) => total + (second.busy[gpu] ?? 0), 0) / found.length;
    };
    expect(mean(1, '14:00', '16:00')).toBeGreaterThan(0.5);
    expect(mean(1, '02:00', '05:00')).toBeLessThan(0.2);
    expect(mean(0, '02:00', '05:00')).toBeGreaterThan(0.85);
    const ambient = (time: string): number =>
      node.seconds().find((second) => second.time.slice(11, 16) >= time)?.ambient ?? 0;
    expect(ambient('17:00')).toBeGreaterThan(27);
    expect(ambient('07:00')).toBeLessThan(24);
  }, 60_000);
});

describe('a scenario in time', () => {
  const text = (body: string): string => `description: test\nduration: 10m\n${body}\n`;

  it('begins anew at its end, with its events', () => {
    const scenario = parseScenario(text('timeline:\n  - { at: 1m, event: hang, gpus: 0 }'), 'a.yaml', 1);
    const run = new ScenarioRun(scenario, 1, 1);
    const heard: number[] = [];
    for (let minute = 1; minute <= 25; minute++) {
      const { events, restarted } = run.advance(60);
      if (events.length > 0) heard.push(minute);
      expect(restarted).toBe(minute % 10 === 0);
    }
    expect(heard).toEqual([1, 11, 21]);
  });

  it('puts the room and all cards right when it begins anew', () => {
    const node = lab({
      node: { model: 'mi210', cards: 2 },
      speed: 60,
      scenario: text('timeline:\n  - { at: 1m, event: vanish, gpus: 0 }\n  - { at: 2m, event: ambient, celsius: 40 }'),
    });
    liveFor(node, 60, 300);
    expect(existsSync(join(node.dir, node.path(0, 'vendor')))).toBe(false);
    liveFor(node, 60, 330);
    expect(existsSync(join(node.dir, node.path(0, 'vendor')))).toBe(true);
    expect(node.seconds().at(-1)).toMatchObject({ ambient: 24, health: ['ok', 'ok'] });
  });

  it('adds loads up, and no GPU does more than it can', () => {
    expect(
      sum([
        { busy: 0.7, vram: 0.5 },
        { busy: 0.6, vram: 0.2, memory: 0 },
      ]),
    ).toMatchObject({ busy: 1, vram: 0.7 });
    expect(sum([{ busy: 0.4 }]).memory).toBeCloseTo(0.22);
    expect(sum([])).toEqual({ busy: 0, memory: 0, vram: 0, fabric: 0, pcie: 0, video: 0 });
  });

  it('draws other bursts for each GPU, layer and seed, and the same for the same', () => {
    const body = 'load:\n  - { curve: bursts, every: [5s, 30s], lasts: [1s, 9s], busy: [0.3, 0.5] }';
    const edges = (seed: number, gpu: number): string => {
      const run = new ScenarioRun(parseScenario(text(body), 'a.yaml', 2), 2, seed);
      const found: string[] = [];
      for (let second = 0; second < 500; second++) {
        run.advance(1);
        for (const edge of run.demands().edges) if (edge.gpu === gpu) found.push(`${second} ${edge.phase}`);
      }
      return found.join();
    };
    expect(edges(1, 0)).toBe(edges(1, 0));
    expect(edges(1, 0)).not.toBe(edges(1, 1));
    expect(edges(1, 0)).not.toBe(edges(2, 0));
  });
});

describe('what is wrong with a scenario', () => {
  it.each([
    ['descripton: x\nduration: 1m\n', /s\.yaml:1:1: unknown key "descripton", did you mean "description"\?/],
    ['description: x\n', /s\.yaml:1:1: duration is missing/],
    ['description: x\nduration: 10\n', /s\.yaml:2:11: duration must be a text, not 10/],
    ['description: x\nduration: soon\n', /s\.yaml:2:11: duration is no duration: "soon" is not a duration/],
    [
      'description: x\nduration: 1m\nload:\n  - curve: wavy\n',
      /s\.yaml:4:12: load\.0\.curve must be one of steady, steps, ramp/,
    ],
    [
      'description: x\nduration: 1m\nload:\n  - { curve: steady, buzy: 1 }\n',
      /s\.yaml:4:22: unknown key "load\.0\.buzy", did you mean "busy"\?/,
    ],
    [
      'description: x\nduration: 1m\nload:\n  - { curve: steady, busy: 2 }\n',
      /s\.yaml:4:28: load\.0\.busy must be at most 1/,
    ],
    [
      'description: x\nduration: 1m\nload:\n  - { curve: steady, busy: 1, from: "25:00", until: "26:00" }\n',
      /from must be a time of day like "23:00"/,
    ],
    [
      'description: x\nduration: 1m\nload:\n  - { curve: steady, busy: 1, from: "23:00" }\n',
      /load\.0 needs both from and until/,
    ],
    [
      'description: x\nduration: 1m\ntimeline:\n  - { at: 5s, event: explode }\n',
      /s\.yaml:4:22: timeline\.0\.event must be one of load, ambient, block/,
    ],
    [
      'description: x\nduration: 1m\ntimeline:\n  - { at: 5s, event: hang, gpu: 1 }\n',
      /unknown key "timeline\.0\.gpu", did you mean "gpus"\?/,
    ],
    [
      'description: x\nduration: 1m\ntimeline:\n  - { at: 5s, event: hang, gpus: 4 }\n',
      /s\.yaml:4:34: timeline\.0\.gpus names GPU 4; the node has 0 to 3/,
    ],
    [
      'description: x\nduration: 1m\ntimeline:\n  - { at: 2m, event: hang, gpus: 0 }\n',
      /timeline\.0\.at comes after the end/,
    ],
    [
      'description: x\nduration: 1m\nload:\n  - curve: steps\n    points: [{ at: 5s, busy: 1 }, { at: 5s, busy: 0 }]\n',
      /points\.1\.at must be later/,
    ],
    ['description: x\nduration: [1m\n', /s\.yaml:\d+:\d+: /],
  ])('%j is told with file, line and column', (text, message) => {
    const error = (() => {
      try {
        return parseScenario(text, 's.yaml', 4);
      } catch (thrown) {
        return thrown as {
          code: string;
          problems: { message: string; at: { file: string; line: number; column: number } }[];
        };
      }
    })();
    expect(error).toMatchObject({ code: 'SCENARIO_INVALID' });
    const told =
      'problems' in error
        ? error.problems.map(({ at, message }) => `${at.file}:${at.line}:${at.column}: ${message}`)
        : [];
    expect(told.join('\n')).toMatch(message);
  });

  it('is told all at once', () => {
    const text = 'description: x\nduration: 1m\nload:\n  - { curve: steady, busy: 2, vram: -1 }\n  - { curve: wavy }\n';
    expect(() => parseScenario(text, 's.yaml', 4)).toThrow(
      expect.objectContaining({
        problems: [expect.anything(), expect.anything(), expect.anything()],
      }) as unknown as Error,
    );
  });

  it('names the nearest that there is', () => {
    expect(() => loadScenario('hot-rom', 4)).toThrow(
      expect.objectContaining({
        code: 'SCENARIO_UNKNOWN',
        hint: expect.stringContaining('Did you mean hot-room?'),
      }) as unknown as Error,
    );
    expect(() => loadScenario('./no-such.yaml', 4)).toThrow(/no-such\.yaml cannot be read \(ENOENT\)/);
  });

  it('has no example that is not one: each file here is read', () => {
    const files = readdirSync(join(import.meta.dirname, '../../sim/scenarios'));
    expect(files.map((file) => file.replace('.yaml', '')).sort()).toEqual(scenarioNames());
  });
});
