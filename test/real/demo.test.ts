import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ALERTMANAGER_PROGRAMS } from '../../cli/monitoring.ts';
import { childrenOf, type Daemon, daemon, freePort, isRunning, NIGHTSHIFT } from '../support/daemon.ts';
import { hasProgram } from '../support/programs.ts';
import { skipUnless } from '../support/skips.ts';
import { until } from '../support/until.ts';

/** Others may run one on this machine. */
const ANYWHERE = ['--web.listen-address=127.0.0.1:0', '--actuator.listen-address=127.0.0.1:0'];
const DEFAULT_W = 750;

interface Demo {
  running: Daemon;
  /** What is left of it is here. */
  place: string;
  /** W that GPU 0 is allowed. */
  cap(): number;
  ask(...args: string[]): Promise<string>;
}

function start(...args: string[]): Demo {
  const place = mkdtempSync(join(tmpdir(), 'demo-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  const running = daemon(['demo', ...args], ['env', `TMPDIR=${place}`, process.execPath, NIGHTSHIFT]);
  const told = (pattern: RegExp): string => pattern.exec(running.log())?.[1] ?? '';
  return {
    running,
    place,
    cap() {
      const node = told(/node +(\S+) \(sys/);
      const hwmon = join(node, 'sys/class/drm/card0/device/hwmon');
      return Number(readFileSync(join(hwmon, readdirSync(hwmon)[0] as string, 'power1_cap'), 'utf8')) / 1e6;
    },
    async ask(...words) {
      const ledger = told(/cases --ledger (\S+)/);
      return (await execa(process.execPath, [NIGHTSHIFT, ...words, `--ledger=${ledger}`], { reject: false })).stdout;
    },
  };
}

/** Stops as a person does, and sees that nothing is left. */
async function end({ running, place }: Demo): Promise<void> {
  const children = childrenOf(running.pid);
  expect(children.length).toBeGreaterThan(0);
  expect((await running.stop('SIGINT')).code).toBe(0);
  expect(readdirSync(place)).toEqual([]);
  await until('its children are gone', () => children.every((pid) => !isRunning(pid)));
}

describe('nightshift demo', () => {
  it('within a minute a hot card is limited and given back, and explain says why', async () => {
    const demo = start(...ANYWHERE);
    await demo.running.says('Ctrl-C');
    const since = performance.now();
    expect(demo.running.log()).toContain('No Prometheus here, so nobody sends alerts');
    await until('the card is limited', () => demo.cap() < DEFAULT_W, 60_000);
    const why = await until('explain tells', async () => {
      const text = await demo.ask('explain');
      return text.includes('hot-junction holds GPU 0') && text;
    });
    expect(why).toMatch(/limits +power cap ≤ \d+ W \(found 750 W/);
    expect(why).toMatch(/when +gpu\.temperature\.junction = /);
    expect(await demo.ask('cases')).toMatch(/^hot-junction +0 .*found 750 W/m);
    await until('it has its cap back', () => demo.cap() === DEFAULT_W, 60_000);
    expect(performance.now() - since).toBeLessThan(60_000);
    await until('its case is closed', async () => (await demo.ask('cases', '--all')).includes('released'));
    expect(await demo.ask('history', '--outcome=released')).toMatch(/released +release_condition +hot-junction/);
    await end(demo);
  }, 180_000);
});

describe('nightshift demo --with-prometheus', () => {
  const ports = async (): Promise<{ prometheus: string; flags: string[] }> => {
    const prometheus = `127.0.0.1:${await freePort()}`;
    const alertmanager = `127.0.0.1:${await freePort()}`;
    const flags = [`--prometheus.listen-address=${prometheus}`, `--alertmanager.listen-address=${alertmanager}`];
    return { prometheus, flags: ['--with-prometheus', ...flags, ...ANYWHERE] };
  };
  const skipWithout = (): void => {
    skipUnless(hasProgram('prometheus'), 'prometheus is not installed');
    skipUnless(hasProgram(...ALERTMANAGER_PROGRAMS), 'alertmanager is not installed');
  };

  it('the real ones scrape every second and tell the actuator, and go with all files at the end', async () => {
    skipWithout();
    const { prometheus, flags } = await ports();
    const demo = start(...flags);
    await demo.running.says('Ctrl-C');
    expect(demo.running.log()).toContain(`http://${prometheus}/graph?g0.expr=amdgpu_temperature_celsius`);
    const ask = async (query: string): Promise<{ metric: Record<string, string>; value: [number, string] }[]> => {
      const response = await fetch(`http://${prometheus}/api/v1/query?query=${encodeURIComponent(query)}`);
      return ((await response.json()) as { data: { result: [] } }).data.result;
    };
    await until('both are scraped', async () => (await ask('count_over_time(up[1m]) >= 8')).length === 2, 60_000);
    await until('all four are known', async () => (await ask('amdgpu_info{simulated="true"}')).length === 4);
    // Counters run in the time in which they are read, however fast the node lives.
    for (const { value } of await ask('rate(amdgpu_energy_joules_total[8s])')) {
      expect(Number(value[1])).toBeGreaterThan(50);
      expect(Number(value[1])).toBeLessThan(900);
    }
    // Where this machine is so busy that the first heat is over before its alert, there is a second one.
    const acted = await until(
      'the actuator acts',
      async () => {
        const text = await demo.ask('history', '--outcome=acted');
        return text.includes('hot-junction') && text;
      },
      200_000,
    );
    expect(acted).toMatch(/hot-junction +0 .*triggers=\["[0-9a-f]{16}@/);
    expect((await ask('ALERTS{alertname="AmdGpuJunctionHot",actuate="true"}'))[0]?.metric.gpu).toBe('0');
    await end(demo);
  }, 300_000);

  it.each([
    ['prometheus', /PROMETHEUS_FAILED: prometheus ended with 1: .*address already in use/],
    ['alertmanager', /ALERTMANAGER_FAILED: (?:prometheus-)?alertmanager ended with 1: .*address already in use/],
  ])(
    'says what is wrong where %s cannot start, and leaves nothing behind',
    async (program, message) => {
      skipWithout();
      const { flags } = await ports();
      const taken = await freePort();
      const other = daemon(['exporter', `--web.listen-address=127.0.0.1:${taken}`, '--path.sysfs=/sys']);
      await other.says('msg=listening');
      const demo = start(...flags, `--${program}.listen-address=127.0.0.1:${taken}`, '--cards=1');
      expect((await demo.running.ended).code).toBe(1);
      expect(demo.running.log()).toMatch(message);
      expect(readdirSync(demo.place)).toEqual([]);
    },
    90_000,
  );
});
