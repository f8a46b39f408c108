/** Metrics follow Prometheus' conventions; alerts and dashboard query metrics and labels that the programs have. */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { BinaryUnavailable, ensureBinaries } from '../../dev/control-plane/binaries.ts';
import { allMetrics, type Metric } from '../../dev/metrics-page.ts';
import { createMetrics } from '../../src/operator/metrics.ts';
import { startTestApi } from '../api/harness.ts';
import type { CommandResult } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { CHART, DATABASE, helm, render } from './helm.ts';

const alerts = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          for: z.string(),
          labels: z.object({ severity: z.string() }),
          annotations: z.object({ summary: z.string(), runbook_url: z.string().optional() }),
        }),
      ),
    }),
  ),
});
const dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});
const cases = z.object({
  tests: z.array(
    z.object({ alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })) }),
  ),
});

/** The rules as the chart renders them. */
async function rendered(prometheusRule: object = {}, others: object = {}) {
  const values = { ...DATABASE, ...others, prometheusRule: { enabled: true, ...prometheusRule } };
  const [rule] = await render(values, { only: ['monitoring/prometheusrule.yaml'] });
  return { text: stringify(rule?.spec), ...alerts.parse(rule?.spec) };
}

const { text: RULES, groups } = await rendered();
const { panels } = dashboard.parse(JSON.parse(await readFile(join(CHART, 'files/dashboard.json'), 'utf8')));
const rules = groups.flatMap((group) => group.rules);
const queries = [
  ...rules.map(({ alert, expr }) => ({ name: alert, expr })),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ name: title, expr }))),
];

const RULE_TESTS = ['api.yaml', 'operator.yaml'].map((name) => join(import.meta.dirname, 'alerts', name));

/** Where the rule tests find the rules. */
const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-rules-'));
afterAll(() => rm(folder, { recursive: true }));
await writeFile(join(folder, 'rules.yaml'), RULES);

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

describe('each alert', async () => {
  const written = z.object({
    groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
  });
  const file = written.parse(parse(await readFile(join(CHART, 'files/alerts.yaml'), 'utf8')));
  const all = file.groups.flatMap((group) => group.rules);
  const runbooks = await readFile(join(CHART, '../../docs/runbooks.md'), 'utf8');
  const takesThreshold = ({ expr }: { expr: string }) => expr.includes('$threshold');
  const changes = all.map((rule) => {
    const threshold = takesThreshold(rule) ? { threshold: 4242.5 } : {};
    return [rule.alert, { for: '42m', severity: 'page', ...threshold }];
  });
  const changed = await rendered({ alerts: Object.fromEntries(changes) });

  test.each(all)(
    '$alert takes a time, a severity, and a threshold if it compares with one, and has a runbook',
    (rule) => {
      const [found] = changed.groups.flatMap((group) => group.rules).filter(({ alert }) => alert === rule.alert);
      expect(found).toMatchObject({ for: '42m', labels: { severity: 'page' } });
      expect(found?.expr).toBe(rule.expr.replace('$threshold', '4242.5'));
      expect(runbooks).toMatch(new RegExp(`^## ${rule.alert}$`, 'm'));
    },
  );

  test('can be switched off, even all of one program', async () => {
    const off = all.map(({ alert }) => [alert, { enabled: alert === 'TunnelApiDown' }]);
    const { groups } = await rendered({ alerts: Object.fromEntries(off) });
    expect(groups).toMatchObject([{ rules: [{ alert: 'TunnelApiDown' }] }]);
  });

  test('is refused with a value that it does not take', async () => {
    const bad = {
      TunnelApiSlow: { threshold: 'x' },
      TunnelApiDown: { threshold: 1 },
      TunnelApiErrors: { threshold: null },
      TunnelApiNotReady: { for: '5' },
      TunnelApiRefusesRequests: { enable: false },
      TunnelApiDwon: { enabled: false },
    };
    const { stderr } = await helm(['template', 'it', CHART], { ...DATABASE, prometheusRule: { alerts: bad } });
    for (const name of Object.keys(bad)) expect(stderr).toContain(name);
  });
});

describe('promtool', skipFor(LACKS_PROMTOOL), () => {
  test.each(RULE_TESTS)('finds that alerts fire exactly when they should: %s', async (path) => {
    const copy = join(folder, basename(path));
    await copyFile(path, copy);
    expect(await promtool(['test', 'rules', copy])).toMatchObject({ code: 0, stderr: '' });
  });

  test('accepts the rules that the chart renders', async () => {
    const { text } = await rendered({ runbookUrl: 'https://wiki.example.com/runbooks#' });
    const checked = await promtool(['check', 'rules', '--lint=all', '--lint-fatal'], text);
    expect(checked, checked.stderr).toMatchObject({ code: 0 });
  });

  test('accepts the rules for only one program, without a runbook URL', async () => {
    const one = await rendered({}, { operator: { enabled: false } });
    expect(one.groups).toHaveLength(1);
    expect(one.text).not.toContain('runbook_url');
    expect(await promtool(['check', 'rules'], one.text)).toMatchObject({ code: 0 });
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
