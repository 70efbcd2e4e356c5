import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ALERTS, isAlert, shippedRules } from '../support/alert-rules.ts';
import { hasProgram } from '../support/programs.ts';
import { skipUnless } from '../support/skips.ts';

const FILE = `${ALERTS}alertmanager.yml`;
const alerts = shippedRules().filter(isAlert);
const needsAmtool = () => skipUnless(hasProgram('amtool'), 'amtool is not installed');

interface Inhibition {
  source_matchers: string[];
  target_matchers: string[];
  equal: string[];
}
const { inhibit_rules: inhibitions } = parse(readFileSync(FILE, 'utf8')) as { inhibit_rules: Inhibition[] };

describe('alertmanager.yml', () => {
  beforeEach(needsAmtool);

  it('is content for amtool', async () => {
    const { exitCode, all } = await execa('amtool', ['check-config', FILE], { reject: false, all: true });
    expect(exitCode, all).toBe(0);
    expect(all).toContain('2 receivers');
  });

  it('is so too with the line that has it show a token', async () => {
    const text = readFileSync(FILE, 'utf8').replace('# authorization:', 'authorization:');
    expect(parse(text).receivers[1].webhook_configs[0].http_config.authorization.credentials_file).toMatch(/^\//);
    const dir = mkdtempSync(join(tmpdir(), 'nightshift-routes-'));
    writeFileSync(join(dir, 'alertmanager.yml'), text);
    const { exitCode, all } = await execa('amtool', ['check-config', join(dir, 'alertmanager.yml')], {
      reject: false,
      all: true,
    });
    rmSync(dir, { recursive: true });
    expect(exitCode, all).toBe(0);
  });

  it.each([
    ...alerts.map(({ alert, labels }) => ({
      title: alert,
      labels: { alertname: alert, node: 'a', ...labels },
      receivers: labels.actuate === 'true' ? 'nightshift,people' : 'people',
    })),
    { title: 'an alert of somebody else', labels: { alertname: 'NodeDown' }, receivers: 'people' },
    {
      title: 'somebody else’s for the actuator',
      labels: { alertname: 'X', actuate: 'true' },
      receivers: 'nightshift,people',
    },
    { title: 'one that says it is not', labels: { alertname: 'X', actuate: 'false' }, receivers: 'people' },
  ])('brings $title to $receivers', async ({ labels, receivers }) => {
    const said = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    const args = ['config', 'routes', 'test', `--config.file=${FILE}`, `--verify.receivers=${receivers}`, ...said];
    const { exitCode, all } = await execa('amtool', args, { reject: false, all: true });
    expect(exitCode, all).toBe(0);
  });
});

describe('inhibition', () => {
  /** The alerts that matchers of our own form mean. */
  const meant = (matchers: readonly string[]): string[] => {
    const [, equals, names = ''] = /^alertname(=~?)"?([^"]*)"?$/.exec(matchers.join()) ?? [];
    return equals === '=~' ? names.split('|') : [names];
  };

  it('names alerts that exist, and none that mutes itself', () => {
    expect(inhibitions).toHaveLength(2);
    for (const { source_matchers, target_matchers } of inhibitions) {
      const [sources, targets] = [meant(source_matchers), meant(target_matchers)];
      for (const name of [...sources, ...targets]) expect(alerts.map(({ alert }) => alert)).toContain(name);
      expect(sources.filter((name) => targets.includes(name))).toEqual([]);
    }
  });

  it('of a card goes by its address, which an alert without one does not share', () => {
    const ofCards = inhibitions.filter(({ source_matchers }) => meant(source_matchers).includes('AmdGpuGone'));
    // A label that both sides lack counts as equal: heat always has an address, for it comes out of a join with one.
    expect(ofCards.map(({ equal }) => equal)).toEqual([['node', 'gpu', 'pci_address']]);
    for (const name of meant(ofCards[0]?.target_matchers ?? []))
      expect(alerts.find(({ alert }) => alert === name)?.expr).toContain('group_left (pci_address)');
  });

  it('goes by the node at the least', () => {
    for (const { equal } of inhibitions) expect(equal).toContain('node');
  });
});
