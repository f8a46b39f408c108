/** Objects that use an APIConnection of their namespace, and with it another account. */
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { cluster } from '../harness.ts';
import { runCommand } from './command.ts';
import { type Manifest, manifest, ours, POLICIES, policy, SECRETS } from './manifest.ts';
import { API_KEY, eventually, startStack } from './stack.ts';
import { type TeamAccount, teamAccount } from './team-account.ts';

const stack = await startStack();
const { client, kube, namespace } = stack;
const CONNECTIONS = ours('apiconnections');
const team = await teamAccount(stack.api.url, 'payments');

const keySecret = (name: string, apiKey: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { apiKey },
});
const connection = (name: string, { apiKey }: Pick<TeamAccount, 'apiKey'>, spec: object = {}): Manifest[] => [
  keySecret(`${name}-key`, apiKey),
  manifest('APIConnection', name, { apiKeySecretRef: { name: `${name}-key` }, ...spec }),
];
const namesIn = async (account: Pick<typeof client, 'ipPolicies'>) => {
  const found: string[] = [];
  for await (const { description } of account.ipPolicies.list()) found.push(description ?? '');
  return found.sort();
};
const condition = async (plural: string, name: string, type: string) => {
  const object = await kube.get(ours(plural), name, namespace);
  return findCondition(readStatus(object).conditions ?? [], type);
};
const described = (name: string, spec: object = {}) => policy(name, { description: name, ...spec });

test('objects use the default connection of their namespace from its creation on, and keep what they have', async () => {
  await stack.apply(described('before'));
  await stack.ready(POLICIES, 'before');
  await stack.apply(...connection('default', team), described('after'));
  const { status, object } = await stack.ready(POLICIES, 'after');
  expect(status.connection).toBe('APIConnection/default');
  expect(object.metadata.annotations?.['tunnel-operator.dev/connection']).toBe('APIConnection/default');
  expect(await condition('ippolicies', 'after', 'ConnectionResolved')).toMatchObject({ status: 'True' });
  await stack.apply(described('before', { metadata: 'changed' }));
  const before = await stack.ready(POLICIES, 'before');
  expect(before.status.connection).toBeUndefined();
  expect([await namesIn(client), await namesIn(team.client)]).toEqual([['before'], ['after']]);
  expect(await kube.get(CONNECTIONS, 'default', namespace)).toMatchObject({ status: { owner: { id: team.ownerId } } });
});

test('export and plan use the key of a connection, and plan says when another one is needed', async () => {
  const { kubeconfigPath } = await cluster();
  const env = { KUBECONFIG: kubeconfigPath, TUNNEL_API_URL: stack.api.url };
  const through = ['--connection', `${namespace}/default`];
  const exported = await runCommand(['export', '--kind', 'ippolicy', ...through], env);
  expect(exported).toMatchObject({ code: 0, stderr: '' });
  expect(parse(exported.stdout)).toMatchObject({ kind: 'IPPolicy', spec: { description: 'after' } });

  const files = ['plan', '-f', '-', '-n', namespace];
  // The connection itself changes nothing at the API.
  const items = [...connection('default', team), described('after')];
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const planned = await runCommand([...files, ...through], env, input);
  expect(planned).toMatchObject({ code: 0, stderr: '' });
  const mistaken = await runCommand(files, { ...env, TUNNEL_API_KEY: API_KEY }, input);
  expect(mistaken.code).toBe(1);
  expect(mistaken.stdout).toContain(
    `does not exist in this account: plan this object with --connection ${namespace}/default`,
  );

  const wrong = await runCommand(['export', '--connection', `${namespace}/missing`], env);
  expect(wrong).toMatchObject({
    code: 1,
    stderr: `tunnel-operator failed: APIConnection ${namespace}/missing does not exist\n`,
  });
  const malformed = await runCommand(['export', '--connection', 'default'], env);
  expect(malformed.stderr).toContain('--connection is "default", but must be a namespace and a name');
});

test('a connection that is named goes before the default one, and cannot be changed', async () => {
  const other = await teamAccount(stack.api.url, 'search');
  await stack.apply(...connection('search', other));
  await stack.apply(described('named', { connectionRef: { name: 'search' } }));
  await stack.ready(POLICIES, 'named');
  expect(await namesIn(other.client)).toEqual(['named']);
  const refused = await stack.tryApply(described('named', { connectionRef: { name: 'default' } }));
  expect(refused.stderr).toContain('connectionRef cannot be changed');
  await stack.remove(POLICIES, 'named');
  expect(await namesIn(other.client)).toEqual([]);
});

test('a reference to an object of another connection is refused in words', async () => {
  const modules = { tlsEdgeRef: { name: 'edge' }, ipRestriction: { ipPolicyRefs: [{ name: 'before' }] } };
  await stack.apply(manifest('TLSEdge', 'edge'), manifest('TLSEdgeModules', 'edge', modules));
  await stack.ready(ours('tlsedges'), 'edge');
  const { ready } = await stack.reason(ours('tlsedgemodules'), 'edge', 'Ready', 'ReferenceNotPermitted');
  expect(ready?.message).toContain(`IPPolicy ${namespace}/before uses another connection`);
  await stack.remove(ours('tlsedgemodules'), 'edge');
});

const refusedKeys = () => stack.metric('tunnel_operator_connection_requests_total', { code: '401' });

test('a key is replaced in place without a refusal, and its successor is used once the old one is gone', async () => {
  const { id, token } = await team.newKey();
  await kube.patch(SECRETS, 'default-key', { stringData: { apiKey: token } }, namespace);
  await eventually(async () => {
    const [key] = await stack.sql('select last_used_at from api_keys where id = $1', [id]);
    expect(key?.last_used_at).toBeInstanceOf(Date);
  });
  for await (const key of team.client.apiKeys.list()) {
    if (key.id !== id && key.owner_id === team.ownerId) await team.client.apiKeys.delete(key.id);
  }
  await stack.apply(described('after', { metadata: 'with the new key' }));
  expect((await stack.ready(POLICIES, 'after')).status.connection).toBe('APIConnection/default');
  expect(await refusedKeys()).toBe(0);
});

test('an operator that restarts sends nothing before it has read the key', async () => {
  await stack.restart(() => stack.apply(described('after', { metadata: 'changed meanwhile' })));
  await stack.ready(POLICIES, 'after');
  expect(await refusedKeys()).toBe(0);
});

test('a key of another owner is refused, and its objects make no call until the right one is back', async () => {
  const stranger = await teamAccount(stack.api.url, 'stranger');
  const right = await team.newKey().catch(() => undefined);
  await kube.patch(SECRETS, 'default-key', { stringData: { apiKey: stranger.apiKey } }, namespace);
  await eventually(async () => {
    expect(await condition('apiconnections', 'default', 'Ready')).toMatchObject({ reason: 'AccessDenied' });
  });
  await stack.apply(described('later'));
  const { ready } = await stack.reason(POLICIES, 'later', 'Ready', 'ConnectionNotReady');
  expect(ready?.message).toContain(`APIConnection ${namespace}/default is not Ready`);
  expect(await namesIn(stranger.client)).toEqual([]);
  await kube.patch(SECRETS, 'default-key', { stringData: { apiKey: right?.token } }, namespace);
  await stack.ready(POLICIES, 'later');
});

test.each([
  ['https://169.254.169.254', 'must have a public address'],
  ['http://kubernetes.default.svc', 'must be an https URL'],
  ['ftp://example.com', 'spec.url: must be an http or https URL'],
])('%s cannot be called', async (url, message) => {
  await stack.apply(...connection('elsewhere', team, { url }));
  await eventually(async () => {
    const ready = await condition('apiconnections', 'elsewhere', 'Ready');
    expect(ready).toMatchObject({ status: 'False', reason: 'Rejected' });
    expect(ready?.message).toContain(message);
  });
  await stack.remove(CONNECTIONS, 'elsewhere');
});

test('a connection is deleted once nothing uses it, and says what does', async () => {
  await stack.run('delete', 'apiconnection', 'default', '--wait=false');
  await eventually(async () => {
    const ready = await condition('apiconnections', 'default', 'Ready');
    expect(ready).toMatchObject({ reason: 'DeletionBlocked' });
    expect(ready?.message).toContain(`IPPolicy ${namespace}/after`);
  });
  await stack.apply(described('late'));
  await stack.reason(POLICIES, 'late', 'Ready', 'ConnectionNotReady');
  await stack.remove(POLICIES, 'after', 'later');
  await stack.remove(ours('tlsedges'), 'edge');
  await eventually(async () => expect(await stack.find(CONNECTIONS, 'default')).toBeUndefined());
  expect(await namesIn(team.client)).toEqual([]);
  // Nothing was begun for it, so it uses what there is now.
  await stack.ready(POLICIES, 'late');
});

test('a connection whose key comes after its deletion keeps the owner of that key', async () => {
  const [late, stranger] = [await teamAccount(stack.api.url, 'late'), await teamAccount(stack.api.url, 'intruder')];
  const [secret, object] = [connection('late', late)[0], connection('late', late)[1]];
  if (!secret || !object) throw new Error('a connection is two manifests');
  await stack.apply(object, described('begun', { connectionRef: { name: 'late' } }));
  await stack.reason(POLICIES, 'begun', 'Ready', 'ConnectionNotReady');
  await stack.run('delete', 'apiconnection', 'late', '--wait=false');
  await stack.apply(secret);
  await stack.ready(POLICIES, 'begun');
  await kube.patch(SECRETS, 'late-key', { stringData: { apiKey: stranger.apiKey } }, namespace);
  await eventually(async () => {
    expect(await condition('apiconnections', 'late', 'Ready')).toMatchObject({ reason: 'AccessDenied' });
  });
  await kube.patch(SECRETS, 'late-key', { stringData: { apiKey: late.apiKey } }, namespace);
  await stack.remove(POLICIES, 'begun');
  await eventually(async () => expect(await stack.find(CONNECTIONS, 'late')).toBeUndefined());
  expect([await namesIn(late.client), await namesIn(stranger.client)]).toEqual([[], []]);
});

test('objects can be deleted at once with their connection and its Secret, as with their namespace', async () => {
  const leaving = await teamAccount(stack.api.url, 'leaving');
  await stack.apply(...connection('leaving', leaving));
  await stack.apply(described('left', { connectionRef: { name: 'leaving' } }));
  await stack.ready(POLICIES, 'left');
  await stack.run('delete', 'secret', 'leaving-key', '--wait=false');
  await stack.run('delete', 'apiconnection', 'leaving', '--wait=false');
  await stack.restart(() => stack.run('delete', 'ippolicy', 'left', '--wait=false'));
  await eventually(async () => {
    expect(await stack.find(CONNECTIONS, 'leaving')).toBeUndefined();
    expect(await stack.find(SECRETS, 'leaving-key')).toBeUndefined();
  });
  expect(await namesIn(leaving.client)).toEqual([]);
});

test('objects whose connection never had a key can be deleted with it, as in a namespace where nobody can add one', async () => {
  await stack.apply(manifest('APIConnection', 'never', { apiKeySecretRef: { name: 'never-key' } }));
  await stack.apply(described('waiting', { connectionRef: { name: 'never' } }));
  await stack.reason(POLICIES, 'waiting', 'Ready', 'ConnectionNotReady');
  await eventually(async () => expect((await stack.find(POLICIES, 'waiting'))?.metadata.finalizers).toHaveLength(1));
  await stack.run('delete', 'apiconnection', 'never', '--wait=false');
  await stack.restart(() => stack.run('delete', 'ippolicy', 'waiting', '--wait=false'));
  await eventually(async () => {
    expect(await stack.find(POLICIES, 'waiting')).toBeUndefined();
    expect(await stack.find(CONNECTIONS, 'never')).toBeUndefined();
  });
});

test('what was begun with the operator’s own key can be deleted, although there is a connection now', async () => {
  const later = await teamAccount(stack.api.url, 'later');
  const credentials = ours('tunnelcredentials');
  await stack.apply(manifest('TunnelCredential', 'refused', { ownerId: later.ownerId }));
  await eventually(async () => expect((await stack.find(credentials, 'refused'))?.metadata.finalizers).toHaveLength(1));
  await stack.reason(credentials, 'refused', 'Ready', 'Rejected');
  await stack.apply(...connection('default', later), described('user'));
  await stack.ready(POLICIES, 'user');
  await stack.reason(credentials, 'refused', 'Ready', 'ConnectionNotFound');
  await stack.run('delete', 'tunnelcredential', 'refused', '--wait=false');
  await eventually(async () => expect(await stack.find(credentials, 'refused')).toBeUndefined());
  await stack.remove(POLICIES, 'user');
  await stack.remove(CONNECTIONS, 'default');
});

test('a key that cannot be kept is not used, as in a namespace that is deleted', async () => {
  const short = await teamAccount(stack.api.url, 'short');
  const [secret, object] = connection('short', short);
  if (!secret || !object) throw new Error('a connection is two manifests');
  const other = 'example.com/held-by-another';
  await stack.apply({ ...secret, metadata: { ...secret.metadata, finalizers: [other] } });
  await stack.run('delete', 'secret', 'short-key', '--wait=false');
  await stack.apply(object, described('brief', { connectionRef: { name: 'short' } }));
  await eventually(async () => {
    expect((await condition('apiconnections', 'short', 'Ready'))?.message).toContain(
      'is being deleted: create it anew',
    );
  });
  await stack.reason(POLICIES, 'brief', 'Ready', 'ConnectionNotReady');
  expect(await namesIn(short.client)).toEqual([]);
  await kube.patch(SECRETS, 'short-key', { metadata: { finalizers: null } }, namespace);
  await stack.remove(POLICIES, 'brief');
  await stack.remove(CONNECTIONS, 'short');
});

test('a Secret that a connection names no longer is released', async () => {
  const moved = await teamAccount(stack.api.url, 'moved');
  await stack.apply(...connection('moved', moved));
  const held = async (name: string) => (await stack.find(SECRETS, name))?.metadata.finalizers;
  await eventually(async () => expect(await held('moved-key')).toEqual(['tunnel-operator.dev/connection-in-use']));
  await stack.apply(keySecret('other-key', moved.apiKey));
  await kube.patch(CONNECTIONS, 'moved', { spec: { apiKeySecretRef: { name: 'other-key' } } }, namespace);
  await eventually(async () => expect(await held('other-key')).toHaveLength(1));
  expect(await held('moved-key')).toBeUndefined();
  await stack.remove(CONNECTIONS, 'moved');
  expect(await held('other-key')).toBeUndefined();
});

test('with --require-connection, nothing is done with the operator’s own key', async () => {
  await stack.restart(undefined, { requireConnection: true });
  await stack.apply(described('orphan'));
  const { ready } = await stack.reason(POLICIES, 'orphan', 'Ready', 'ConnectionNotFound');
  expect(ready?.message).toContain('create an APIConnection default');
  expect(await namesIn(client)).not.toContain('orphan');
  await stack.apply(...connection('default', { apiKey: (await teamAccount(stack.api.url, 'third')).apiKey }));
  await stack.ready(POLICIES, 'orphan');
});
