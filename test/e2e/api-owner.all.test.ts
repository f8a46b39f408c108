/** Replicas of the operator with API keys of different owners. */
import { beforeAll, expect, test, vi } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { readLease } from '../../src/operator/kube/lease.ts';
import { cluster, kubectl } from '../harness.ts';
import { eventually, LEASES, POLICIES, policy, type RunningOperator, startStack } from './stack.ts';

// What is refused is tried again every 10 s: all that the mutation tester gives a test by default.
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

test('one with the key of another owner is not ready, and leaves the lead to others', async () => {
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

test('one with the key of another owner does not begin when it is stopped, either', async () => {
  const first = await stack.operate({ ...settings, identity: 'first' });
  await stack.stopOperator(first);
  const wrong = stack.makeOperator({ ...settings, leaderElect: false, identity: 'wrong', apiKey: otherKey });
  const started = wrong.start();
  await eventually(async () => {
    const { text } = await readyz(wrong);
    expect(text).toContain(`belongs to ${other}`);
    expect(text).not.toContain('starting');
  });
  stack.logs.length = 0;
  await Promise.all([stack.stopOperator(wrong), started]);
  expect(stack.logs.join()).not.toContain('"reconciling"');
});

test('a Lease that is deleted comes back with the owner', async () => {
  const operator = await stack.operate({ ...settings, identity: 'leader' });
  const { uid } = (await lease()).metadata;
  await kube.delete(LEASES, 'tunnel-operator', namespace);
  await eventually(async () => {
    expect((await lease()).metadata.uid).not.toBe(uid);
    expect(await remembered()).toBe(ours);
  });
  await stack.stopOperator(operator);
});

test('one that stands by with a key that is refused is ready once the key is accepted', async () => {
  const leader = await stack.operate({ ...settings, identity: 'leader' });
  const { id, token } = await stack.client.apiKeys.create({ owner_id: ours });
  await stack.sql(`update api_keys set expires_at = now() - interval '1 hour' where id = $1`, [id]);
  const late = stack.makeOperator({ ...settings, identity: 'late', apiKey: String(token) });
  const started = late.start();
  const text = expect.stringContaining("refuses the operator's API key");
  await eventually(async () => expect(await readyz(late)).toEqual({ status: 503, text }));
  await stack.sql('update api_keys set expires_at = null where id = $1', [id]);
  await eventually(async () => expect(await readyz(late)).toMatchObject({ status: 200 }));
  await Promise.all([stack.stopOperator(late), started]);
  await stack.stopOperator(leader);
});

test('one that stood by while another owner was accepted gives up the lead', async () => {
  const first = await stack.operate({ ...settings, identity: 'first' });
  const second = stack.makeOperator({ ...settings, identity: 'second' });
  const started = second.start();
  await eventually(async () => expect(await readyz(second)).toMatchObject({ status: 200 }));
  const take = (holderIdentity: string) =>
    eventually(async () => {
      const { resourceVersion } = (await lease()).metadata;
      const metadata = { resourceVersion, annotations: { [ANNOTATION.apiOwner]: other } };
      const spec = { holderIdentity, leaseDurationSeconds: 3600 };
      await kube.patch(LEASES, 'tunnel-operator', { metadata, spec }, namespace);
    });
  await take('somebody');
  await first.lostLead;
  await stack.stopOperator(first);
  stack.logs.length = 0;
  await take('');
  await second.lostLead;
  await started;
  expect(stack.logs.join()).not.toContain('"reconciling"');
  expect(await holder()).toBe('');
  expect(await remembered()).toBe(other);
  expect(await stack.metric('tunnel_operator_api_owner_refused')).toBe(1);
  await stack.stopOperator(second);

  const accepting = await stack.operate({ ...settings, identity: 'accepting', acceptNewOwner: ours });
  expect(await remembered()).toBe(ours);
  await stack.stopOperator(accepting);
});

test.each([true, false])(
  'without the namespace of its Lease, it says so and waits; leader election: %s',
  async (leaderElect) => {
    const leaseNamespace = `${namespace}-${leaderElect ? 'elected' : 'alone'}`;
    // Who may keep a Lease everywhere: nobody has rights in a namespace that is not there.
    const { kubeconfigPath } = await cluster();
    const settings = { leaderElect, leaseMs: 15_000, leaseNamespace, kubeconfig: kubeconfigPath };
    const operator = stack.makeOperator(settings);
    const started = operator.start();
    const text = expect.stringContaining(`there is no namespace ${leaseNamespace} for the Lease; create it`);
    await eventually(async () => expect(await readyz(operator)).toEqual({ status: 503, text }));
    expect(await stack.metric('rest_client_requests_total', { method: 'POST', code: '404' })).toBeLessThan(5);
    expect(stack.logs.filter((line) => JSON.parse(line).level >= 40 && line.includes(leaseNamespace))).toHaveLength(1);
    expect(await kubectl(['create', 'namespace', leaseNamespace])).toMatchObject({ code: 0 });
    await started;
    expect(await readyz(operator)).toEqual({ status: 200, text: 'ok\n' });
    const { metadata } = await kube.get(LEASES, 'tunnel-operator', leaseNamespace);
    expect(metadata.annotations?.[ANNOTATION.apiOwner]).toBe(ours);
    await stack.stopOperator(operator);
    await kubectl(['delete', 'namespace', leaseNamespace, '--wait=false']);
  },
);
