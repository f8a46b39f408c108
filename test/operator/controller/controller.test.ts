/** With a real API server, management API and Secrets; what a reconcile itself does is tested in test/e2e. */
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ANNOTATION } from '../../../src/operator/contract/names.ts';
import { Controller } from '../../../src/operator/controller/controller.ts';
import { kinds } from '../../../src/operator/kinds/kinds.ts';
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts';
import { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import { ConnectedKind } from '../../../src/operator/managed/connected-kind.ts';
import { SecretAccess } from '../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../src/operator/managed/secrets/secret-cache.ts';
import { Waiting } from '../../../src/operator/managed/waiting.ts';
import { createMetrics } from '../../../src/operator/metrics.ts';
import { CREDENTIALS, credential, eventually, POLICIES, policy, SECRETS, startStack } from '../../e2e/stack.ts';
import { kubeconfig } from '../../harness.ts';
import { noInputs } from '../inputs.ts';

const stack = await startStack({ operators: 0, prefix: 'controller' });
const { namespace, client } = stack;
const config = await kubeconfig();

/** A controller of the kind whose caches are filled, if that is possible. */
async function control(name: string, plural?: string) {
  const lines: { msg: string; object?: string }[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const silenceMs = 60_000;
  const kube = new KubeApi(config, { userAgent: 'tests', timeoutMs: 10_000 });
  const secrets = new SecretCache(kube, { namespaces: [namespace], silenceMs, log, metrics: metrics.kube });
  const declared = kinds.find(({ kind }) => kind === name);
  if (declared === undefined) throw new Error(`no kind is called ${name}`);
  const kind = new ConnectedKind(
    { ...declared, plural: plural ?? declared.plural },
    client,
    new SecretAccess(kube, secrets),
    noInputs(),
  );
  const eventRecorder = new EventRecorder(kube, { component: 'tests', instance: 'tests', log, metrics: metrics.kube });
  const controller = new Controller(kind, {
    kube,
    eventRecorder,
    secrets,
    namespaces: [namespace],
    isOurs: () => true,
    concurrency: 3,
    resyncMs: 3_600_000,
    silenceMs,
    mayAdopt: () => true,
    mayHandOutUserRights: true,
    waiting: new Waiting(),
    metrics,
    log,
  });
  const stop = async () => {
    await controller.stop();
    await Promise.all([controller.cache.stop(), secrets.watch.stop(), eventRecorder.flush()]);
    await kube.close();
  };
  onTestFinished(stop);
  await Promise.all([controller.cache.start(), secrets.watch.start()]);
  /** The value of a metric with all these labels. */
  const metric = async (metricName: string, labels: Record<string, string>) => {
    controller.readGauges();
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const line = (await metrics.registry.metrics())
      .split('\n')
      .find((each) => each.startsWith(`${metricName}{`) && wanted.every((label) => each.includes(label)));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  const reconciles = () => metric('controller_runtime_reconcile_total', { controller: name, result: 'success' });
  const compared = () =>
    eventually(async () => {
      expect(await metric('tunnel_operator_resyncs_total', { kind: name, result: 'success' })).toBe(1);
    });
  const reconciled = () => new Set(lines.filter(({ msg }) => msg === 'reconciled').map(({ object }) => object));
  return { controller, stop, metric, reconciles, compared, reconciled };
}

/** Longer than it takes until the watch has told what was just written. */
const settle = () => delay(300);

describe('a controller', () => {
  test('reconciles what it finds and what comes, each version once', async () => {
    await stack.apply(policy('found'));
    const { controller, metric, reconciles, reconciled, stop } = await control('IPPolicy');
    expect(controller.name).toBe('IPPolicy');
    const of = { controller: 'IPPolicy' };
    expect(await metric('tunnel_operator_managed_objects', { kind: 'IPPolicy' })).toBe(1);
    controller.start();
    await stack.ready(POLICIES, 'found');
    await stack.apply(policy('came'));
    await stack.ready(POLICIES, 'came');
    await settle();
    expect(await reconciles()).toBe(2);
    const { object } = await stack.see(POLICIES, 'came');
    expect(object).toMatchObject({ kind: 'IPPolicy', apiVersion: 'tunnel-operator.dev/v1alpha1' });
    expect(await metric('workqueue_adds_total', { name: 'IPPolicy' })).toBeGreaterThanOrEqual(2);
    expect(await metric('workqueue_depth', { name: 'IPPolicy' })).toBe(0);
    expect(await metric('controller_runtime_max_concurrent_reconciles', of)).toBe(3);
    expect(await metric('tunnel_operator_managed_objects', { kind: 'IPPolicy' })).toBe(2);
    expect(await metric('tunnel_operator_crd_missing', { kind: 'IPPolicy' })).toBe(0);
    expect(await metric('tunnel_operator_watch_staleness_seconds', { resource: 'ippolicies' })).toBeGreaterThan(0);
    expect(await metric('tunnel_operator_watch_staleness_seconds', { resource: 'ippolicies' })).toBeLessThan(60);
    expect(reconciled()).toEqual(new Set([`${namespace}/found`, `${namespace}/came`]));
    await eventually(async () => expect(await stack.events('came')).toMatchObject([{ type: 'Normal' }]));

    await stop();
    await stack.apply(policy('too-late'));
    await settle();
    expect([await reconciles(), (await stack.see(POLICIES, 'too-late')).ready]).toEqual([2, undefined]);
  });

  test('reconciles after a restart only what has changed meanwhile, here or in the API', async () => {
    const first = await control('IPPolicy');
    first.controller.start();
    await stack.apply(...['same', 'edited', 'gone'].map((name) => policy(name)));
    for (const name of ['same', 'edited', 'too-late']) await stack.ready(POLICIES, name);
    const { status } = await stack.ready(POLICIES, 'gone');
    await settle();
    await first.stop();
    await stack.apply(policy('edited', { description: 'new' }));
    await client.ipPolicies.delete(String(status.id));
    const { controller, reconciled, compared } = await control('IPPolicy');
    controller.start();
    await compared();
    await eventually(async () => {
      expect((await stack.ready(POLICIES, 'gone')).status.id).not.toBe(status.id);
    });
    await stack.ready(POLICIES, 'edited');
    await settle();
    expect(reconciled()).toEqual(new Set([`${namespace}/edited`, `${namespace}/gone`]));
  });

  test('collects no work before it starts, as while another one leads', async () => {
    const { id } = await client.ipPolicies.create({ description: 'disputed' });
    const { controller, metric } = await control('IPPolicy');
    for (const name of ['disputing-a', 'disputing-b', 'disputing-c']) {
      await stack.apply(policy(name, { deletionPolicy: 'Retain' }, { [ANNOTATION.adopt]: id }));
    }
    await settle();
    expect(await metric('workqueue_depth', { name: 'IPPolicy' })).toBe(0);
    controller.start();
    await eventually(async () => {
      const seen = await Promise.all(['a', 'b', 'c'].map((one) => stack.see(POLICIES, `disputing-${one}`)));
      expect(seen.map(({ ready }) => ready?.status).sort()).toEqual(['False', 'False', 'True']);
    });
  });

  test('hands an id over to another claimant at once', async () => {
    const { id } = await client.ipPolicies.create({ description: 'shared' });
    const { controller, metric } = await control('IPPolicy');
    controller.start();
    const names = ['claimant-a', 'claimant-b'];
    const claim = { [ANNOTATION.adopt]: id };
    await stack.apply(...names.map((name) => policy(name, { deletionPolicy: 'Retain' }, claim)));
    const [loser, winner] = await eventually(async () => {
      const seen = await Promise.all(names.map((name) => stack.see(POLICIES, name)));
      expect(seen.map(({ ready }) => ready?.status).sort()).toEqual(['False', 'True']);
      return seen[0]?.ready?.status === 'False' ? names : names.toReversed();
    });
    expect(await metric('controller_runtime_reconcile_errors_total', { controller: 'IPPolicy' })).toBeGreaterThan(0);
    await stack.remove(POLICIES, String(winner));
    expect((await stack.ready(POLICIES, String(loser))).status.id).toBe(id);
  });

  test('looks after the Secrets of its objects, also after a restart', async () => {
    const first = await control('TunnelCredential');
    first.controller.start();
    await stack.apply(credential('held'), credential('other'));
    await Promise.all([stack.ready(CREDENTIALS, 'held'), stack.ready(CREDENTIALS, 'other')]);
    const restored = () => eventually(async () => expect(await stack.secret('held')).toHaveProperty('token'));
    await stack.run('delete', 'secret', 'held');
    await restored();
    await settle();
    await first.stop();
    await stack.run('delete', 'secret', 'held');
    const { controller, reconciles } = await control('TunnelCredential');
    controller.start();
    await restored();
    await settle();
    expect([await reconciles(), await stack.find(SECRETS, 'other')]).toEqual([1, expect.anything()]);
  });

  test('says that its CustomResourceDefinition is missing', async () => {
    const { controller, metric } = await control('BotUser', 'nothings');
    expect(controller.cache.obstacle()?.kind).toBe('missing');
    expect(await metric('tunnel_operator_crd_missing', { kind: 'BotUser' })).toBe(1);
    expect(await metric('tunnel_operator_watch_staleness_seconds', { resource: 'nothings' })).toBe(0);
  });
});
