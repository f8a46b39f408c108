/** Teams that are one manifest each: an Account, and objects in the namespace that it selects. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createClient } from '../../src/client/client.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { LabelSelector } from '../../src/operator/kube/label-selector.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { atEnd } from '../end-of-file.ts';
import { createNamespace, kubectl } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { chartAccount } from './chart-account.ts';
import { CREDENTIALS, credential, manifest, ours, POLICIES, policy, SECRETS } from './manifest.ts';
import { API_KEY, eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'platform', operators: 0 });
const { api, client, kube, namespace } = stack;
const IN_PODS = skipFor(process.env.TEST_PODS ? 'not in Pods: it needs an operator of all namespaces' : undefined);
const ACCOUNTS = ours('accounts');
const teams = { payments: await createNamespace('payments'), search: await createNamespace('search') };
const label = `team-of-${namespace}`;
for (const name of [namespace, ...Object.values(teams)])
  await kubectl(['label', 'namespace', name, `${label}=${name}`, `of=${namespace}`]);

const operate = async () => {
  // The rights in all namespaces, but not the work: other test files share the cluster.
  const namespaceSelector = LabelSelector.parse(`of=${namespace}`);
  await stack.operate({
    namespaces: undefined,
    kubeconfig: await chartAccount(kubectl, namespace, []),
    namespaceSelector,
  });
};
const as = (key: string, account?: string) => {
  const opened = createClient({ baseUrl: api.url, apiKey: key, ...(account !== undefined && { account }) });
  atEnd(() => opened.close());
  return opened;
};
const applyIn = async (where: string, ...items: readonly object[]) => {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  expect(await kubectl(['-n', where, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
};
const seen = async (where: string, type: ResourceType, name: string) => {
  const status = readStatus(await kube.get(type, name, where));
  return { ...status, ready: findCondition(status.conditions ?? [], 'Ready') };
};
const readyIn = (where: string, type: ResourceType, name: string) =>
  eventually(async () => {
    const found = await seen(where, type, name);
    expect(found.ready, found.ready?.message).toMatchObject({ status: 'True' });
    return found;
  });
const reasonIn = (where: string, type: ResourceType, name: string, reason: string) =>
  eventually(async () => {
    const { ready } = await seen(where, type, name);
    expect(ready).toMatchObject({ reason });
    return ready?.message ?? '';
  });
const namesIn = async (account: Pick<typeof client, 'ipPolicies'>) =>
  (await Array.fromAsync(account.ipPolicies.list())).map(({ description }) => description).sort();
/** The manifest of docs/operator/connections.md, for another team. */
const documented = async (team: keyof typeof teams) => {
  const page = await readFile(new URL('../../docs/operator/connections.md', import.meta.url), 'utf8');
  const yaml = /```yaml\n(apiVersion: v1\nkind: Namespace[^`]*)```/.exec(page)?.[1] ?? '';
  const text = yaml
    .replaceAll('namespace: payments', `namespace: ${teams[team]}`)
    .replaceAll('namespace: tunnel-operator', `namespace: ${namespace}`)
    .replaceAll('{ team: payments }', `{ ${label}: ${teams[team]} }`)
    .replaceAll('payments', team);
  // The namespace exists.
  return parseAllDocuments(text)
    .slice(1)
    .map((each) => each.toJS());
};
const keyOf = async (team: keyof typeof teams) => {
  const { data } = await kube.get(SECRETS, `${team}-api-key`, teams[team]);
  return Buffer.from((data as { token: string }).token, 'base64').toString('utf8');
};

test('a team is one manifest, and two teams cannot see each other', IN_PODS, async () => {
  await operate();
  for (const team of ['payments', 'search'] as const) {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: await documented(team) });
    expect(await kubectl(['apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
  }
  for (const team of ['payments', 'search'] as const) {
    const account = await readyIn(namespace, ACCOUNTS, team);
    const { connection } = await readyIn(teams[team], POLICIES, 'office');
    expect(connection).toBe(`Account/${team}/${account.id}`);
    await readyIn(teams[team], CREDENTIALS, 'agent');
    await readyIn(teams[team], ours('apikeys'), team);
    await applyIn(teams[team], policy('own', { description: `only ${team}` }));
    await readyIn(teams[team], POLICIES, 'own');
    expect(await as(await keyOf(team)).ownAccount()).toMatchObject({ id: account.id });
  }
  expect(await namesIn(client)).toEqual([]);
  expect(await namesIn(as(await keyOf('payments')))).toContain('only payments');
  expect(await namesIn(as(await keyOf('payments')))).not.toContain('only search');
  expect(await namesIn(as(await keyOf('search')))).not.toContain('only payments');
});

test('an object of one team cannot refer to one of another, nor choose its account', IN_PODS, async () => {
  const elsewhere = { kind: 'Account', name: 'search' };
  await applyIn(teams.payments, policy('stray', { connectionRef: elsewhere }));
  const message = await reasonIn(teams.payments, POLICIES, 'stray', 'ConnectionNotFound');
  expect(message).toContain(`no Account search selects namespace ${teams.payments}`);
  await kube.delete(POLICIES, 'stray', teams.payments);
  const id = (await seen(teams.search, POLICIES, 'own')).id;
  const modules = { tlsEdgeRef: { name: 'edge' }, ipRestriction: { ipPolicyRefs: [{ id }] } };
  await applyIn(teams.payments, manifest('TLSEdge', 'edge'), manifest('TLSEdgeModules', 'edge', modules));
  expect(await reasonIn(teams.payments, ours('tlsedgemodules'), 'edge', 'Rejected')).toContain('does not exist');
  for (const plural of ['tlsedgemodules', 'tlsedges']) await kube.delete(ours(plural), 'edge', teams.payments);
});

test('an account counts in the namespace of the operator alone', IN_PODS, async () => {
  await applyIn(teams.payments, manifest('Account', 'greedy', { name: 'greedy', namespaceSelector: {} }));
  const message = await reasonIn(teams.payments, ACCOUNTS, 'greedy', 'Rejected');
  expect(message).toBe(
    `an Account counts only in the namespace of the operator, ${namespace}: create it there, and delete this one`,
  );
  const accounts = await Array.fromAsync(client.accounts.list());
  expect(accounts.map(({ name }) => name)).not.toContain('greedy');
  await kube.delete(ACCOUNTS, 'greedy', teams.payments);
});

test('a quota, a missing owner and an account that is not there yet are told in words', IN_PODS, async () => {
  await kube.patch(ACCOUNTS, 'search', { spec: { quotas: { ipPolicies: 2 } } }, namespace);
  const { id } = await readyIn(namespace, ACCOUNTS, 'search');
  await eventually(async () => expect((await client.accounts.get(String(id))).quotas).toEqual({ ip_policies: 2 }));
  await applyIn(teams.search, policy('more'), credential('ownerless'));
  expect(await reasonIn(teams.search, POLICIES, 'more', 'Rejected')).toMatch(/2/);
  expect(await reasonIn(teams.search, CREDENTIALS, 'ownerless', 'Rejected')).toContain('spec.ownerRef: name a BotUser');
  await kube.patch(ACCOUNTS, 'search', { spec: { quotas: { ipPolicies: 3 } } }, namespace);
  await readyIn(teams.search, POLICIES, 'more');
});

/** Deletes the object, and nothing else. Its finalizer goes last, since the operator would add it again. */
async function loseSearch(): Promise<void> {
  await kube.delete(ACCOUNTS, 'search', namespace);
  await kube.patch(ACCOUNTS, 'search', { metadata: { finalizers: null } }, namespace);
}

test('an account that was created anew gets nothing of the old one', IN_PODS, async () => {
  const { id } = await readyIn(namespace, ACCOUNTS, 'search');
  const spec = (await kube.get(ACCOUNTS, 'search', namespace)).spec as object;
  await loseSearch();
  await applyIn(namespace, manifest('Account', 'search', spec));
  const { id: other } = await readyIn(namespace, ACCOUNTS, 'search');
  expect(other).not.toBe(id);
  const annotations = { 'tunnel-operator.dev/reconcile-requested-at': 'now' };
  await kube.patch(POLICIES, 'own', { metadata: { annotations } }, teams.search);
  const message = await reasonIn(teams.search, POLICIES, 'own', 'ConnectionNotFound');
  expect(message).toContain(`belongs to ${id}, but Account/search is ${other} now`);
  expect(await namesIn(as(API_KEY, String(other)))).toEqual([]);
  await loseSearch();
  await applyIn(namespace, manifest('Account', 'search', spec, { 'tunnel-operator.dev/adopt': String(id) }));
  await readyIn(teams.search, POLICIES, 'own');
});

test('an account is deleted once no object uses it and nothing belongs to it', IN_PODS, async () => {
  const { id } = await readyIn(namespace, ACCOUNTS, 'payments');
  await as(API_KEY, String(id)).ipPolicies.create({ description: 'by hand' });
  await kube.delete(ACCOUNTS, 'payments', namespace);
  const used = await reasonIn(namespace, ACCOUNTS, 'payments', 'DeletionBlocked');
  expect(used).toContain(`IPPolicy ${teams.payments}/office`);
  for (const plural of ['apikeys', 'tunnelcredentials', 'ippolicies', 'botusers'])
    expect(await kubectl(['-n', teams.payments, 'delete', plural, '--all'])).toMatchObject({ code: 0 });
  await eventually(async () => {
    expect((await seen(namespace, ACCOUNTS, 'payments')).ready?.message).toContain('still owns IP policies');
  });
  const inAccount = as(API_KEY, String(id));
  for await (const each of inAccount.ipPolicies.list()) await inAccount.ipPolicies.delete(each.id);
  await kube.patch(
    ACCOUNTS,
    'payments',
    { metadata: { annotations: { 'tunnel-operator.dev/reconcile-requested-at': 'now' } } },
    namespace,
  );
  await eventually(async () => expect(await kube.find(ACCOUNTS, 'payments', namespace)).toBeUndefined());
  await expect(client.accounts.get(String(id))).rejects.toMatchObject({ status: 404 });
});

test('a key of somebody else than a platform admin is told so, and does nothing', IN_PODS, async () => {
  const { id } = await readyIn(namespace, ACCOUNTS, 'search');
  const inTeam = as(API_KEY, String(id));
  const { id: owner } = await inTeam.users.create({ name: 'Ada', admin: true });
  const { token } = await inTeam.apiKeys.create({ owner_id: owner });
  await stack.restart(undefined, {
    namespaces: [namespace],
    kubeconfig: await chartAccount(kubectl, namespace, [namespace]),
    apiKey: String(token),
    acceptNewOwner: owner,
  });
  await applyIn(namespace, manifest('Account', 'new', { name: 'new' }));
  expect(await reasonIn(namespace, ACCOUNTS, 'new', 'AccessDenied')).toContain('Only admins of the first account');
});
