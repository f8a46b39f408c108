/** The life of an operator as its log, metrics and probes show it, with a real API server and management API. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { WatchCache } from '../../src/operator/kube/watch-cache.ts';
import { blockPolicies } from '../e2e/blockade.ts';
import { ACCOUNT, chartAccount } from '../e2e/chart-account.ts';
import { LEASES, manifest, ours, POLICIES, policy } from '../e2e/manifest.ts';
import { eventually, startStack } from '../e2e/stack.ts';
import { kubectl } from '../harness.ts';

const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces' };

/** Log levels. */
const [INFO, WARNING] = [30, 40];
const stack = await startStack({ prefix: 'life', operators: 0 });

/** The lines logged since the last call at this level and above, without the members that every line has. */
function said(least: number) {
  const lines = stack.logs.splice(0).map((line) => JSON.parse(line));
  return lines.filter(({ level }) => level >= least).map(({ time: _, pid: __, hostname: ___, ...line }) => line);
}

const readyz = async (url: string | undefined) => {
  const answer = await fetch(`${url}/readyz`);
  return { status: answer.status, text: await answer.text() };
};

test('an operator logs where it serves, which kinds it reconciles, and that it has stopped', async () => {
  const operator = await stack.operate();
  const { healthUrl } = operator;
  const owner = (await stack.client.whoami()).owner.id;
  const cluster = (await stack.kube.get(NAMESPACES, 'kube-system')).metadata.uid;
  const lines = said(INFO);
  // Just after a CustomResourceDefinition is created, the API server asks for its watches to be repeated later.
  expect(lines.filter(({ resource }) => resource === undefined)).toEqual([
    { level: 30, url: healthUrl, msg: 'serving metrics and probes' },
    { level: 30, owner, msg: 'working in the name of a new owner' },
    { level: 30, kinds: allKinds.map(({ kind }) => kind), cluster, msg: 'reconciling' },
  ]);
  // The cluster need not have ReferenceGrants.
  expect(lines.filter(({ resource }) => resource === 'referencegrants')).toEqual([]);
  // The POST that created the Lease: calls of the separate client for the Lease are counted as well.
  expect(await stack.metric('rest_client_requests_total', { method: 'POST', code: '201' })).toBe(1);
  await stack.stopOperator(operator);
  expect(said(INFO)).toEqual([{ level: 30, msg: 'stopped' }]);
  await expect(fetch(`${healthUrl}/healthz`)).rejects.toThrow();
});

test('an operator on standby is ready, and its metrics show that it does not lead', async () => {
  const settings = { leaderElect: true, leaseMs: 6_000 };
  const leader = await stack.operate({ ...settings, identity: 'leader' });
  const waiting = stack.makeOperator({ ...settings, identity: 'waiting' });
  const started = waiting.start();
  await eventually(async () => expect(await readyz(waiting.healthUrl)).toEqual({ status: 200, text: 'ok\n' }));
  expect(await stack.metric('leader_election_master_status', { name: 'tunnel-operator' })).toBe(0);
  await Promise.all([stack.stopOperator(waiting), started]);
  await stack.stopOperator(leader);
  const { spec } = await stack.kube.get(LEASES, 'tunnel-operator', stack.namespace);
  expect(spec).toMatchObject({ holderIdentity: '' });
});

test('an operator that is stopping is not ready, and warns about the reconciles that it aborts', async () => {
  const operator = await stack.operate({ shutdownMs: 3_000 });
  const blockade = await blockPolicies(stack.api.databaseUrl, 'access exclusive');
  await stack.apply(policy('under-way'));
  await blockade.waiting();
  said(INFO);
  const stopped = stack.stopOperator(operator);
  expect(await readyz(operator.healthUrl)).toEqual({ status: 503, text: expect.stringMatching(/^stopping$/m) });
  await stopped;
  await blockade.release();
  const [first, ...others] = said(WARNING);
  expect(first).toEqual({ level: 40, msg: 'shutdown timeout reached; aborting the reconciles in progress' });
  // There are no other warnings, for example about the watches, whose connections end as well.
  expect(others.map(({ object }) => object)).toEqual(others.map(() => `${stack.namespace}/under-way`));
  await stack.restart();
  await stack.ready(POLICIES, 'under-way');
});

test('an operator that may not read which cluster it is in says what to do', async () => {
  const { namespace } = stack;
  const kubeconfig = await chartAccount(kubectl, namespace, [namespace]);
  await kubectl(['-n', 'kube-system', 'delete', 'rolebinding', `${namespace}-${ACCOUNT}-cluster`]);
  const as = `--as=system:serviceaccount:${namespace}:${ACCOUNT}`;
  const mayRead = async () => (await kubectl(['auth', 'can-i', 'get', 'namespaces/kube-system', as])).stdout;
  await eventually(async () => expect(await mayRead()).toBe('no\n'));
  const both = /not allowed to read the namespace kube-system.*grant get on it.*or set --cluster-id/;
  const refused = stack.makeOperator({ kubeconfig });
  await expect(refused.start()).rejects.toThrow(both);
  await stack.stopOperator(refused);
  await stack.stopOperator(await stack.operate({ kubeconfig, clusterId: 'given' }));
  await chartAccount(kubectl, namespace, [namespace]);
});

test('an operator that may not list Secrets says so, and starts to reconcile only once it may', async () => {
  const { namespace } = stack;
  const kubeconfig = await chartAccount(kubectl, namespace, [namespace], (rules) =>
    rules.filter(({ resources }) => !resources.includes('secrets')),
  );
  const as = `--as=system:serviceaccount:${namespace}:${ACCOUNT}`;
  const mayList = async () => (await stack.run('auth', 'can-i', 'list', 'secrets', as)).stdout;
  await eventually(async () => expect(await mayList()).toBe('no\n'));
  said(INFO);
  const operator = stack.makeOperator({ kubeconfig });
  const started = operator.start();
  await eventually(async () => {
    const { status, text } = await readyz(operator.healthUrl);
    expect(status).toBe(503);
    expect(text).toContain('\nSecret: not allowed to list secrets');
    expect(text).toContain('\nReferenceGrant: not listed yet\n');
  });
  expect(await stack.metric('tunnel_operator_watch_forbidden', { resource: 'secrets' })).toBe(1);
  expect(await stack.metric('tunnel_operator_watch_staleness_seconds', { resource: 'secrets' })).toBe(0);
  expect(said(INFO).map(({ msg }) => msg)).not.toContain('reconciling');
  await chartAccount(kubectl, namespace, [namespace]);
  await started;
  expect(await readyz(operator.healthUrl)).toEqual({ status: 200, text: 'ok\n' });
  await stack.stopOperator(operator);
});

test('before a route serves, the operator catches up on route modules and ReferenceGrants', async () => {
  const looked = vi.spyOn(WatchCache.prototype, 'catchUp');
  onTestFinished(() => looked.mockRestore());
  const operator = await stack.operate();
  const backendRef = { kind: 'HTTPResponseBackend', name: 'serving' };
  const route = { edgeRef: { name: 'serving' }, match: '/', matchType: 'path_prefix', backendRef };
  await stack.apply(
    manifest('HTTPSEdge', 'serving', {}),
    manifest(backendRef.kind, 'serving', { body: { value: 'x' } }),
    manifest('HTTPSEdgeRoute', 'serving', route),
  );
  await stack.ready(ours('httpsedgeroutes'), 'serving');
  const caches = looked.mock.contexts.map((cache) => cache instanceof WatchCache && cache.resource);
  expect(caches).toEqual(expect.arrayContaining(['referencegrants', 'httpsedgeroutemodules']));
  await stack.stopOperator(operator);
});
