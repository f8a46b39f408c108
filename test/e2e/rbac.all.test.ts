/**
 * The operator as it is installed, with the chart's service account and only its permissions: by Roles for some
 * namespaces, by a ClusterRole for all. The latter has its own control plane: on the shared one, it would reconcile the
 * objects of other test files.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import { createNamespace, kubectl } from '../harness.ts';
import { kubectlOn } from '../kubectl.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { ACCOUNT, chartAccount, type Kubectl } from './chart-account.ts';
import { credential, LEASES, manifest, POLICIES, policy, SECRETS } from './manifest.ts';
import { eventually, ROOT, type Stack, startStack } from './stack.ts';

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-rbac-'));
afterAll(() => rm(folder, { recursive: true }));

/** Log lines about requests that API servers have denied to the operators of a stack; they name the permission. */
const forbidden = ({ logs }: Stack) => logs.filter((line) => /forbidden/i.test(line));

/** A missing permission shows as a timeout; this reports which one it is. */
async function namingRights(stack: Stack, attempt: () => Promise<unknown>): Promise<void> {
  await attempt().catch((cause: unknown) => {
    const refusals = forbidden(stack).flatMap(
      (line) => line.match(/\w+ is forbidden: [^"]*"[^"]*" cannot [^\\}]*/g) ?? line,
    );
    throw refusals.length === 0 ? cause : new Error([...new Set(refusals)].join('\n'), { cause });
  });
}

describe('with the permissions of the chart in two namespaces', async () => {
  const stack = await startStack({ prefix: 'both', operators: 0 });
  const { namespace, kube } = stack;
  const other = await createNamespace('both');
  const file = await chartAccount(kubectl, namespace, [namespace, other]);

  test('the objects, Secrets and sources of both are served', () =>
    namingRights(stack, async () => {
      const there = (...args: string[]) => kubectl(['-n', other, ...args]);
      await stack.operate({ kubeconfig: file, namespaces: [namespace, other], leaderElect: true });
      // Both namespaces have the same names; the text of the source differs.
      const body = { body: { configMapKeyRef: { name: 'page', key: 'text' } } };
      const manifests = [policy('same'), credential('same'), manifest('HTTPResponseBackend', 'same', body)];
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
      const objects = ['ipp/same', 'tcred/same', 'httpresponsebackend/same'];
      for (const name of [namespace, other]) {
        const run = (...args: string[]) => kubectl(['-n', name, ...args], { input });
        expect(await run('create', 'configmap', 'page', `--from-literal=text=${name}`)).toMatchObject({ code: 0 });
        expect(await run('apply', '-f', '-')).toMatchObject({ code: 0, stderr: '' });
        const waited = await run('wait', '--for=condition=Ready', '--timeout=30s', ...objects);
        expect(waited).toMatchObject({ code: 0, stderr: '' });
      }
      expect(await stack.remoteIds()).toHaveLength(6);
      // Changes in the second namespace are noticed as well: a deleted Secret, a changed source.
      expect(await there('delete', 'secret', 'same')).toMatchObject({ code: 0 });
      await eventually(() => kube.get(SECRETS, 'same', other));
      expect(await there('patch', 'configmap', 'page', '-p', '{"data":{"text":"new"}}')).toMatchObject({ code: 0 });
      await eventually(async () => {
        const bodies = await Array.fromAsync(stack.client.httpResponseBackends.list());
        expect(bodies.map(({ body }) => body).sort()).toEqual([namespace, 'new'].sort());
      });
      for (const name of [namespace, other]) {
        expect(await kubectl(['-n', name, 'delete', ...objects, '--timeout=30s'])).toMatchObject({ code: 0 });
      }
      expect(await stack.remoteIds()).toEqual([]);
      expect(forbidden(stack)).toEqual([]);
    }));
});

describe('with a token that is replaced and then refused', async () => {
  const stack = await startStack({ prefix: 'replaced', operators: 0 });
  const { namespace } = stack;
  const file = await chartAccount(kubectl, namespace, [namespace]);
  const tokenFile = join(folder, `${namespace}.token`);

  async function useToken(secret: string): Promise<void> {
    await stack.run('create', 'secret', 'generic', secret);
    const bound = ['--bound-object-kind=Secret', `--bound-object-name=${secret}`];
    await writeFile(tokenFile, (await stack.run('create', 'token', ACCOUNT, ...bound)).stdout);
  }

  test('the operator keeps its lead', { timeout: 180_000 }, async () => {
    const config = parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...config, users: [{ name: 'operator', user: { tokenFile } }] }));
    await useToken('first');
    const operator = await stack.operate({ kubeconfig: file, leaderElect: true, leaseMs: 6_000 });
    let hasLead = true;
    void operator.lostLead.then(() => {
      hasLead = false;
    });
    await stack.apply(policy('before'));
    await stack.ready(POLICIES, 'before');
    await useToken('second');
    await stack.run('delete', 'secret', 'first');
    await eventually(async () => {
      expect(await stack.metric('rest_client_requests_total', { code: '401' })).toBeGreaterThan(0);
      // The API server caches for a while that the token is valid.
    }, 120_000);
    await stack.apply(policy('after'));
    await stack.ready(POLICIES, 'after');
    const renewed = async () => (await stack.find(LEASES, 'tunnel-operator'))?.metadata.resourceVersion;
    const before = await renewed();
    await eventually(async () => expect(await renewed()).not.toBe(before));
    expect(hasLead).toBe(true);
  });
});

describe('with the permissions of the chart in all namespaces', skipFor(NOT_OUR_CLUSTER), async () => {
  const own = await startControlPlane();
  afterAll(() => own.stop());
  const stack = await startStack({ prefix: 'wide', operators: 0 });
  const run: Kubectl = (args, options) => kubectlOn(own, args, options);

  test('objects of every namespace are served', async () => {
    for (const name of ['system', 'a', 'b'])
      expect(await run(['create', 'namespace', name])).toMatchObject({ code: 0 });
    expect(await run(['apply', '--server-side', '-f', `${ROOT}crds/tunnel-operator.dev_*.yaml`])).toMatchObject({
      code: 0,
    });
    const file = await chartAccount(run, 'system', []);
    await stack.operate({ kubeconfig: file, namespaces: undefined, leaseNamespace: 'system', leaderElect: true });

    // The same names in two namespaces are different objects, and the same Secret names different Secrets.
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [policy('same'), credential('same')] });
    for (const namespace of ['a', 'b']) {
      expect(await run(['-n', namespace, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
      const waited = await run(['-n', namespace, 'wait', '--for=condition=Ready', 'ipp/same', 'tcred/same']);
      expect(waited).toMatchObject({ code: 0 });
    }
    expect(
      (await run(['get', 'tunnels', '-A'])).stdout.match(/^[ab] +\w+\.tunnel-operator\.dev\/same +True/gm),
    ).toHaveLength(4);
    expect(await stack.remoteIds()).toHaveLength(4);
    const tokens = await Promise.all(
      ['a', 'b'].map((namespace) => run(['-n', namespace, 'get', 'secret', 'same', '-o', 'jsonpath={.data.token}'])),
    );
    for (const { stdout } of tokens) {
      expect(await stack.accepts(Buffer.from(stdout, 'base64').toString())).toBe(true);
    }
    expect(tokens[0]?.stdout).not.toBe(tokens[1]?.stdout);
    expect(await run(['-n', 'a', 'delete', 'ipp,tcred', '--all'])).toMatchObject({ code: 0 });
    expect(await stack.remoteIds()).toHaveLength(2);
    expect(forbidden(stack)).toEqual([]);
  });
});
