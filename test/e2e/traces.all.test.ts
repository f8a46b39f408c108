/** API and operator as processes that export traces: an apply is one trace. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as conventions from '@opentelemetry/semantic-conventions';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProgram, untilAnswering } from '../../dev/processes/program.ts';
import { migrate } from '../../src/api/store/migrate.ts';
import { freePort } from '../../src/postgres/ports.ts';
import { OperatorProcess } from '../crash/operator-process.ts';
import { cluster, createNamespace, createTestDatabase, installCrds, kubectl } from '../harness.ts';
import { type ReceivedSpan, type Receiver, startReceiver } from '../tracing/receiver.ts';
import { credential, policy } from './manifest.ts';
import { API_KEY, ENCRYPTION_KEY } from './stack.ts';

const COLLECTOR_KEY = 'a-key-of-the-collector';

/** Writes the URL of every OpenTelemetry module that is loaded to standard error. */
const WATCH_LOADING = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  registerHooks({
    load(url, context, next) {
      if (url.includes('@opentelemetry/')) writeSync(2, 'loaded ' + url + '\\n');
      return next(url, context);
    },
  });
`)}`;

let receiver: Receiver;
let folder: string;
let token = '';
let [traced, untraced, api] = ['', '', ''];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'traces-'));
  const [{ kubeconfigPath }, namespace, other, databaseUrl, port] = await Promise.all([
    cluster(),
    createNamespace('traces'),
    createNamespace('no-traces'),
    createTestDatabase({ name: 'template_api', prepare: async (url) => void (await migrate(url)) }),
    freePort(),
    installCrds(),
  ]);
  receiver = await startReceiver();
  const tracing = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${COLLECTOR_KEY}`,
  };
  const apiUrl = `http://127.0.0.1:${port}`;
  const server = startProgram(['api', '--port', String(port)], {
    name: 'api',
    folder,
    env: {
      ...tracing,
      LOG_FORMAT: 'json',
      DATABASE_URL: databaseUrl,
      ENCRYPTION_KEY,
      BOOTSTRAP_API_KEY: API_KEY,
      BASE_URL: apiUrl,
    },
  });

  /** Applies the manifests while an operator of this namespace runs; stops it and returns its log. */
  async function operate(namespace: string, env: NodeJS.ProcessEnv, manifests: object[]): Promise<string> {
    const operator = new OperatorProcess({
      ...{ folder, name: namespace, apiUrl, apiKey: API_KEY, kubeconfigPath, namespace },
      compileCache: join(folder, 'compiled'),
      env: { ...env, NODE_OPTIONS: WATCH_LOADING },
    });
    await untilAnswering(server, `${apiUrl}/readyz`);
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
    for (const args of [
      ['apply', '-f', '-'],
      ['wait', '--for=condition=Ready', '--timeout=30s', '-f', '-'],
    ])
      expect(await kubectl(['-n', namespace, ...args], { input })).toMatchObject({ code: 0 });
    expect(await operator.stop()).toMatchObject({ code: 0 });
    return operator.log();
  }
  [traced, untraced] = await Promise.all([
    operate(namespace, tracing, [policy('seen'), credential('agent')]),
    operate(other, {}, [policy('unseen')]),
  ]);
  const secret = await kubectl(['-n', namespace, 'get', 'secret', 'agent', '-o', 'jsonpath={.data.token}']);
  token = Buffer.from(secret.stdout, 'base64').toString();
  // The stop sends the last spans.
  expect(await server.stop({ graceMs: 30_000 })).toMatchObject({ code: 0 });
  api = await readFile(server.logFile, 'utf8');
});

afterAll(async () => {
  await receiver?.close();
  await rm(folder, { recursive: true, force: true });
});

const parentOf = (span: ReceivedSpan) => receiver.spans.find(({ spanId }) => spanId === span.parentId);

/** A span, then its parent, and so on. */
function upwards(span: ReceivedSpan | undefined): ReceivedSpan[] {
  return span ? [span, ...upwards(parentOf(span))] : [];
}

const lines = (log: string) =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): Record<string, unknown> => JSON.parse(line));

const REQUEST_ID = 'http.response.header.x-request-id';

test('an apply is one trace, from the reconcile to its row in the database', () => {
  const reconcile = receiver.spans.find(({ attributes }) => attributes['tunnel_operator.name'] === 'seen');
  const ofTrace = receiver.spans.filter(({ traceId }) => traceId === reconcile?.traceId);
  const insert = ofTrace.find(({ name }) => name === 'ip_policies.insert_managed');
  const chain = upwards(insert).filter(({ name }) => name !== 'transaction');
  expect(chain).toMatchObject([
    {
      service: 'tunnel-operator-api',
      kind: 'client',
      attributes: { 'db.query.summary': 'ip_policies.insert_managed' },
    },
    { service: 'tunnel-operator-api', kind: 'server', name: 'POST /ip_policies' },
    { service: 'tunnel-operator', kind: 'client', name: 'POST' },
    { service: 'tunnel-operator', kind: 'internal', name: 'reconcile IPPolicy' },
  ]);
  const [, served, call] = chain;
  expect(served?.attributes).toMatchObject({ 'http.route': '/ip_policies', 'http.response.status_code': 201 });
  expect(call?.attributes['http.response.status_code']).toBe(201);
  expect(reconcile).toMatchObject({ parentId: undefined, isError: false });
  expect(reconcile?.attributes).toMatchObject({ 'tunnel_operator.generation': 1, 'tunnel_operator.result': 'success' });
  // The trace includes the reconcile's calls to Kubernetes.
  const siblings = ofTrace.filter(({ parentId }) => parentId === reconcile?.spanId);
  const toKubernetes = siblings.filter(({ attributes }) => String(attributes['url.full']).includes('/ippolicies/seen'));
  expect(toKubernetes.map(({ name }) => name)).toContain('PATCH');
});

test('the request id and the ids of the trace join spans and logs of both programs', () => {
  const served = receiver.spans.find((span) => span.name === 'POST /ip_policies' && parentOf(span) !== undefined);
  const [, call, reconcile] = upwards(served);
  const access = lines(api).find((line) => line.span_id === served?.spanId && line.msg === 'request');
  expect(access).toMatchObject({ request_id: expect.any(String), route: '/ip_policies', trace_id: served?.traceId });
  expect(served?.attributes[REQUEST_ID]).toEqual([access?.request_id]);
  expect(call?.attributes[REQUEST_ID]).toEqual([access?.request_id]);
  const reconciled = lines(traced).find((line) => line.msg === 'reconciled' && line.trace_id === reconcile?.traceId);
  expect(reconciled).toMatchObject({ kind: 'IPPolicy', span_id: reconcile?.spanId });
});

test('no secret is sent, and every attribute is from the conventions or starts with tunnel_operator', () => {
  expect(token).toMatch(/^tnl_/);
  const sent = Buffer.concat(receiver.requests.map(({ body }) => body)).toString('latin1');
  expect(sent).toContain('/credentials');
  for (const secret of [API_KEY, token, COLLECTOR_KEY, 'Bearer', 'authorization', ENCRYPTION_KEY.slice(6)])
    expect(sent).not.toContain(secret);
  const stable = new Set<unknown>([...Object.values(conventions), REQUEST_ID]);
  const names = new Set(receiver.spans.flatMap(({ attributes }) => Object.keys(attributes)));
  expect([...names].filter((name) => !stable.has(name) && !name.startsWith('tunnel_operator.'))).toEqual([]);
  const [first] = receiver.requests;
  expect(first).toMatchObject({ path: '/v1/traces', headers: { authorization: `Bearer ${COLLECTOR_KEY}` } });
});

test('probes, leases and housekeeping are not traced', () => {
  const roots = receiver.spans.filter(({ parentId }) => parentId === undefined);
  expect(roots.length).toBeGreaterThan(0);
  // After the method comes a path or nothing; after the verb of a database statement, a table.
  for (const { name } of roots) expect(name).toMatch(/^(reconcile|resync) |^(GET|POST|PUT|PATCH|DELETE)( \/|$)/);
  expect(receiver.spans.filter(({ name }) => /\/readyz|leases/.test(name ?? ''))).toEqual([]);
});

test('without an endpoint, only the API package of OpenTelemetry is loaded, and no trace is started', () => {
  const loaded = (log: string) => log.split('\n').filter((line) => /^loaded .*@opentelemetry\/(?!api\/)/.test(line));
  expect(loaded(untraced)).toEqual([]);
  // Shows that the check would find loaded modules.
  expect(loaded(traced)).not.toEqual([]);
  expect(untraced).not.toContain('trace_id');
  const policies = receiver.spans.filter(({ name }) => name === 'POST /ip_policies');
  const unasked = policies.filter(({ parentId }) => parentId === undefined);
  expect([policies.length, unasked.length]).toEqual([2, 1]);
});
