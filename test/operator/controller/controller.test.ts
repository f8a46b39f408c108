/** Controllers of single kinds, with a real API server and management API; what a reconcile does is tested in test/e2e. */
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { Controller } from '../../../src/operator/controller/controller.ts';
import { attachedKinds, kinds } from '../../../src/operator/kinds/kinds.ts';
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts';
import { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import type { Inputs } from '../../../src/operator/managed/knowledge/inputs.ts';
import { ConnectedKind } from '../../../src/operator/managed/object/connected-kind.ts';
import { DnsEndpoints } from '../../../src/operator/managed/object/dns-endpoint.ts';
import { oneConnection } from '../../../src/operator/managed/object/object-connections.ts';
import { SecretAccess } from '../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../src/operator/managed/secrets/secret-cache.ts';
import { createMetrics } from '../../../src/operator/metrics.ts';
import type { Tracing } from '../../../src/tracing/tracing.ts';
import { manifest, ours, POLICIES, policy } from '../../e2e/manifest.ts';
import { eventually, startStack } from '../../e2e/stack.ts';
import { kubeconfig } from '../../harness.ts';
import { startReceiver } from '../../tracing/receiver.ts';
import { tracingTo } from '../../tracing/tracing.ts';
import { noInputs } from '../inputs.ts';

const stack = await startStack({ operators: 0, prefix: 'controller' });
const { namespace, client } = stack;
const config = await kubeconfig();

interface Circumstances {
  /** The plural to ask the API server for, instead of that of the kind. */
  plural?: string;
  /** The inputs that it shares with other controllers. */
  inputs?: Inputs;
  /** Whether its cache is filled already. */
  isFilled?: boolean;
  isOurs?: (object: KubeObject) => boolean;
  tracing?: Tracing;
}

async function control(
  name: string,
  { plural, inputs = noInputs(), isFilled = true, isOurs = () => true, tracing }: Circumstances = {},
) {
  const lines: { msg: string; object?: string }[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const silenceMs = 60_000;
  const kube = new KubeApi(config, { userAgent: 'tests', timeoutMs: 10_000 });
  const watching = { namespaces: [namespace], silenceMs, log, metrics: metrics.kube };
  const secrets = new SecretCache(kube, watching);
  const declared = [...kinds, ...attachedKinds].find(({ kind }) => kind === name);
  if (declared === undefined) throw new Error(`no kind is called ${name}`);
  const access = new SecretAccess(kube, secrets, () => true);
  const kind = new ConnectedKind({ ...declared, plural: plural ?? declared.plural }, client, access, inputs);
  const eventRecorder = new EventRecorder(kube, { component: 'tests', instance: 'tests', log, metrics: metrics.kube });
  const controller = new Controller(kind, {
    kube,
    cluster: { id: 'here', takesOverFrom: [] },
    eventRecorder,
    connections: oneConnection(client),
    secrets,
    dnsEndpoints: new DnsEndpoints(kube, watching),
    scope: { namespaces: [namespace] },
    isOurs,
    concurrency: 3,
    resyncMs: 3_600_000,
    silenceMs,
    mayAdopt: () => true,
    mayHandOutUserRights: true,
    metrics,
    tracing,
    log,
  });
  const stop = async () => {
    await controller.stop();
    await Promise.all([controller.cache.stop(), secrets.watch.stop(), eventRecorder.flush()]);
    await kube.close();
  };
  onTestFinished(stop);
  const fill = () => Promise.all([controller.cache.start(), secrets.watch.start()]);
  if (isFilled) await fill();
  /** The value of a metric with all these labels. */
  const metric = async (metricName: string, labels: Record<string, string>) => {
    controller.readGauges();
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const line = (await metrics.registry.metrics())
      .split('\n')
      .find((each) => each.startsWith(`${metricName}{`) && wanted.every((label) => each.includes(label)));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  const compared = () =>
    eventually(async () => {
      expect(await metric('tunnel_operator_resyncs_total', { kind: name, result: 'success' })).toBe(1);
    });
  const reconciled = () => lines.filter(({ msg }) => msg === 'reconciled').map(({ object }) => object);
  return { controller, fill, stop, metric, compared, reconciled };
}

/** Once this object has been reconciled, so have all that were written before it. */
async function fence(name: string): Promise<string> {
  await stack.apply(policy(name));
  await stack.ready(POLICIES, name);
  return `${namespace}/${name}`;
}

test('a controller reconciles existing and new objects, each version once', async () => {
  await stack.apply(policy('found'));
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const tracing = await tracingTo(receiver);
  const { controller, metric, compared, reconciled, stop } = await control('IPPolicy', { tracing });
  const of = { kind: 'IPPolicy' };
  expect([controller.name, await metric('tunnel_operator_managed_objects', of)]).toEqual(['IPPolicy', 1]);
  controller.start();
  await stack.ready(POLICIES, 'found');
  await stack.apply(policy('came'));
  await stack.ready(POLICIES, 'came');
  const last = await fence('last');
  await eventually(async () => expect(reconciled()).toEqual([`${namespace}/found`, `${namespace}/came`, last]));
  const { object } = await stack.see(POLICIES, 'came');
  expect(object).toMatchObject({ kind: 'IPPolicy', apiVersion: 'tunnel-operator.dev/v1alpha1' });
  expect(await metric('workqueue_depth', { name: 'IPPolicy' })).toBe(0);
  expect(await metric('controller_runtime_max_concurrent_reconciles', { controller: 'IPPolicy' })).toBe(3);
  expect(await metric('tunnel_operator_managed_objects', of)).toBe(3);
  expect(await metric('tunnel_operator_crd_missing', of)).toBe(0);
  expect(await metric('tunnel_operator_watch_staleness_seconds', { resource: 'ippolicies' })).toBeLessThan(60);
  await eventually(async () => expect(await stack.events('came')).toMatchObject([{ type: 'Normal' }]));
  await compared();
  await stop();
  await tracing.stop();
  const names = receiver.spans.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['reconcile IPPolicy', 'resync IPPolicy']));
});

test('after a restart, a controller reconciles only objects changed meanwhile in the cluster or the API', async () => {
  const first = await control('IPPolicy');
  first.controller.start();
  await stack.apply(...['same', 'edited', 'gone'].map((name) => policy(name)));
  for (const name of ['same', 'edited']) await stack.ready(POLICIES, name);
  const { status } = await stack.ready(POLICIES, 'gone');
  await fence('before-restart');
  await first.stop();
  await stack.apply(policy('edited', { description: 'new' }));
  await client.ipPolicies.delete(String(status.id));
  const { controller, reconciled, compared } = await control('IPPolicy');
  controller.start();
  await compared();
  await stack.newIdOf(POLICIES, 'gone', status.id);
  await stack.ready(POLICIES, 'edited');
  const last = await fence('after-restart');
  await eventually(async () =>
    expect(new Set(reconciled())).toEqual(new Set([`${namespace}/edited`, `${namespace}/gone`, last])),
  );
});

test('a controller neither reconciles nor counts objects that are not its own', async () => {
  await stack.apply(policy('own'), policy('theirs'));
  const isOurs = ({ metadata }: KubeObject) => ['own', 'own-too'].includes(metadata.name);
  const { controller, metric, reconciled } = await control('IPPolicy', { isOurs });
  controller.start();
  await stack.ready(POLICIES, 'own');
  await stack.apply(policy('theirs', { description: 'new' }));
  const last = await fence('own-too');
  await eventually(async () => expect(new Set(reconciled())).toEqual(new Set([`${namespace}/own`, last])));
  expect(await metric('tunnel_operator_managed_objects', { kind: 'IPPolicy' })).toBe(2);
});

test('a controller whose CustomResourceDefinition is missing says so', async () => {
  const { controller, metric } = await control('BotUser', { plural: 'nothings' });
  expect(controller.cache.obstacle()?.kind).toBe('missing');
  expect(await metric('tunnel_operator_crd_missing', { kind: 'BotUser' })).toBe(1);
  expect(await metric('tunnel_operator_watch_staleness_seconds', { resource: 'nothings' })).toBe(0);
});

test('an object that refers to a kind not listed yet says so, and becomes Ready once the kind is listed', async () => {
  const inputs = noInputs();
  const edges = await control('HTTPSEdge', { inputs, isFilled: false });
  const others = await Promise.all(['HTTPSEdgeRoute', 'HTTPResponseBackend'].map((kind) => control(kind, { inputs })));
  for (const { controller } of others) controller.start();
  const [ROUTES, EDGES, BACKENDS] = [ours('httpsedgeroutes'), ours('httpsedges'), ours('httpresponsebackends')];
  onTestFinished(async () => {
    for (const type of [ROUTES, BACKENDS, EDGES]) await stack.run('delete', type.plural, 'late', '--ignore-not-found');
  });
  const backendRef = { kind: 'HTTPResponseBackend', name: 'late' };
  await stack.apply(
    manifest('HTTPSEdge', 'late', {}),
    manifest('HTTPResponseBackend', 'late', { body: { value: 'x' } }),
    manifest('HTTPSEdgeRoute', 'late', {
      edgeRef: { name: 'late' },
      match: '/',
      matchType: 'path_prefix',
      backendRef,
    }),
  );
  await eventually(async () => {
    const { ready } = await stack.see(ROUTES, 'late');
    expect(ready?.message).toMatch(/HTTPSEdge \S+\/late is not known yet: not listed yet$/);
  });
  await edges.fill();
  edges.controller.startLate();
  const { status } = await stack.ready(ROUTES, 'late');
  expect(String(status.id)).toContain(await stack.idOf(EDGES, 'late'));
});
