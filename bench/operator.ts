/** `npm run bench -- operator`: the operator's speed, number of requests and memory. */
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { untilAnswering } from '../dev/processes/program.ts';
import { waitFor } from '../dev/processes/wait.ts';
import type { ResourceType } from '../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../src/operator/kube/kube-object.ts';
import { type Sample, scrape, total } from './metrics.ts';
import { type Stack, startStack } from './operator-stack.ts';
import type { BenchOptions } from './options.ts';

const run = promisify(execFile);
const OBJECTS_PER_KIND = Number(process.env.BENCH_OBJECTS ?? 2000);
const CONCURRENCY = 16;
const LONGEST_MS = 15 * 60_000;
const RULES = [
  { cidr: '203.0.113.0/24', action: 'allow' },
  { cidr: '2001:db8::/32', action: 'deny' },
];
const type = (plural: string): ResourceType => ({ group: 'tunnel-operator.dev', version: 'v1alpha1', plural });
const POLICIES = type('ippolicies');
const CREDENTIALS = type('tunnelcredentials');
const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Runs the whole bench; prints the lines of a report. */
export async function benchOperator({ out }: BenchOptions): Promise<void> {
  const stack = await startStack();
  try {
    const crds = join(import.meta.dirname, '../crds');
    await run(stack.kubectl, ['--kubeconfig', stack.kubeconfigPath, 'apply', '-f', crds]);
    await run(stack.kubectl, ['--kubeconfig', stack.kubeconfigPath, 'wait', '--for=condition=Established', '-f', crds]);
    out(
      `Operator: ${OBJECTS_PER_KIND} IPPolicies (${RULES.length} rules each) and ${OBJECTS_PER_KIND} TunnelCredentials`,
    );

    const bareBefore = await bareLoop(stack, 'bench-bare-1');
    const rate = await manyAtOnce(stack, out);
    const bareAfter = await bareLoop(stack, 'bench-bare-2');
    const all = OBJECTS_PER_KIND * 2;
    const bare = (2 * all) / (bareBefore + bareAfter);
    out(`  bare loop, before and after        ${bareBefore.toFixed(1)} s and ${bareAfter.toFixed(1)} s`);
    out(`  rate against the bare loop         ${(rate / bare).toFixed(2)}   (aim: at least 0.7)`);
    await idle(stack, out);
    await restart(stack, out);
  } finally {
    await stack.stop();
  }
}

/** From the operator's start with all objects present until every one is Ready; returns objects per second. */
async function manyAtOnce(stack: Stack, out: BenchOptions['out']): Promise<number> {
  const namespace = 'bench-operator';
  await createObjects(stack, namespace);
  const started = performance.now();
  const { child, url } = await stack.startOperator(namespace, { RESYNC_INTERVAL: '1h' });
  await untilAnswering(child, `${url}/healthz`);
  let peakMemory = 0;
  let samples: Sample[] = [];
  await waitFor(
    'every object was reconciled',
    async () => {
      samples = await scrape(url);
      peakMemory = Math.max(peakMemory, total(samples, 'process_resident_memory_bytes'));
      return total(samples, 'controller_runtime_reconcile_total', { result: 'success' }) >= OBJECTS_PER_KIND * 2;
    },
    { timeoutMs: LONGEST_MS, intervalMs: 500 },
  );
  const seconds = (performance.now() - started) / 1000;
  await mustAllBeReady(stack, namespace);

  const all = OBJECTS_PER_KIND * 2;
  const events = await count(stack, { group: '', version: 'v1', plural: 'events' }, namespace);
  const writes = total(samples, 'rest_client_requests_total', { method: WRITES }) - events;
  const reads = total(samples, 'rest_client_requests_total', { method: 'GET' });
  const apiCalls = total(samples, 'tunnel_operator_api_requests_total');
  const reconciles = total(samples, 'controller_runtime_reconcile_total');
  out(`  start until all are Ready          ${seconds.toFixed(1)} s   (process start and first list included)`);
  out(`  objects/s                          ${(all / seconds).toFixed(0)}`);
  out(`  reconciles, and per second         ${reconciles}, ${(reconciles / seconds).toFixed(0)}`);
  out(
    `  writes to the API server           ${writes}: ${(writes / all).toFixed(2)} per object   (aim: at most 3 per policy and 4 per credential, 3.50 together)`,
  );
  out(`  Events besides                     ${events}`);
  out(`  reads from the API server          ${reads}: ${(reads / all).toFixed(2)} per object`);
  out(`  management API requests            ${apiCalls}: ${(apiCalls / all).toFixed(2)} per object`);
  out(`  peak resident memory               ${(peakMemory / 1024 ** 2).toFixed(0)} MiB`);
  await child.stop({ graceMs: 30_000 });
  return all / seconds;
}

/** One resync in a steady state. */
async function idle(stack: Stack, out: BenchOptions['out']): Promise<void> {
  const { child, url } = await stack.startOperator('bench-operator', { RESYNC_INTERVAL: '20s' });
  await untilAnswering(child, `${url}/readyz`);
  const resyncs = (samples: Sample[]) =>
    ['IPPolicy', 'TunnelCredential'].map((kind) =>
      total(samples, 'tunnel_operator_resyncs_total', { kind, result: 'success' }),
    );
  const untilResyncs = async (wanted: number) => {
    let samples: Sample[] = [];
    await waitFor(
      `resync ${wanted}`,
      async () => {
        samples = await scrape(url);
        return resyncs(samples).every((done) => done >= wanted);
      },
      { timeoutMs: LONGEST_MS, intervalMs: 100 },
    );
    return samples;
  };
  const before = await untilResyncs(1);
  const after = await untilResyncs(2);
  const delta = (name: string, labels: Record<string, string | readonly string[]> = {}) =>
    total(after, name, labels) - total(before, name, labels);
  // The API also has the resources of the bare loops.
  const objects = 3 * OBJECTS_PER_KIND * (2 + RULES.length);
  const pages = delta('tunnel_operator_api_requests_total', { method: 'GET' });
  out('Idle, one resync');
  out(`  writes to the API server           ${delta('rest_client_requests_total', { method: WRITES })}   (aim: 0)`);
  out(`  writes to the management API       ${delta('tunnel_operator_api_requests_total', { method: WRITES })}`);
  out(
    `  list pages of the management API   ${pages} for ${objects} resources of the API: one per ${(objects / pages).toFixed(0)}   (aim: at least 100)`,
  );
  out(`  reconciles                         ${delta('controller_runtime_reconcile_total')}`);
  await child.stop({ graceMs: 30_000 });
}

/** A restart with settled objects and one new object. */
async function restart(stack: Stack, out: BenchOptions['out']): Promise<void> {
  const namespace = 'bench-operator';
  await stack.kube.create(POLICIES, policy('late', RULES), namespace);
  const started = performance.now();
  const { child } = await stack.startOperator(namespace, { LOG_LEVEL: 'debug' });
  await waitFor(
    'the first reconcile',
    () => Promise.resolve(readFileSync(child.logFile, 'utf8').includes('"msg":"reconciled"')),
    {
      timeoutMs: 60_000,
      intervalMs: 10,
    },
  );
  const seconds = (performance.now() - started) / 1000;
  out(`Start to first reconcile, ${OBJECTS_PER_KIND * 2} settled objects and a new one: ${seconds.toFixed(2)} s`);
  await child.stop({ graceMs: 30_000 });
}

async function bareLoop(stack: Stack, namespace: string): Promise<number> {
  const { policies, credentials } = await createObjects(stack, namespace);
  const identify = ({ metadata: { name, uid } }: KubeObject) => ({ name, uid });
  const input = {
    kubeconfigPath: stack.kubeconfigPath,
    apiUrl: stack.apiUrl,
    namespace,
    concurrency: CONCURRENCY,
    policies: policies.map((object) => ({ ...identify(object), rules: RULES })),
    credentials: credentials.map(identify),
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bare-loop.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(input));
  let answer = '';
  for await (const chunk of child.stdout) answer += String(chunk);
  return z.object({ seconds: z.number() }).parse(JSON.parse(answer)).seconds;
}

async function createObjects(stack: Stack, namespace: string) {
  const namespaces: ResourceType = { group: '', version: 'v1', plural: 'namespaces' };
  await stack.kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const names = Array.from({ length: OBJECTS_PER_KIND }, (_, index) => `object-${index}`);
  const policies = await inBatches(names, (name) => stack.kube.create(POLICIES, policy(name, RULES), namespace));
  const credentials = await inBatches(names, (name) => stack.kube.create(CREDENTIALS, credential(name), namespace));
  return { policies, credentials };
}

function policy(name: string, rules: unknown) {
  const spec = { description: name, rules };
  return { apiVersion: 'tunnel-operator.dev/v1alpha1', kind: 'IPPolicy', metadata: { name }, spec };
}

function credential(name: string) {
  const spec = { description: name, acl: ['bind:*.example.com'] };
  return { apiVersion: 'tunnel-operator.dev/v1alpha1', kind: 'TunnelCredential', metadata: { name }, spec };
}

async function inBatches<T, U>(items: readonly T[], work: (item: T) => Promise<U>): Promise<U[]> {
  const results: U[] = [];
  for (let at = 0; at < items.length; at += 50) {
    results.push(...(await Promise.all(items.slice(at, at + 50).map(work))));
  }
  return results;
}

const readiness = z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })) });

async function mustAllBeReady(stack: Stack, namespace: string): Promise<void> {
  for (const kind of [POLICIES, CREDENTIALS]) {
    const { items } = await stack.kube.list(kind, { namespace });
    const ready = items.filter((item) =>
      readiness.safeParse(item.status).data?.conditions.some((c) => c.type === 'Ready' && c.status === 'True'),
    );
    if (ready.length !== OBJECTS_PER_KIND) throw new Error(`only ${ready.length} of the ${kind.plural} are Ready`);
  }
}

async function count(stack: Stack, resource: ResourceType, namespace: string): Promise<number> {
  return (await stack.kube.list(resource, { namespace })).items.length;
}
