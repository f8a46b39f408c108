/**
 * The whole product for one test file: an API on a database of its own, the CRDs, a namespace, and operators that work
 * in that namespace. Everything is removed at the end of the file. Only for test files; it registers hooks of Vitest.
 */

import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { expect, vi } from 'vitest';
import type { ApiConfig } from '../../src/api/settings.ts';
import { type Client, createClient } from '../../src/client/client.ts';
import { connectionKinds } from '../../src/operator/connections/connection-kinds.ts';
import { GROUP } from '../../src/operator/contract/names.ts';
import { allKinds, kinds } from '../../src/operator/kinds/kinds.ts';
import { type Condition, findCondition } from '../../src/operator/kube/conditions.ts';
import { KubeApi, type ResourceType } from '../../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { type ManagedStatus, readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { TunnelOperator } from '../../src/operator/operator.ts';
import type { OperatorConfig } from '../../src/operator/settings.ts';
import { atEnd } from '../end-of-file.ts';
import {
  type CommandResult,
  cluster,
  createNamespace,
  installCrds,
  kubeconfig,
  kubectl,
  testPool,
} from '../harness.ts';
import { metricSum } from '../metric-sum.ts';
import { conditionProblems } from '../settled.ts';
import { Applier } from './apply.ts';
import { chartAccount } from './chart-account.ts';
import { type Manifest, ours, SECRETS } from './manifest.ts';
import { operatorSettings, unlessForbidden } from './operators.ts';
import { startOwnApi } from './own-api.ts';
import { type ApiPods, notInPods, podsFor, type RunningOperator } from './pods.ts';

export type { RunningOperator };

export const API_KEY = 'tnl_ak_operator_of_the_tests_0123456789';

/** The key with which the API seals private keys and other secrets. */
export const ENCRYPTION_KEY = `tests:${Buffer.alloc(32, 1).toString('base64')}`;

const EVENTS: ResourceType = { group: '', version: 'v1', plural: 'events' };

/** By their names in the Secret of the chart. */
const KEYS = { 'bootstrap-api-key': API_KEY, 'encryption-key': ENCRYPTION_KEY };

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Seen {
  object: KubeObject;
  status: ManagedStatus & Record<string, unknown>;
  ready: Condition | undefined;
  synced: Condition | undefined;
}

export interface Stack {
  namespace: string;
  api: Pick<ApiPods, 'url' | 'metricsUrl' | 'databaseUrl'>;
  client: Client;
  kube: KubeApi;
  /** Lines that the operators of this stack have logged, at every level and without redaction. */
  logs: string[];
  /** The same for the API. */
  apiLogs: string[];
  /** Starts an operator and waits until it works. */
  operate(settings?: Partial<OperatorConfig>): Promise<RunningOperator>;
  /** Starts an operator with the permissions that the chart grants it in these namespaces. */
  operateIn(namespaces: string[]): Promise<RunningOperator>;
  /** Makes an operator but does not start it. It is stopped at the end of the file like the others. */
  makeOperator(settings?: Partial<OperatorConfig>): TunnelOperator;
  stopOperator(operator: RunningOperator): Promise<void>;
  /** Stops all operators, runs `meanwhile`, and starts another operator. */
  restart(meanwhile?: () => Promise<unknown>, settings?: Partial<OperatorConfig>): Promise<RunningOperator>;
  /** kubectl in the namespace. */
  run(...args: string[]): Promise<CommandResult>;
  /** `kubectl apply` of manifests that must be accepted without a warning. */
  apply(...manifests: Manifest[]): Promise<void>;
  /** `kubectl apply` of a manifest that may be refused. */
  tryApply(manifest: unknown, ...args: string[]): Promise<CommandResult>;
  /** `kubectl replace`, which keeps nothing of the object but its status. */
  replace(manifest: Manifest): Promise<CommandResult>;
  annotate(type: ResourceType, name: string, annotations: Record<string, string | null>): Promise<void>;
  /** `kubectl delete`, which waits until the objects are gone. */
  remove(type: ResourceType, ...names: string[]): Promise<void>;
  find(type: ResourceType, name: string): Promise<KubeObject | undefined>;
  see(type: ResourceType, name: string): Promise<Seen>;
  /** Waits until the object is ready in its present generation. */
  ready(type: ResourceType, name: string): Promise<Seen>;
  /** The id of its resource, once it is ready. */
  idOf(type: ResourceType, name: string): Promise<string>;
  /** The same, once it has another resource than this. */
  newIdOf(type: ResourceType, name: string, before: unknown): Promise<string>;
  /** Waits until the condition of the object has the reason. */
  reason(type: ResourceType, name: string, condition: 'Ready' | 'Synced', reason: string): Promise<Seen>;
  /** Requests a reconcile and waits until it is done. */
  reconciled(type: ResourceType, name: string): Promise<Seen>;
  /** The data of a Secret, decoded; undefined when there is none. */
  secret(name: string): Promise<Record<string, string> | undefined>;
  /** Whether the API accepts the token when a data plane authenticates it. */
  accepts(token: string | undefined): Promise<boolean>;
  /** Reasons and messages of the Kubernetes Events about an object. */
  events(name: string): Promise<{ reason: string; message: string; type: string }[]>;
  /** The value of one metric of the newest operator, summed over the series that have these labels. */
  metric(name: string, labels?: Record<string, string>): Promise<number>;
  /** The ids of all resources in the API that have a kind, except those that a new API has. */
  remoteIds(): Promise<string[]>;
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

/** Repeats `attempt` until it does not throw, and returns its result. The last failure fails the test. */
export function eventually<T>(attempt: () => T | Promise<T>, timeout = 30_000): Promise<T> {
  return vi.waitFor(attempt, { timeout, interval: 50 });
}

/** Starts the API and, by default, one operator with the permissions that the chart grants it in the namespace. */
export async function startStack(
  options: {
    settings?: Partial<OperatorConfig>;
    /** Settings of an API in the process of the tests. */
    api?: Partial<ApiConfig>;
    operators?: 0 | 1;
    prefix?: string;
  } = {},
): Promise<Stack> {
  const [namespace] = await Promise.all([createNamespace(options.prefix ?? 'e2e'), installCrds()]);
  // In Pods, operators have the service account of the chart anyway.
  const file = process.env.TEST_PODS
    ? (await cluster()).kubeconfigPath
    : await chartAccount(kubectl, namespace, [namespace]);
  const [logs, apiLogs]: [string[], string[]] = [[], []];
  const pods = process.env.TEST_PODS ? await podsFor({ api: apiLogs, operator: logs }, KEYS) : undefined;
  const log = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const api = await (pods?.startApi() ?? startOwnApi(API_KEY, ENCRYPTION_KEY, apiLogs, options.api));
  const client = createClient({ baseUrl: api.url, apiKey: API_KEY });
  const pool = testPool(api.databaseUrl, 2);
  const kube = new KubeApi(await kubeconfig(), { userAgent: 'tests', timeoutMs: 30_000 });
  const applier = new Applier(await kubeconfig(), namespace);
  const operators = new Set<RunningOperator>();
  const defaults = () => {
    const identity = `test-${operators.size}`;
    return operatorSettings({ apiUrl: api.url, apiKey: API_KEY, kubeconfig: file, namespace, identity });
  };
  // A new API has the API key that the tests and operators use.
  const given = await allIds();

  const stack: Stack = {
    namespace,
    api,
    client,
    kube,
    logs,
    apiLogs,
    makeOperator(settings) {
      if (pods) notInPods('it holds an operator before it works');
      const operator = new TunnelOperator({ ...defaults(), ...options.settings, ...settings }, log);
      operators.add(operator);
      return operator;
    },
    async operate(settings) {
      if (pods) {
        const operator = await pods.startOperator(defaults(), { ...options.settings, ...settings });
        operators.add(operator);
        return operator;
      }
      const operator = stack.makeOperator(settings);
      await unlessForbidden(operator.start(), logs);
      return operator;
    },
    async operateIn(namespaces) {
      // In Pods, the chart grants the permissions.
      const account = pods ? {} : { kubeconfig: await chartAccount(kubectl, namespace, namespaces) };
      return stack.operate({ namespaces, ...account });
    },
    async stopOperator(operator) {
      operators.delete(operator);
      await operator.stop();
    },
    async restart(meanwhile = async () => {}, settings = {}) {
      for (const operator of [...operators]) await stack.stopOperator(operator);
      await meanwhile();
      return stack.operate(settings);
    },
    run: (...args) => kubectl(['-n', namespace, ...args]),
    async apply(...manifests) {
      const list = { apiVersion: 'v1', kind: 'List', items: manifests };
      expect(await stack.tryApply(list)).toMatchObject({ code: 0, stderr: '' });
    },
    tryApply: (manifest, ...args) => {
      if (Applier.knows(manifest, args)) return applier.apply(manifest, args);
      return kubectl(['-n', namespace, 'apply', '-f', '-', ...args], { input: JSON.stringify(manifest) });
    },
    replace: (manifest) => kubectl(['-n', namespace, 'replace', '-f', '-'], { input: JSON.stringify(manifest) }),
    async annotate(type, name, annotations) {
      await kube.patch(type, name, { metadata: { annotations } }, namespace);
    },
    async remove(type, ...names) {
      expect(await applier.remove(type, names)).toMatchObject({ code: 0 });
    },
    find: (type, name) => kube.find(type, name, namespace),
    async see(type, name) {
      const object = await kube.get(type, name, namespace);
      const status = readStatus(object);
      const [ready, synced] = ['Ready', 'Synced'].map((wanted) => findCondition(status.conditions ?? [], wanted));
      return { object, status, ready, synced };
    },
    ready: (type, name) =>
      eventually(async () => {
        const seen = await stack.see(type, name);
        const { generation: observedGeneration } = seen.object.metadata;
        expect(seen.status.observedGeneration).toBe(observedGeneration);
        expect(seen.ready, seen.ready?.message).toMatchObject({ status: 'True', observedGeneration });
        expect(conditionProblems(seen.object)).toEqual([]);
        return seen;
      }),
    idOf: async (type, name) => String((await stack.ready(type, name)).status.id),
    newIdOf: (type, name, before) =>
      eventually(async () => {
        const id = await stack.idOf(type, name);
        expect(id).not.toBe(before);
        return id;
      }),
    reason: (type, name, wanted, reason) =>
      eventually(async () => {
        const seen = await stack.see(type, name);
        expect(wanted === 'Ready' ? seen.ready : seen.synced).toMatchObject({ reason });
        return seen;
      }),
    async reconciled(type, name) {
      const requested = `${Date.now()}-${Math.random()}`;
      await stack.annotate(type, name, { [`${GROUP}/reconcile-requested-at`]: requested });
      return eventually(async () => {
        const seen = await stack.see(type, name);
        expect(seen.status.lastHandledReconcileAt).toBe(requested);
        return seen;
      });
    },
    async secret(name) {
      const data = (await stack.find(SECRETS, name))?.data as Record<string, string> | undefined;
      const decoded = ([key, value]: [string, string]) => [key, Buffer.from(value, 'base64').toString('utf8')];
      return data && Object.fromEntries(Object.entries(data).map(decoded));
    },
    accepts: async (token) => token !== undefined && (await client.authenticate({ token })).allowed,
    async events(name) {
      const { items } = await kube.list(EVENTS, { namespace });
      return items
        .filter(({ involvedObject }) => (involvedObject as { name?: string }).name === name)
        .map(({ reason, message, type }) => ({ reason: String(reason), message: String(message), type: String(type) }));
    },
    async metric(name, labels) {
      const scraped = await fetch(`${[...operators].at(-1)?.healthUrl}/metrics`);
      return metricSum(await scraped.text(), name, labels);
    },
    remoteIds: async () => (await allIds()).filter((id) => !given.includes(id)),
    sql: async (text, values = []) => (await pool.query<Record<string, unknown>>(text, values)).rows,
  };

  async function allIds(): Promise<string[]> {
    const ids: string[] = [];
    for (const kind of kinds) for await (const { id } of kind.calls(client).list()) ids.push(id);
    return ids;
  }

  atEnd(async () => {
    await Promise.all([...operators].map((operator) => operator.stop()));
    await letGo(stack);
    await Promise.all([client.close(), kube.close(), applier.close(), pool.end()]);
    await api.stop();
  });

  if (options.operators !== 0) await stack.operate();
  return stack;
}

/** Removes all objects: with no operator left, their finalizers would keep the namespace from being deleted. */
async function letGo({ kube, namespace }: Stack): Promise<void> {
  const namespaced = connectionKinds.filter(({ isClusterScoped }) => !isClusterScoped);
  for (const { plural } of [...allKinds, ...namespaced]) {
    // The first list of a new CRD may be refused for a moment.
    const { items } = await eventually(() => kube.list(ours(plural), { namespace }));
    for (const { metadata } of items) {
      await kube
        .patch(ours(plural), metadata.name, { metadata: { finalizers: null } }, namespace)
        .catch(() => undefined);
      await kube.delete(ours(plural), metadata.name, namespace).catch(() => undefined);
    }
  }
}
