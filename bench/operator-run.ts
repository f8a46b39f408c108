/** One life of an operator, phase by phase: with processor time, requests and memory for each. */
import { setTimeout as delay } from 'node:timers/promises';
import { untilAnswering } from '../dev/processes/program.ts';
import { waitFor } from '../dev/processes/wait.ts';
import type { ResourceType } from '../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../src/operator/kube/kube-object.ts';
import { type Sample, scrape, total } from './metrics.ts';
import type { Stack } from './operator-stack.ts';

export const RULES = [
  { cidr: '203.0.113.0/24', action: 'allow' },
  { cidr: '198.51.100.0/24', action: 'allow' },
  { cidr: '2001:db8::/32', action: 'deny' },
];
const LONGEST_MS = 15 * 60_000;
/** Between looks at a long phase: each scrape takes processor time of the operator. */
const LONG_PHASE_MS = 1_000;
const ours = (plural: string): ResourceType => ({ group: 'tunnel-operator.dev', version: 'v1alpha1', plural });
const core = (plural: string): ResourceType => ({ group: '', version: 'v1', plural });
const KINDS = { IPPolicy: ours('ippolicies'), TunnelCredential: ours('tunnelcredentials') };
const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** What a phase took, of the operator alone. */
export interface Phase {
  seconds: number;
  cpuSeconds: number;
  /** Requests to the Kubernetes API, without Events. */
  writes: number;
  reads: number;
  /** Requests to the management API. */
  api: number;
  /** The most that was resident, in MiB. */
  peakMiB: number;
}

export interface OperatorRun {
  /** The operator starts with all objects present, until each is Ready. */
  creation(): Promise<Phase>;
  /** It starts with all objects settled, until all are compared with the API. */
  restart(): Promise<Phase>;
  rest(ms: number): Promise<Phase>;
  /** All objects are deleted at once, until none is left. */
  deletion(): Promise<Phase>;
  stop(): Promise<void>;
}

/** Creates as many objects of each of two kinds in a namespace of their own, which no operator watches yet. */
export async function prepareRun(stack: Stack, namespace: string, perKind: number): Promise<OperatorRun> {
  await createObjects(stack, namespace, perKind);
  let operator: { child: { stop(options: { graceMs: number }): Promise<unknown> }; url: string } | undefined;

  async function start(): Promise<void> {
    await stop();
    const started = await stack.startOperator(namespace, { RESYNC_INTERVAL: '1h' });
    operator = started;
    await untilAnswering(started.child, `${started.url}/healthz`);
  }

  async function stop(): Promise<void> {
    await operator?.child.stop({ graceMs: 30_000 });
    operator = undefined;
  }

  const samplesNow = () => (operator ? scrape(operator.url) : Promise.resolve([]));

  async function phase(
    act: () => Promise<void>,
    isDone: (samples: Sample[]) => boolean | Promise<boolean>,
    lookEveryMs = 250,
  ) {
    const eventsBefore = await countEvents();
    const before = await samplesNow();
    const startedAt = performance.now();
    await act();
    // Those of a process that has ended do not count against one that has just started.
    const isSame = before.length > 0;
    let samples: Sample[] = [];
    let peak = 0;
    const look = async () => {
      samples = await samplesNow();
      peak = Math.max(peak, total(samples, 'process_resident_memory_bytes'));
      return isDone(samples);
    };
    await waitFor('the end of the phase', look, { timeoutMs: LONGEST_MS, intervalMs: lookEveryMs });
    const seconds = (performance.now() - startedAt) / 1000;
    const grown = (name: string, labels: Parameters<typeof total>[2] = {}) =>
      total(samples, name, labels) - (isSame ? total(before, name, labels) : 0);
    return {
      seconds,
      cpuSeconds: grown('process_cpu_seconds_total'),
      writes: grown('rest_client_requests_total', { method: WRITES }) - (await countEvents()) + eventsBefore,
      reads: grown('rest_client_requests_total', { method: 'GET' }),
      api: grown('tunnel_operator_api_requests_total'),
      peakMiB: peak / 1024 ** 2,
    };
  }

  const countEvents = async () => (await stack.kube.list(core('events'), { namespace })).items.length;

  async function areAllReady(): Promise<boolean> {
    for (const type of Object.values(KINDS)) {
      const { items } = await stack.kube.list(type, { namespace });
      if (items.filter(isReady).length < perKind) return false;
    }
    return true;
  }

  return {
    creation: () =>
      phase(
        start,
        (samples) => {
          const reconciled = total(samples, 'controller_runtime_reconcile_total', { result: 'success' });
          return reconciled >= 2 * perKind && areAllReady();
        },
        LONG_PHASE_MS,
      ),
    async restart() {
      await stop();
      return phase(start, (samples) =>
        Object.keys(KINDS).every(
          (kind) => total(samples, 'tunnel_operator_resyncs_total', { kind, result: 'success' }) >= 1,
        ),
      );
    },
    rest: (ms) =>
      // Each scrape would take more processor time than the rest of it.
      phase(
        () => delay(ms),
        () => true,
      ),
    deletion: () =>
      phase(
        async () => {
          await Promise.all(Object.values(KINDS).map((type) => stack.deleteAll(type, namespace)));
        },
        async () => {
          for (const type of Object.values(KINDS)) {
            if ((await stack.kube.list(type, { namespace, limit: 1 })).items.length > 0) return false;
          }
          return true;
        },
        LONG_PHASE_MS,
      ),
    stop,
  };
}

function isReady({ status }: KubeObject): boolean {
  const { conditions } = Object(status);
  return Array.isArray(conditions) && conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
}

/** Returns them, for the bare loop. */
export async function createObjects({ kube }: Stack, namespace: string, perKind: number) {
  await kube.create(core('namespaces'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const names = Array.from({ length: perKind }, (_, index) => `object-${index}`);
  const make = (kind: keyof typeof KINDS, specOf: (name: string) => object) =>
    inBatches(names, (name) => {
      const body = { apiVersion: 'tunnel-operator.dev/v1alpha1', kind, metadata: { name }, spec: specOf(name) };
      return kube.create(KINDS[kind], body, namespace);
    });
  return {
    policies: await make('IPPolicy', (description) => ({ description, rules: RULES })),
    credentials: await make('TunnelCredential', (description) => ({ description, acl: ['bind:*.example.com'] })),
  };
}

async function inBatches<T, U>(items: readonly T[], work: (item: T) => Promise<U>): Promise<U[]> {
  const results: U[] = [];
  for (let at = 0; at < items.length; at += 50) {
    results.push(...(await Promise.all(items.slice(at, at + 50).map(work))));
  }
  return results;
}
