/** With a real API server, management API and Secrets; what a reconcile itself does is tested in test/e2e. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ANNOTATION } from '../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { CREDENTIALS, credential, eventually, POLICIES, policy, SECRETS, startStack } from '../../e2e/stack.ts';
import { startReceiver } from '../../tracing/receiver.ts';
import { tracingTo } from '../../tracing/tracing.ts';
import { control } from './controlled.ts';

const stack = await startStack({ operators: 0, prefix: 'controller' });
const { namespace, client } = stack;
/** Longer than it takes until the watch has told what was just written. */
const settle = () => delay(300);

describe('a controller', () => {
  test('reconciles what it finds and what comes, each version once', async () => {
    await stack.apply(policy('found'));
    const { controller, metric, reconciles, reconciled, stop } = await control(stack, 'IPPolicy');
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
    // In seconds: by a smaller unit it would be so old at once, by a larger one not within the test.
    const age = () => metric('tunnel_operator_watch_staleness_seconds', { resource: 'ippolicies' });
    expect(await age()).toBeLessThan(60);
    await eventually(async () => expect(await age()).toBeGreaterThan(0.05));
    expect(reconciled()).toEqual(new Set([`${namespace}/found`, `${namespace}/came`]));
    await eventually(async () => expect(await stack.events('came')).toMatchObject([{ type: 'Normal' }]));

    await stop();
    await stack.apply(policy('too-late'));
    await settle();
    expect([await reconciles(), (await stack.see(POLICIES, 'too-late')).ready]).toEqual([2, undefined]);
  });

  test('reconciles after a restart only what has changed meanwhile, here or in the API', async () => {
    const first = await control(stack, 'IPPolicy');
    first.controller.start();
    await stack.apply(...['same', 'edited', 'gone'].map((name) => policy(name)));
    for (const name of ['same', 'edited', 'too-late']) await stack.ready(POLICIES, name);
    const { status } = await stack.ready(POLICIES, 'gone');
    await settle();
    await first.stop();
    await stack.apply(policy('edited', { description: 'new' }));
    await client.ipPolicies.delete(String(status.id));
    const { controller, reconciled, compared } = await control(stack, 'IPPolicy');
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
    const { controller, metric } = await control(stack, 'IPPolicy');
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
    const { controller, metric } = await control(stack, 'IPPolicy');
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
    const first = await control(stack, 'TunnelCredential');
    first.controller.start();
    await stack.apply(credential('held'), credential('other'));
    await Promise.all([stack.ready(CREDENTIALS, 'held'), stack.ready(CREDENTIALS, 'other')]);
    const restored = () => eventually(async () => expect(await stack.secret('held')).toHaveProperty('token'));
    await stack.run('delete', 'secret', 'held');
    await restored();
    await settle();
    await first.stop();
    await stack.run('delete', 'secret', 'held');
    const { controller, reconciles } = await control(stack, 'TunnelCredential');
    controller.start();
    await restored();
    // Which changes nothing that concerns its object.
    await stack.run('annotate', 'secret', 'other', 'unrelated=x');
    await settle();
    expect([await reconciles(), await stack.find(SECRETS, 'other')]).toEqual([1, expect.anything()]);
  });

  test('leaves the objects alone that are not its own, and does not count them', async () => {
    await stack.apply(policy('own'), policy('theirs'));
    const isOurs = ({ metadata }: KubeObject) => metadata.name === 'own';
    const { controller, metric, reconciled } = await control(stack, 'IPPolicy', { isOurs });
    controller.start();
    await stack.ready(POLICIES, 'own');
    await stack.apply(policy('own', { description: 'new' }), policy('theirs', { description: 'new' }));
    await stack.ready(POLICIES, 'own');
    await settle();
    expect(reconciled()).toEqual(new Set([`${namespace}/own`]));
    expect(await metric('tunnel_operator_managed_objects', { kind: 'IPPolicy' })).toBe(1);
  });

  test('does after a restart what is due by then, and leaves the rest to its time', async () => {
    const first = await control(stack, 'TunnelCredential');
    first.controller.start();
    await stack.apply(
      credential('due', { rotation: { overlap: '3s' } }),
      credential('later', { rotation: { overlap: '1h' } }),
    );
    const rotated = async (name: string) => {
      const { id } = (await stack.ready(CREDENTIALS, name)).status;
      await stack.annotate(CREDENTIALS, name, { [ANNOTATION.rotateRequestedAt]: 'now' });
      await eventually(async () => expect((await stack.ready(CREDENTIALS, name)).status.id).not.toBe(id));
      return String(id);
    };
    const [later, due] = [await rotated('later'), await rotated('due')];
    await settle();
    await first.stop();
    expect(await stack.remoteIds()).toEqual(expect.arrayContaining([later, due]));
    const { controller, reconciled } = await control(stack, 'TunnelCredential');
    controller.start();
    await eventually(async () => expect(await stack.remoteIds()).not.toContain(due));
    await settle();
    expect(reconciled()).toEqual(new Set([`${namespace}/due`]));
    expect(await stack.remoteIds()).toContain(later);
  });

  test('has a span for each reconcile and each comparison', async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const tracing = await tracingTo(receiver);
    const { controller, compared } = await control(stack, 'IPPolicy', { tracing });
    await stack.apply(policy('traced'));
    controller.start();
    await compared();
    await stack.ready(POLICIES, 'traced');
    await settle();
    await tracing.stop();
    const names = receiver.spans.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['reconcile IPPolicy', 'resync IPPolicy']));
  });

  test('says that its CustomResourceDefinition is missing', async () => {
    const { controller, metric } = await control(stack, 'BotUser', { plural: 'nothings' });
    expect(controller.cache.obstacle()?.kind).toBe('missing');
    expect(await metric('tunnel_operator_crd_missing', { kind: 'BotUser' })).toBe(1);
    expect(await metric('tunnel_operator_watch_staleness_seconds', { resource: 'nothings' })).toBe(0);
  });
});
