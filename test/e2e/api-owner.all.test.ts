/** Replicas of the operator with API keys of different owners. */
import { beforeAll, expect, test, vi } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { readLease } from '../../src/operator/kube/lease.ts';
import { cluster, kubectl } from '../harness.ts';
import { eventually, LEASES, POLICIES, policy, type RunningOperator, startStack } from './stack.ts';

// The operator checks a refused key again only every 10 s: a test may exceed the mutation tester's default timeout.
vi.setConfig({ testTimeout: 60_000 });

const stack = await startStack({ prefix: 'owner', operators: 0 });
const { namespace, kube } = stack;
const settings = { leaderElect: true, leaseMs: 3_000 };

let [ours, other, otherKey] = ['', '', ''];
beforeAll(async () => {
  ours = (await stack.client.whoami()).owner.id;
  other = (await stack.client.users.create({ name: 'Somebody else', admin: true })).id;
  otherKey = (await stack.client.apiKeys.create({ owner_id: other })).token ?? '';
});

const lease = () => kube.get(LEASES, 'tunnel-operator', namespace);
const remembered = async () => (await lease()).metadata.annotations?.[ANNOTATION.apiOwner];
const holder = async () => readLease(await lease()).holderIdentity;
const readyz = async (operator: RunningOperator) => {
  const response = await fetch(`${operator.healthUrl}/readyz`);
  return { status: response.status, text: await response.text() };
};

test('a replica with the key of another owner is not ready and does not become the leader', async () => {
  const first = await stack.operate({ ...settings, identity: 'first' });
  expect(await remembered()).toBe(ours);
  const wrong = stack.makeOperator({ ...settings, identity: 'wrong', apiKey: otherKey });
  const started = wrong.start();
  await eventually(async () =>
    expect(await readyz(wrong)).toEqual({ status: 503, text: expect.stringContaining(`belongs to ${other}`) }),
  );
  await stack.stopOperator(first);
  const third = await stack.operate({ ...settings, identity: 'third' });
  await stack.apply(policy('served'));
  await stack.ready(POLICIES, 'served');
  expect(await holder()).toBe('third');
  await Promise.all([stack.stopOperator(wrong), started]);
  await stack.stopOperator(third);
  expect(await remembered()).toBe(ours);
});

test('a replica reports that the namespace of its Lease is missing, and waits for it', async () => {
  const leaseNamespace = `${namespace}-later`;
  // As an administrator: a service account cannot have permissions in a namespace that does not exist.
  const { kubeconfigPath } = await cluster();
  const operator = stack.makeOperator({ ...settings, leaseNamespace, kubeconfig: kubeconfigPath });
  const started = operator.start();
  const text = expect.stringContaining(`there is no namespace ${leaseNamespace} for the Lease; create it`);
  await eventually(async () => expect(await readyz(operator)).toEqual({ status: 503, text }));
  expect(await kubectl(['create', 'namespace', leaseNamespace])).toMatchObject({ code: 0 });
  await started;
  expect(await readyz(operator)).toEqual({ status: 200, text: 'ok\n' });
  await stack.stopOperator(operator);
  await kubectl(['delete', 'namespace', leaseNamespace, '--wait=false']);
});
