/** Metrics follow Prometheus' conventions; alerts and dashboard query metrics and labels that the programs have. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { BinaryUnavailable, ensureBinaries } from '../../dev/control-plane/binaries.ts';
import { allMetrics, type Metric } from '../../dev/metrics-page.ts';
import { createMetrics } from '../../src/operator/metrics.ts';
import { startTestApi } from '../api/harness.ts';
import type { CommandResult } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { CHART, DATABASE, render } from './helm.ts';

const alerts = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
});
const dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});
const cases = z.object({
  tests: z.array(
    z.object({ alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })) }),
  ),
});

const file = (name: string) => readFile(join(CHART, 'files', name), 'utf8');
const { groups } = alerts.parse(parse(await file('alerts.yaml')));
const { panels } = dashboard.parse(JSON.parse(await file('dashboard.json')));
const rules = groups.flatMap((group) => group.rules);
const queries = [
  ...rules.map(({ alert, expr }) => ({ name: alert, expr })),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ name: title, expr }))),
];

const RULE_TESTS = ['api.yaml', 'operator.yaml'].map((name) => join(import.meta.dirname, 'alerts', name));

/** What Prometheus, Kubernetes and Grafana add to every series. */
const ADDED = ['job', 'namespace', 'pod', 'service', 'le'];

const metrics = allMetrics();
const ours = [...metrics.api, ...metrics.operator];
const seriesOf = ({ name, type }: Metric) =>
  type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name];
const known = new Map<string, readonly string[]>([
  ['up', []],
  ...[...ours, ...metrics.process].flatMap((metric) =>
    seriesOf(metric).map((name): [string, string[]] => [name, metric.labelNames]),
  ),
]);

const program = await ensureBinaries(['promtool']).catch((error: unknown) => {
  if (!(error instanceof BinaryUnavailable)) throw error;
  return error;
});
const LACKS_PROMTOOL = program instanceof BinaryUnavailable ? program.message : undefined;

/** Does not throw on failure: look at `code`. */
function promtool(args: readonly string[], input = ''): Promise<CommandResult> {
  if (program instanceof BinaryUnavailable) throw program;
  return new Promise((resolve) => {
    const child = execFile(program.promtool, args, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
    child.stdin?.end(input);
  });
}

describe('every metric', () => {
  test.each(metrics.api)('of the API begins with its prefix: $name', ({ name }) => {
    expect(name).toMatch(/^tunnel_api_/);
  });

  test.each(ours)('$name has a sentence as its help, and its unit in its name', ({ name, help, type }) => {
    expect(help).toMatch(/^[A-Z0-9].*\.$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    if (type === 'histogram' || /(^|_)(duration|time|seconds)(_|$)/.test(name))
      expect(name).toMatch(/_seconds(_total)?$/);
    if (/bytes/.test(name)) expect(name).toMatch(/_bytes(_total)?$/);
  });
});

describe('alerts and dashboard', () => {
  test.each(queries)('$name queries only existing metrics and labels', ({ expr }) => {
    const asked = [...expr.matchAll(/([a-z]\w*)\{(.*?)\}/g)];
    expect(asked.length).toBeGreaterThan(0);
    const labels: string[] = [];
    for (const [, name = '', matchers = ''] of asked) {
      const found = known.get(name);
      expect([...known.keys()]).toContain(name);
      labels.push(...(found ?? []));
      const matched = [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
      expect([...ADDED, ...(found ?? [])]).toEqual(expect.arrayContaining(matched));
    }
    const grouped = [...expr.matchAll(/by \((.*?)\)/g)].flatMap(([, names = '']) => names.split(/, */));
    expect([...ADDED, ...labels]).toEqual(expect.arrayContaining(grouped));
  });

  test.each(rules)('$alert has a test in which it fires, and one in which it does not', async ({ alert }) => {
    const all = await Promise.all(
      RULE_TESTS.map(async (path) => cases.parse(parse(await readFile(path, 'utf8'))).tests),
    );
    const about = all
      .flat()
      .flatMap((each) => each.alert_rule_test)
      .filter(({ alertname }) => alertname === alert);
    expect(new Set(about.map(({ exp_alerts }) => exp_alerts.length > 0))).toEqual(new Set([true, false]));
  });
});

describe('promtool', skipFor(LACKS_PROMTOOL), () => {
  test.each(RULE_TESTS)('finds that alerts fire exactly when they should: %s', async (path) => {
    expect(await promtool(['test', 'rules', path])).toMatchObject({ code: 0, stderr: '' });
  });

  test('accepts the rules that the chart renders', async () => {
    const [rule] = await render(
      { ...DATABASE, prometheusRule: { enabled: true, runbookUrl: 'https://wiki.example.com/runbooks#' } },
      { only: ['monitoring/prometheusrule.yaml'] },
    );
    expect(alerts.parse(rule?.spec).groups).toEqual(groups);
    const checked = await promtool(['check', 'rules', '--lint=all', '--lint-fatal'], stringify(rule?.spec));
    expect(checked, checked.stderr).toMatchObject({ code: 0 });
  });

  test('accepts the rules for only one program, without a runbook URL', async () => {
    const [rule] = await render(
      { ...DATABASE, operator: { enabled: false }, prometheusRule: { enabled: true } },
      { only: ['monitoring/prometheusrule.yaml'] },
    );
    expect(alerts.parse(rule?.spec).groups).toHaveLength(1);
    expect(JSON.stringify(rule)).not.toContain('runbook_url');
    expect(await promtool(['check', 'rules'], stringify(rule?.spec))).toMatchObject({ code: 0 });
  });

  test('finds no breach of a convention in our own metrics', async () => {
    const api = await startTestApi();
    const { body } = await api.app.inject({ url: '/metrics' });
    const found = await Promise.all([body, await createMetrics().registry.metrics()].map((text) => lint(text)));
    expect(found.flat()).toEqual([]);
  });
});

async function lint(text: string): Promise<string[]> {
  const { stdout, stderr } = await promtool(['check', 'metrics'], text);
  const names = new Set(ours.map(({ name }) => name));
  return `${stdout}${stderr}`.split('\n').filter((line) => names.has(line.split(' ')[0] ?? ''));
}
