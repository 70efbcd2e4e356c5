import { readdirSync, readFileSync } from 'node:fs';
import { execa } from 'execa';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ALERTS, isAlert, shippedRules } from '../support/alert-rules.ts';
import { hasProgram } from '../support/programs.ts';
import { skipUnless } from '../support/skips.ts';

beforeEach(() => skipUnless(hasProgram('promtool'), 'promtool is not installed'));

const TESTS = readdirSync(`${ALERTS}tests`).filter((name) => name.endsWith('.test.yaml'));
const promtool = (...args: string[]) => execa('promtool', args, { cwd: ALERTS, reject: false, all: true });

it('promtool’s lint has no remark about the rules', async () => {
  const { exitCode, all } = await promtool('check', 'rules', '--lint=all', '--lint-fatal', 'nightshift.rules.yaml');
  expect({ exitCode, all }).toMatchObject({ exitCode: 0, all: expect.stringContaining('rules found') });
  expect(all).toContain(`${shippedRules().length} rules found`);
});

it('promtool takes the configuration of Prometheus, with the rules that it names', async () => {
  const { exitCode, all } = await promtool('check', 'config', 'prometheus.yml');
  expect(exitCode, all).toBe(0);
  expect(all).toContain('1 rule files found');
});

it.each(TESTS)('the rules do what tests/%s says', async (name) => {
  const { exitCode, all } = await promtool('test', 'rules', `tests/${name}`);
  expect(exitCode, all).toBe(0);
});

describe('the tests', () => {
  interface Expectation {
    alertname?: string;
    expr?: string;
    exp_alerts?: unknown[];
    exp_samples?: { labels?: string }[];
  }
  const expectations = TESTS.flatMap((name) => {
    const { tests } = parse(readFileSync(`${ALERTS}tests/${name}`, 'utf8')) as {
      tests: { alert_rule_test?: Expectation[]; promql_expr_test?: Expectation[] }[];
    };
    return tests.flatMap(({ alert_rule_test = [], promql_expr_test = [] }) => [
      ...alert_rule_test,
      ...promql_expr_test,
    ]);
  });

  it.each(
    shippedRules()
      .filter(isAlert)
      .map(({ alert }) => alert),
  )('see %s fire, and hold its words', (alert) => {
    const fired = expectations
      .flatMap(({ exp_samples = [] }) => exp_samples)
      .filter(({ labels = '' }) => {
        return labels.includes(`"${alert}"`) && labels.includes('alertstate="firing"');
      });
    expect(fired).not.toEqual([]);
    expect(
      expectations.filter(({ alertname, exp_alerts = [] }) => alertname === alert && exp_alerts.length > 0),
    ).toHaveLength(1);
  });

  it('expect silence often enough to notice noise', () => {
    const silence = expectations.filter(
      ({ expr = '', exp_samples }) => expr.includes('ALERTS') && exp_samples?.length === 0,
    );
    expect(silence.length).toBeGreaterThan(10);
  });
});
