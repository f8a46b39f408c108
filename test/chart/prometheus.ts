/** A Prometheus of its own that scrapes what a test runs. Only for test files. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { startChild } from '../../dev/processes/child-process.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { freePort } from '../../src/postgres/ports.ts';
import { optionalBinary } from './optional-binary.ts';

const program = await optionalBinary('prometheus');

/** Why there is none; undefined if there is. */
export const LACKS_PROMETHEUS = program.lacks;

export interface Target {
  /** Of the server whose `/metrics` is read. */
  readonly url: string;
  /** What the Prometheus operator would add. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface Prometheus {
  /** The value of every series that the query finds now. @throws Error with what Prometheus says of it */
  query(expr: string): Promise<number[]>;
  /** What `label_values(selector, label)` of Grafana finds. */
  labelValues(selector: string, label: string): Promise<string[]>;
  /** What has become of each rule. */
  rules(): Promise<z.output<typeof rule>[]>;
  stop(): Promise<void>;
}

const answer = z.discriminatedUnion('status', [
  z.object({ status: z.literal('success'), data: z.unknown() }),
  z.object({ status: z.literal('error'), error: z.string() }),
]);
const vector = z.object({
  resultType: z.literal('vector'),
  result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })),
});
const rule = z.object({
  name: z.string(),
  health: z.string(),
  lastError: z.string().optional(),
  state: z.enum(['inactive', 'pending', 'firing']),
  labels: z.record(z.string(), z.string()),
});
const ruleGroups = z.object({ groups: z.array(z.object({ rules: z.array(rule) })) });

/** Starts one that scrapes the targets and evaluates the rules every second; returns when it is ready. */
export async function startPrometheus(targets: readonly Target[], ruleFile: string): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-prometheus-'));
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [ruleFile],
    scrape_configs: targets.map(({ url, labels }, index) => ({
      job_name: `target-${index}`,
      static_configs: [{ targets: [new URL(url).host], labels }],
    })),
  };
  await writeFile(join(folder, 'prometheus.yml'), stringify(config));
  const port = await freePort();
  const child = startChild({
    name: 'prometheus',
    command: program.path(),
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    logFile: join(folder, 'prometheus.log'),
    removeOnLoss: folder,
  });
  const base = `http://127.0.0.1:${port}`;
  await waitFor('Prometheus', async () => {
    if (child.exit()) throw new Error(child.logTail());
    return (await fetch(`${base}/-/ready`)).ok;
  });

  async function ask(path: string): Promise<unknown> {
    const parsed = answer.parse(await (await fetch(`${base}/api/v1/${path}`)).json());
    if (parsed.status === 'error') throw new Error(parsed.error);
    return parsed.data;
  }

  return {
    async query(expr) {
      const { result } = vector.parse(await ask(`query?${new URLSearchParams({ query: expr })}`));
      return result.map(({ value: [, value] }) => Number(value));
    },
    async labelValues(selector, label) {
      return z
        .array(z.string())
        .parse(await ask(`label/${label}/values?${new URLSearchParams({ 'match[]': selector })}`));
    },
    async rules() {
      return ruleGroups.parse(await ask('rules')).groups.flatMap(({ rules }) => rules);
    },
    async stop() {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
