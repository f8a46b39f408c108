/** ClusterAPIConnections, and connections whose API hangs. */
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { LabelSelector } from '../../src/operator/kube/label-selector.ts';
import { createNamespace, kubectl } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { chartAccount } from './chart-account.ts';
import { manifest, ours, POLICIES, policy } from './manifest.ts';
import { eventually, startStack } from './stack.ts';
import { teamAccount } from './team-account.ts';

const stack = await startStack({ prefix: 'shared', operators: 0 });
const { kube, namespace } = stack;
const IN_PODS = process.env.TEST_PODS ? 'not in Pods: it needs an account of its own' : undefined;

const applyIn = async (where: string, ...items: readonly object[]) => {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  expect(await kubectl(['-n', where, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
};
const readyIn = async (where: string, name: string, type = POLICIES) => {
  const object = await kube.get(type, name, where);
  const status = object.status as { conditions?: { type: string; status: string; reason: string; message: string }[] };
  return status.conditions?.find((condition) => condition.type === 'Ready');
};
const keySecret = (name: string, apiKey: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { apiKey },
});
const reference = (name: string) => ({ apiKeySecretRef: { name } });

test('the namespaces with the labels use it, as they come and go', skipFor(IN_PODS), async () => {
  const team = await teamAccount(stack.api.url, 'web');
  const other = await createNamespace('labelled');
  await applyIn(namespace, keySecret('web-key', team.apiKey));
  const name = `web-${other}`;
  await applyIn(
    namespace,
    manifest('ClusterAPIConnection', name, {
      ...reference('web-key'),
      namespaceSelector: { matchLabels: { team: other } },
    }),
  );
  onTestFinished(async () => {
    await applyIn(other, policy('first'));
    await kubectl(['-n', other, 'delete', 'ippolicy', '--all']);
    await kubectl(['delete', 'clusterapiconnection', name]);
  });
  const kubeconfig = await chartAccount(kubectl, namespace, []);
  // The rights in all namespaces, but not the work: other test files share the cluster.
  await kubectl(['label', 'namespace', other, `of=${other}`]);
  const namespaceSelector = LabelSelector.parse(`of=${other}`);
  await stack.operate({ namespaces: undefined, namespaceSelector, kubeconfig, requireConnection: true });
  await applyIn(other, policy('first'));
  await eventually(async () => expect(await readyIn(other, 'first')).toMatchObject({ reason: 'ConnectionNotFound' }));
  await kubectl(['label', 'namespace', other, `team=${other}`]);
  await eventually(async () => expect(await readyIn(other, 'first')).toMatchObject({ status: 'True' }));
  expect(await kube.get(POLICIES, 'first', other)).toMatchObject({
    status: { connection: `ClusterAPIConnection/${name}` },
  });
  await kubectl(['label', 'namespace', other, 'team-']);
  await applyIn(other, policy('second'));
  await eventually(async () => expect(await readyIn(other, 'second')).toMatchObject({ reason: 'ConnectionNotFound' }));
  await kubectl(['label', 'namespace', other, `team=${other}`]);
  await eventually(async () => expect(await readyIn(other, 'second')).toMatchObject({ status: 'True' }));
});

test('an API that hangs does not hold up the objects of other connections', skipFor(IN_PODS), async () => {
  const hung = createServer(() => {}).listen(0, '127.0.0.1');
  onTestFinished(() => {
    hung.closeAllConnections();
    hung.close();
  });
  await new Promise((resolve) => hung.once('listening', resolve));
  const address = hung.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const team = await teamAccount(stack.api.url, 'calm');
  const [slow, calm] = [await createNamespace('slow'), await createNamespace('calm')];
  const watch = [namespace, slow, calm];
  await stack.restart(undefined, {
    namespaces: watch,
    kubeconfig: await chartAccount(kubectl, namespace, watch),
    connectionUrls: [url],
    concurrency: 2,
    apiTimeoutMs: 60_000,
  });
  await applyIn(
    slow,
    keySecret('key', team.apiKey),
    manifest('APIConnection', 'default', { ...reference('key'), url }),
  );
  await applyIn(slow, ...Array.from({ length: 20 }, (_, at) => policy(`p${at}`)));
  await applyIn(calm, keySecret('key', team.apiKey), manifest('APIConnection', 'default', reference('key')));
  await applyIn(calm, ...Array.from({ length: 5 }, (_, at) => policy(`p${at}`)));
  for (let at = 0; at < 5; at++)
    await eventually(async () => expect(await readyIn(calm, `p${at}`)).toMatchObject({ status: 'True' }));
  expect(await readyIn(slow, 'p0')).toMatchObject({ status: 'Unknown' });
  // Without its API, nothing lets these go.
  for (const { metadata } of (await kube.list(ours('apiconnections'), { namespace: slow })).items)
    await kube.patch(ours('apiconnections'), metadata.name, { metadata: { finalizers: null } }, slow);
});
