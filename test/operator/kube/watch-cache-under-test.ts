/** A watch cache of IPPolicies against a server that gives the answers of a test. Only for test files. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { WatchCache, type WatchCacheOptions } from '../../../src/operator/kube/watch-cache.ts';
import { type Answer, answering, json } from './answering.ts';

/** A page of a list. */
export const page = (version: number, items: KubeObject[], more?: string): Answer =>
  json({ metadata: { resourceVersion: String(version), continue: more }, items });
export const event = (type: string, of: unknown) => `${JSON.stringify({ type, object: of })}\n`;
export const bookmark = (version: number) => event('BOOKMARK', { metadata: { resourceVersion: String(version) } });
/** A watch that the server ends. */
export const ended =
  (...events: string[]): Answer =>
  (response) =>
    response.end(events.join(''));

export async function setUp(answers: Answer[], options: Partial<WatchCacheOptions> = {}) {
  const server = await answering(...answers);
  const lines: Record<string, unknown>[] = [];
  const registry = new Registry();
  const cache = new WatchCache(server.connect(), {
    type: { group: 'tunnel-operator.dev', version: 'v1alpha1', plural: 'ippolicies' },
    silenceMs: 60_000,
    log: pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) }),
    metrics: createKubeMetrics(registry, 'tests'),
    ...options,
  });
  onTestFinished(() => cache.stop());
  const changes: string[] = [];
  cache.addHandler({
    onChange: ({ type, object: { metadata } }, origin) =>
      void changes.push(`${origin}: ${type} ${metadata.name} ${metadata.resourceVersion}`),
  });
  /** The requests: `list` with the continue token, or `watch` with the version. */
  const asked = () =>
    server.asked.map(({ line }) => {
      const query = new URL(line.split(' ')[1] ?? '', server.url).searchParams;
      return query.has('watch')
        ? `watch ${query.get('resourceVersion')}`
        : `list ${query.get('continue') ?? ''}`.trim();
    });
  const activity = async (what: string) => {
    const start = `tests_watch_total{resource="ippolicies",activity="${what}"} `;
    const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(start));
    return Number(line?.slice(start.length) ?? 0);
  };
  const askedFor = (count: number) =>
    waitFor(`${count} requests`, () => server.asked.length >= count, { intervalMs: 5 });
  return { cache, server, lines, changes, asked, askedFor, activity };
}
