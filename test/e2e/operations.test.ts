/** Running the operator: leader election, shutdown, metrics and probes. */
import { describe, expect, test } from 'vitest';
import { createNamespace, kubectl } from '../harness.ts';
import { blockPolicies } from './blockade.ts';
import { CREDENTIALS, credential, LEASES, POLICIES, policy } from './manifest.ts';
import { eventually, type RunningOperator, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'operations', operators: 0 });
const { namespace, kube } = stack;

const probe = async (operator: RunningOperator, path: string) => {
  const response = await fetch(`${operator.healthUrl}${path}`);
  return { status: response.status, text: await response.text(), type: response.headers.get('content-type') };
};
const isLeader = async (operator: RunningOperator) =>
  /^leader_election_master_status\{name="tunnel-operator"\} 1$/m.test((await probe(operator, '/metrics')).text);
const lease = async () => (await kube.get(LEASES, 'tunnel-operator', namespace)).spec;

describe('with two operators,', () => {
  test('one leads; when it stops, the other takes over and works', async () => {
    const settings = { leaderElect: true, leaseMs: 6_000 };
    const first = await stack.operate({ ...settings, identity: 'first' });
    const second = stack.makeOperator({ ...settings, identity: 'second' });
    const secondLeads = second.start();
    await eventually(async () => expect((await probe(second, '/readyz')).status).toBe(200));

    await stack.apply(policy('led'));
    await stack.ready(POLICIES, 'led');
    expect([await isLeader(first), await isLeader(second)]).toEqual([true, false]);
    const held = await lease();
    expect(held).toMatchObject({ holderIdentity: 'first', leaseDurationSeconds: 6, leaseTransitions: 0 });
    await eventually(async () => expect(await lease()).not.toEqual(held));
    expect(await lease()).toMatchObject({ acquireTime: (held as { acquireTime: string }).acquireTime });

    await stack.stopOperator(first);
    await secondLeads;
    expect(await lease()).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1 });
    expect(await isLeader(second)).toBe(true);
    await stack.apply(policy('led', { description: 'by the second' }));
    const { status } = await stack.ready(POLICIES, 'led');
    expect(await stack.client.ipPolicies.get(String(status.id))).toMatchObject({ description: 'by the second' });
    await stack.stopOperator(second);
    expect(await lease()).toMatchObject({ holderIdentity: '' });
  });
});

describe('a stop', () => {
  const block = () => blockPolicies(stack.api.databaseUrl, 'access exclusive');

  test('waits for the reconcile in progress and starts nothing new', async () => {
    const operator = await stack.operate();
    const blockade = await block();
    await stack.apply(policy('under-way'));
    await blockade.waiting();
    const stopped = stack.stopOperator(operator);
    await eventually(async () => expect(await probe(operator, '/readyz')).toMatchObject({ status: 503 }));
    await stack.apply(credential('too-late'));
    await blockade.release();
    await stopped;
    expect((await stack.see(POLICIES, 'under-way')).ready).toMatchObject({ status: 'True' });
    expect((await stack.see(CREDENTIALS, 'too-late')).status).toEqual({});
    await expect(probe(operator, '/healthz')).rejects.toThrow();
  });

  test('waits no longer than configured; the next operator finishes the work exactly once', async () => {
    const operator = await stack.operate({ shutdownMs: 100 });
    const blockade = await block();
    await stack.apply(policy('left'));
    await blockade.waiting();
    await stack.stopOperator(operator);
    await blockade.release();
    await stack.operate();
    await stack.ready(POLICIES, 'left');
    const declared = (await kube.list(POLICIES, { namespace })).items.map(
      ({ status }) => (status as { id: string }).id,
    );
    const existing = (await stack.remoteIds()).filter((id) => id.startsWith('ipp_'));
    expect(existing.sort()).toEqual(declared.sort());
  });
});

describe('metrics', () => {
  test('have the names of controller-runtime and client-go, with the values that dashboards expect', async () => {
    const operator = await stack.restart();
    await stack.apply(policy('counted'), credential('counted'));
    await stack.ready(POLICIES, 'counted');
    await stack.ready(CREDENTIALS, 'counted');
    await stack.apply(
      policy('bad', { rules: ['2001:DB8::/32', '2001:db8::/32'].map((cidr) => ({ cidr, action: 'deny' })) }),
    );
    await stack.reason(POLICIES, 'bad', 'Ready', 'Rejected');
    const { text, type } = await probe(operator, '/metrics');
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).not.toMatch(/\bNaN\b/);
    const of = (name: string, labels: Record<string, string>) => stack.metric(name, labels);
    const controller = 'IPPolicy';
    expect(await of('controller_runtime_reconcile_total', { controller, result: 'success' })).toBeGreaterThan(0);
    expect(await of('controller_runtime_reconcile_total', { controller, result: 'error' })).toBeGreaterThan(0);
    expect(await of('controller_runtime_terminal_reconcile_errors_total', { controller })).toBeGreaterThan(0);
    expect(await of('controller_runtime_reconcile_time_seconds_count', { controller })).toBe(
      await of('controller_runtime_reconcile_total', { controller }),
    );
    expect(await of('workqueue_adds_total', { name: controller })).toBeGreaterThan(0);
    expect(await of('workqueue_retries_total', { name: controller })).toBeGreaterThan(0);
    expect(await of('rest_client_requests_total', { method: 'POST', code: '201' })).toBeGreaterThan(0);
    expect(await of('tunnel_operator_api_requests_total', { method: 'POST', code: '201' })).toBeGreaterThan(0);
    expect(await of('tunnel_operator_api_requests_total', { method: 'PUT', code: '400' })).toBeGreaterThan(0);
    expect(await of('tunnel_operator_credentials_issued_total', { cause: 'created' })).toBe(1);
    await eventually(async () => {
      expect(await of('tunnel_operator_managed_objects', { kind: controller })).toBe(
        (await kube.list(POLICIES, { namespace })).items.length,
      );
      expect(await of('workqueue_depth', { name: controller })).toBe(0);
      expect(await of('controller_runtime_active_workers', { controller })).toBe(0);
    });
    await stack.remove(POLICIES, 'bad');
  });
});

test('an operator of one namespace leaves other namespaces alone', async () => {
  const other = await createNamespace('elsewhere');
  const manifest = JSON.stringify(policy('theirs'));
  expect(await kubectl(['-n', other, 'apply', '-f', '-'], { input: manifest })).toMatchObject({ code: 0 });
  await stack.apply(policy('ours'));
  await stack.ready(POLICIES, 'ours');
  await stack.reconciled(POLICIES, 'ours');
  const { metadata, status } = await kube.get(POLICIES, 'theirs', other);
  expect(metadata.finalizers).toBeUndefined();
  // The default of the definition.
  expect(status).toMatchObject({ observedGeneration: -1, conditions: [{ type: 'Ready', reason: 'Pending' }] });
});
