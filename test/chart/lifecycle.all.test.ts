/**
 * The life of a release on its own control plane without nodes: programs that would run in Pods run here, with the
 * tokens of the chart's service accounts.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import { credential, manifest, policy } from '../e2e/manifest.ts';
import { API_KEY, eventually, type RunningOperator, startStack } from '../e2e/stack.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { CHART, DATABASE, helm, LACKS_SERVER_SIDE_APPLY, render } from './helm.ts';
import { previousVersion } from './previous-version.ts';
import { releaseOn } from './release.ts';

const RELEASE = 'it';
const NAMESPACE = 'system';
const SECRET = 'it-tunnel-operator';
const OPERATIONS = await readFile(join(CHART, '../../docs/operations.md'), 'utf8');
const secretFile = z.object({ data: z.record(z.string(), z.string()) });

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-chart-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a release', skipFor(NOT_OUR_CLUSTER), async () => {
  const own = await startControlPlane();
  afterAll(() => own.stop());
  const stack = await startStack({ prefix: 'release', operators: 0 });

  const names = { name: RELEASE, namespace: NAMESPACE, folder };
  const { tryKubectl, kubectl, operate, runHook, tryRelease, release } = releaseOn(own, names);
  const applyTo = (namespace: string, ...items: object[]) =>
    kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const ready = (...objects: string[]) =>
    kubectl(['-n', 'a', 'wait', '--for=condition=Ready', '--timeout=30s', ...objects]);
  const exists = async (...object: string[]) => (await tryKubectl(['get', ...object])).code === 0;
  const secret = async (name = SECRET, namespace = NAMESPACE) =>
    secretFile.parse(JSON.parse(await kubectl(['-n', namespace, 'get', 'secret', name, '-o', 'json']))).data;

  /** Runs commands as a user would. @throws Error when one fails */
  function typed(commands: string, env: NodeJS.ProcessEnv = {}) {
    const PATH = [dirname(own.kubectlPath), process.env.PATH].join(delimiter);
    const all = { PATH, HOME: folder, KUBECONFIG: own.kubeconfigPath, ...env };
    return promisify(execFile)('bash', ['-ec', commands], { env: all });
  }

  let generated: Record<string, string>;
  let operator: RunningOperator;

  test('is installed, and the operator works with the rights of its service account', async () => {
    for (const namespace of ['a', 'b']) await kubectl(['create', 'namespace', namespace]);
    await release('install', [await previousVersion(folder)], DATABASE);
    generated = await secret();
    expect(Object.keys(generated).sort()).toEqual(['bootstrap-api-key', 'encryption-key']);
    const key = Buffer.from(generated['encryption-key'] ?? '', 'base64').toString();
    expect(Buffer.from(key, 'base64')).toHaveLength(32);

    operator = await operate(stack);
    await applyTo('a', policy('p', { rules: [{ cidr: '10.0.0.0/8', action: 'deny' }] }), credential('c'));
    await ready('ippolicy/p', 'tunnelcredential/c');
    expect(await stack.remoteIds()).toHaveLength(2);
  });

  test('helm test finds that a token authenticates', async () => {
    const objects = await render(DATABASE, { namespace: NAMESPACE, only: ['tests/credential.yaml'] });
    const env = { NAMESPACE, NAME: 'it-tunnel-operator-test', TUNNEL_API_URL: stack.api.url, TIMEOUT_SECONDS: '30' };
    expect(await runHook(objects, 'test.mjs', { ...env, TUNNEL_API_KEY: API_KEY })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^applied TunnelCredential it-tunnel-operator-test in namespace system\nReady after [\d.]+ s: \S+\nthe token in Secret it-tunnel-operator-test authenticates at \S+ as cr_/,
      ),
      stderr: '',
    });
    expect(await stack.remoteIds()).toHaveLength(2);
    const refused = await runHook(objects, 'test.mjs', { ...env, TUNNEL_API_KEY: 'not-the-key' });
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/^failed: the token does not authenticate as cr_\w+: .*UNAUTHENTICATED/);
    const nowhere = { ...env, TUNNEL_API_URL: 'http://127.0.0.1:9', TUNNEL_API_KEY: API_KEY };
    expect(await runHook(objects, 'test.mjs', nowhere)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^failed: fetch failed: .*\n$/),
    });

    const bot = await stack.client.botUsers.create({ name: 'no admin' });
    const key = await stack.client.apiKeys.create({ owner_id: bot.id });
    expect(await runHook(objects, 'test.mjs', { ...env, TUNNEL_API_KEY: String(key.token) })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^cr_\w+ has its token in Secret it-tunnel-operator-test; only an admin's API key may ask/m,
      ),
      stderr: '',
    });
    await stack.client.apiKeys.delete(key.id);
    await stack.client.botUsers.delete(bot.id);
  });

  test('ends its notes with a first object, which becomes Ready and whose token can be read', async () => {
    const { stdout } = await helm(['get', 'notes', RELEASE, '-n', NAMESPACE, '--kubeconfig', own.kubeconfigPath]);
    const [, commands = ''] = /Your first object, [^\n]*:\n\n(.*)/s.exec(stdout) ?? [];
    const printed = await typed(commands);
    expect(printed.stderr).toBe('');
    expect(printed.stdout).toMatch(/first +True.*tnl_cr_\w+$/s);
    await kubectl(['-n', 'default', 'delete', 'tunnelcredential', 'first']);
  });

  test('loses the old one of two admin keys by the commands of docs/operations.md', async () => {
    const [, commands = ''] = /^ *(id=\$\(curl .*?)```/ms.exec(OPERATIONS) ?? [];
    const { owner } = await stack.client.whoami();
    const old = await stack.client.apiKeys.create({ owner_id: owner.id });
    const here = commands.replaceAll('http://127.0.0.1:8080', stack.api.url);
    expect(await typed(here, { old: String(old.token), new: API_KEY })).toMatchObject({ stderr: '' });
    await expect(stack.client.apiKeys.get(old.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('is upgraded together with the CustomResourceDefinitions, and keeps its secrets', async () => {
    expect(await exists('crd', 'botusers.tunnel-operator.dev')).toBe(false);
    const { id } = (await stack.client.ipPolicies.list().next()).value ?? {};
    await release('upgrade', [CHART], { ...DATABASE, global: { logLevel: 'debug' } });
    expect(await secret()).toEqual(generated);
    await applyTo('a', manifest('BotUser', 'b', { name: 'builder' }));
    await ready('ipp/p', 'botuser/b');
    expect(await kubectl(['-n', 'a', 'get', 'ipp', 'p', '-o', 'jsonpath={.status.id}'])).toBe(id);
  });

  test('is refused if another release has an operator for its namespaces, unless they are shards', async () => {
    const other = (...watchNamespaces: string[]) => ({ ...DATABASE, crds: { enabled: false }, watchNamespaces });
    const shard = { operator: { extraEnv: [{ name: 'SHARD_SELECTOR', value: 'shard=b' }] } };
    const refused = (reason: string) => ({ code: 1, stderr: expect.stringContaining(reason) });
    const all = refused('the release it in the namespace system already has an operator for all namespaces');
    for (const values of [other(), other('b')]) {
      expect(await tryRelease('install', [CHART], values, 'second')).toMatchObject(all);
      for (const more of [shard, { operator: { enabled: false } }]) {
        await release('install', [CHART], { ...values, ...more }, 'second');
        await release('uninstall', [], undefined, 'second');
      }
    }
    await release('upgrade', [CHART], { ...DATABASE, watchNamespaces: ['a'] });
    const a = refused('the release it in the namespace system already has an operator for the namespace a');
    for (const values of [other(), other('a', 'b')])
      expect(await tryRelease('install', [CHART], values, 'second')).toMatchObject(a);
    await release('install', [CHART], other('b'), 'second');
    await release('uninstall', [], undefined, 'second');
    const selecting = (watchNamespaceSelector: string) => ({ ...other(), watchNamespaceSelector });
    await release('upgrade', [CHART], { ...selecting('team=a'), crds: {} });
    expect(await tryRelease('install', [CHART], selecting('team=a'), 'second')).toMatchObject(all);
    await release('install', [CHART], selecting('team=b'), 'second');
    await release('uninstall', [], undefined, 'second');
    await release('upgrade', [CHART], DATABASE);
  });

  test('skips a namespace to watch that does not exist, until it does', async () => {
    const values = { ...DATABASE, watchNamespaces: ['a', 'later'] };
    const roles = async () => {
      const named = ['-l', 'app.kubernetes.io/component=operator', '-o', 'jsonpath={.items[*].metadata.namespace}'];
      const found = await kubectl(['get', 'roles', '--all-namespaces', ...named]);
      return found.split(' ').filter((namespace) => namespace !== NAMESPACE);
    };
    await release('upgrade', [CHART], values);
    expect(await roles()).toEqual(['a']);
    await kubectl(['create', 'namespace', 'later']);
    await release('upgrade', [CHART], values);
    expect(await roles()).toEqual(['a', 'later']);
    await kubectl(['delete', 'namespace', 'later']);
    await release('upgrade', [CHART], values);
    await release('upgrade', [CHART], DATABASE);
  });

  test('restarts the API when the database password changes', async () => {
    const checksum = async (password: string) => {
      const database = { url: DATABASE.database.url.replace('secret', password) };
      const on = ['--kubeconfig', own.kubeconfigPath, '--namespace', NAMESPACE, '--dry-run=server', '--is-upgrade'];
      const { stdout } = await helm(['template', RELEASE, CHART, ...on], { database });
      return /checksum\/database: (\w{64})$/m.exec(stdout)?.[1];
    };
    const before = await checksum('secret');
    expect(await checksum('secret')).toBe(before);
    expect(before).toBeDefined();
    expect(await checksum('another')).not.toBe(before);
  });

  test('is rolled back without losing an object or a secret', async () => {
    await release('rollback', ['1']);
    expect(await secret()).toEqual(generated);
    await ready('oldipp/p', 'botuser/b', 'tunnelcredential/c');
    expect(await stack.remoteIds()).toHaveLength(3);
    await release('upgrade', [CHART], DATABASE);
    await ready('ipp/p');
  });

  test('has Pods that are replaced in the way that the values say, and in the old way again', async () => {
    const shown = ['-n', NAMESPACE, 'get', 'deployments', '-o', 'jsonpath={.items[*].spec.strategy}'];
    const after = async (strategy: object) => {
      await release('upgrade', [CHART], { ...DATABASE, api: { strategy }, operator: { strategy } });
      return kubectl(shown);
    };
    const before = await kubectl(shown);
    const recreated = '{"type":"Recreate"}';
    expect(await after({ type: 'Recreate' })).toBe(`${recreated} ${recreated}`);
    expect(await after({})).toBe(before);
  });

  test(
    'keeps its replicas when autoscaling is switched on as docs/operations.md says',
    skipFor(LACKS_SERVER_SIDE_APPLY),
    async () => {
      const [, handover = ''] = /--field-manager=handover .*\n(\{.*\})\nEOF/.exec(OPERATIONS) ?? [];
      const object = handover.replace('tunnels-tunnel-operator', SECRET).replace('tunnel-system', NAMESPACE);
      const apply = ['apply', '--server-side', '--field-manager=handover', '--validate=false', '-f', '-'];
      const deployment = ['-n', NAMESPACE, 'get', 'deployment', `${SECRET}-api`, '-o', 'jsonpath={.spec.replicas}'];
      await kubectl(apply, object);
      await release('upgrade', [CHART], { ...DATABASE, api: { autoscaling: { enabled: true } } });
      expect(await kubectl(deployment)).toBe('2');

      // As the autoscaler does.
      await kubectl(['-n', NAMESPACE, 'scale', 'deployment', `${SECRET}-api`, '--replicas=5']);
      expect(await tryRelease('upgrade', [CHART], DATABASE)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('conflict with "kubectl"'),
      });
      await release('upgrade', [CHART, '--force-conflicts'], DATABASE);
      expect(await kubectl(deployment)).toBe('2');
    },
  );

  test('leaves definitions, objects and secrets when uninstalled, and picks them up when reinstalled', async () => {
    await release('uninstall', []);
    expect(await exists('-n', NAMESPACE, 'deployment', 'it-tunnel-operator-operator')).toBe(false);
    expect(await exists('clusterrole', 'system-it-tunnel-operator-operator')).toBe(false);
    expect(await kubectl(['-n', 'a', 'get', 'tunnels', '-o', 'name'])).toContain('/p\n');
    expect(await stack.remoteIds()).toHaveLength(3);

    await stack.stopOperator(operator);
    await release('install', [CHART], DATABASE);
    expect(await secret()).toEqual(generated);
    operator = await operate(stack);
    await applyTo('a', credential('of-bot', { ownerRef: { name: 'b' } }));
    await ready('ipp/p', 'tcred/of-bot');
  });

  test('is not uninstalled with its definitions while no operator runs to finalize the objects', async () => {
    await stack.stopOperator(operator);
    const values = { ...DATABASE, crds: { keep: false } };
    const objects = await render(values, { namespace: NAMESPACE, only: ['uninstall/delete-objects.yaml'] });
    expect(await runHook(objects, 'delete-objects.mjs', { TIMEOUT_SECONDS: '1' })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('left: ippolicies a/p: is the operator running?\n'),
    });
    operator = await operate(stack);
  });

  test('deletes every object before it deletes the definitions', async () => {
    const values = { ...DATABASE, crds: { keep: false } };
    await release('upgrade', [CHART], values);
    expect(await tryRelease('upgrade', [CHART], { ...DATABASE, crds: { enabled: false } })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/crds\.enabled=false would delete \w+\.tunnel-operator\.dev/),
    });
    const objects = await render(values, { namespace: NAMESPACE, only: ['uninstall/delete-objects.yaml'] });
    await stack.client.ipPolicies.create({});
    const deleted = await runHook(objects, 'delete-objects.mjs', { TIMEOUT_SECONDS: '30' });
    expect(deleted).toEqual({ code: 0, stdout: 'no objects are left\n', stderr: '' });
    // A resource without an object stays.
    expect(await stack.remoteIds()).toHaveLength(1);
    await release('uninstall', ['--no-hooks']);
    await stack.stopOperator(operator);
    await eventually(async () => expect(await kubectl(['get', 'crd', '-o', 'name'])).not.toContain('tunnel-operator'));
  });

  test('generates its keys once: neither an upgrade nor a rollback undoes a rotation', async () => {
    const namespace = 'keys';
    const operatorKey = { operator: { apiKey: { admin: false } } };
    const values = { database: { bundled: { enabled: true } }, crds: { enabled: false }, ...operatorKey };
    const names = [SECRET, `${SECRET}-database`, `${SECRET}-operator-key`];
    const secrets = () => Promise.all(names.map((each) => secret(each, namespace)));
    const rotate = async (name: string, data: Record<string, string | null>) =>
      kubectl(['-n', namespace, 'patch', 'secret', name, '--type=merge', '-p', JSON.stringify({ data })]);

    await release('install', [CHART], values, namespace);
    const given = Buffer.from('new,old').toString('base64');
    await rotate(SECRET, { 'encryption-key': given, 'bootstrap-api-key': given });
    await rotate(`${SECRET}-database`, { password: given });
    await rotate(`${SECRET}-operator-key`, { 'operator-api-key': given });
    const rotated = await secrets();
    for (const data of rotated) expect(Object.values(data)).toContain(given);
    await release('upgrade', [CHART], { ...values, global: { logLevel: 'debug' } }, namespace);
    expect(await secrets()).toEqual(rotated);
    await release('rollback', ['1'], undefined, namespace);
    expect(await secrets()).toEqual(rotated);

    await rotate(SECRET, { 'encryption-key': null });
    expect(await tryRelease('upgrade', [CHART], values, namespace)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('lacks the key encryption-key'),
    });
    await release('uninstall', [], undefined, namespace);
    expect(await exists('-n', namespace, 'secret', SECRET)).toBe(true);
  });
});
