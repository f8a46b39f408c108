/**
 * `npm run bench -- scale`: what the operator uses with many objects: memory before any work, with everything in place
 * and after a resync; processor time when idle; requests; and a start with all objects present. BENCH_OBJECTS sets the count.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { kindRow } from '../dev/fixtures/kinds.ts';
import { postTo } from '../dev/fixtures/post.ts';
import type { Child } from '../dev/processes/child-process.ts';
import { untilAnswering } from '../dev/processes/program.ts';
import { waitFor } from '../dev/processes/wait.ts';
import { API_VERSION } from '../src/operator/contract/names.ts';
import type { ResourceType } from '../src/operator/kube/kube-api.ts';
import { type Sample, scrape, total } from './metrics.ts';
import { API_KEY, type Stack, startStack } from './operator-stack.ts';
import type { BenchOptions } from './options.ts';

const SIZES = (process.env.BENCH_OBJECTS ?? '2000,20000').split(',').map(Number);
const BYSTANDERS = Number(process.env.BENCH_SECRETS ?? 10_000);
/** How long to observe an idle operator. */
const REST_MS = Number(process.env.BENCH_REST ?? 60) * 1000;
const LONGEST_MS = 30 * 60_000;
const NAMESPACE = 'bench-scale';
const core = (plural: string): ResourceType => ({ group: '', version: 'v1', plural });
/** Kinds without references, of which any number of objects can exist. */
const KINDS = [
  'IPPolicy',
  'TunnelCredential',
  'BotUser',
  'TunnelGroupBackend',
  'EndpointConfiguration',
  'HTTPSEdge',
  'TLSEdge',
  'ReservedDomain',
  'HTTPResponseBackend',
  'EventDestination',
].map(kindRow);

interface Running {
  child: Child;
  url: string;
  startMs: number;
}

export async function benchScale({ out }: BenchOptions): Promise<void> {
  const stack = await startStack();
  try {
    await stack.kube.create(core('namespaces'), named('Namespace', NAMESPACE, 'v1'));
    const idle = await start(stack);
    out(`No objects: ready after ${idle.startMs} ms, ${await figures(idle)}`);
    out(`  then: ${await atRest(idle)}, ${await figures(idle)}`);
    await idle.child.stop({ graceMs: 30_000 });

    let objects = 0;
    for (const size of SIZES) {
      await make(stack, objects, size);
      objects = size;
      const busy = await start(stack);
      const began = performance.now();
      await settled(busy, size);
      out(
        `${size} objects of ${KINDS.length} kinds: Ready ${seconds(began)} s after the start, ${await figures(busy)}`,
      );
      out(`  then: ${await atRest(busy)}, ${await figures(busy)}`);
      await busy.child.stop({ graceMs: 30_000 });
      await coldStart(stack, size, out);
    }
    await bystanders(stack);
    out(`${BYSTANDERS} Secrets besides that nobody refers to:`);
    await coldStart(stack, objects, out);
  } finally {
    await stack.stop();
  }
}

/** Everything is in place, so nothing may be written. */
async function coldStart(stack: Stack, size: number, out: BenchOptions['out']): Promise<void> {
  const began = performance.now();
  const operator = await start(stack, { RESYNC_INTERVAL: '1h' });
  const samples = await untilResynced(operator);
  const writes = total(samples, 'rest_client_requests_total', { method: ['POST', 'PUT', 'PATCH', 'DELETE'] });
  const reads = total(samples, 'rest_client_requests_total', { method: 'GET' });
  const calls = total(samples, 'tunnel_operator_api_requests_total');
  out(`  cold start: ready after ${operator.startMs} ms, compared with the API after ${seconds(began)} s`);
  out(
    `    ${writes} writes and ${reads} reads of the API server, ${calls} requests of the management API: one per ${(size / calls).toFixed(0)} objects`,
  );
  out(`    ${total(samples, 'controller_runtime_reconcile_total')} reconciles; ${await figures(operator)}`);
  out(`    then: ${await atRest(operator)}, ${await figures(operator)}`);
  await operator.child.stop({ graceMs: 30_000 });
}

async function start(stack: Stack, env: Record<string, string> = {}): Promise<Running> {
  const began = performance.now();
  const { child, url } = await stack.startOperator(NAMESPACE, { RESYNC_INTERVAL: '1h', ...env });
  await untilAnswering(child, `${url}/readyz`);
  return { child, url, startMs: Math.round(performance.now() - began) };
}

function untilResynced({ url }: Running): Promise<Sample[]> {
  return until(url, 'a resync of every kind', (samples) =>
    KINDS.every(({ name }) => total(samples, 'tunnel_operator_resyncs_total', { kind: name, result: 'success' }) >= 1),
  );
}

function settled({ url }: Running, size: number): Promise<Sample[]> {
  const done = (samples: Sample[]) =>
    total(samples, 'controller_runtime_reconcile_total', { result: ['success', 'requeue_after'] });
  return until(url, 'every object is reconciled', (samples) => {
    return done(samples) >= size - already && total(samples, 'workqueue_depth') === 0;
  });
}
/** Objects created and settled in an earlier round. */
let already = 0;

async function until(url: string, what: string, isDone: (samples: Sample[]) => boolean): Promise<Sample[]> {
  let samples: Sample[] = [];
  const look = async () => {
    samples = await scrape(url);
    return isDone(samples);
  };
  await waitFor(what, look, { timeoutMs: LONGEST_MS, intervalMs: 250 });
  return samples;
}

async function figures({ url }: Running): Promise<string> {
  const samples = await scrape(url);
  const mib = (name: string) => Math.round(total(samples, name) / 1024 ** 2);
  return `${mib('process_resident_memory_bytes')} MiB resident, heap ${mib('nodejs_heap_size_used_bytes')} MiB`;
}

/** Does not scrape in between, since that would cost more than anything else. */
async function atRest({ url }: Running): Promise<string> {
  const cpu = async () => total(await scrape(url), 'process_cpu_seconds_total');
  const before = await cpu();
  await delay(REST_MS);
  return `${((((await cpu()) - before) * 60_000) / REST_MS).toFixed(2)} s of CPU a minute`;
}

async function make(stack: Stack, from: number, to: number): Promise<void> {
  already = from;
  const numbers = Array.from({ length: to - from }, (_, index) => from + index);
  await inBatches(numbers, async (number) => {
    const row = KINDS[number % KINDS.length];
    if (!row) return;
    const { another } = await row.declare(postTo(stack.apiUrl, API_KEY), number);
    const body = { ...named(row.name, `object-${number}`, API_VERSION), spec: another.spec };
    await stack.kube.create(row.type, body, NAMESPACE);
  });
}

async function bystanders(stack: Stack): Promise<void> {
  const numbers = Array.from({ length: BYSTANDERS }, (_, index) => index);
  await inBatches(numbers, async (number) => {
    const stringData = { password: 'x'.repeat(1_000) };
    await stack.kube.create(core('secrets'), { ...named('Secret', `other-${number}`, 'v1'), stringData }, NAMESPACE);
  });
}

function named(kind: string, name: string, apiVersion: string) {
  return { apiVersion, kind, metadata: { name } };
}

async function inBatches(numbers: readonly number[], work: (number: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < numbers.length; at += 50) await Promise.all(numbers.slice(at, at + 50).map(work));
}

const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(1);
