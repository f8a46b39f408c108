/** Watched namespaces that do not exist, and those that a selector chooses. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ensureBinaries } from '../../dev/control-plane/binaries.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { LabelSelector } from '../../src/operator/kube/label-selector.ts';
import { resourceIdOf } from '../../src/operator/managed/knowledge/inputs.ts';
import { cluster, createNamespace, kubectl } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { chartAccount } from './chart-account.ts';
import { type Manifest, manifest, ours, POLICIES, policy } from './manifest.ts';
import { eventually, ROOT, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'watched', operators: 0 });
const { namespace, kube } = stack;
const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces' };
const IN_PODS = process.env.TEST_PODS ? 'not in Pods: it needs an account of its own' : undefined;

const applyAll = async (where: string, ...items: readonly object[]) => {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  expect(await kubectl(['-n', where, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
};
const apply = (where: string, name: string, spec: object = {}) => applyAll(where, policy(name, spec));
const reasonIn = async (where: string, name: string, kind = 'ippolicy') => {
  const path = '{.status.conditions[?(@.type=="Ready")].reason}';
  return (await kubectl(['-n', where, 'get', kind, name, '-o', `jsonpath=${path}`])).stdout;
};
const isReady = (where: string, name: string) =>
  eventually(async () => expect(await reasonIn(where, name)).toBe('Available'));
/** Without an operator there, its finalizer would keep the namespace from being deleted. */
const release = (where: string, name: string) =>
  kube.patch(POLICIES, name, { metadata: { finalizers: null } }, where).catch(() => undefined);

/** Runs the commands below a heading as a user would. @param replaced what their names stand for */
async function typed(page: string, heading: string, replaced: Readonly<Record<string, string>>): Promise<void> {
  const { kubectlPath, kubeconfigPath } = await cluster();
  const { helm } = await ensureBinaries(['helm']);
  const text = await readFile(join(ROOT, page), 'utf8');
  const [section = ''] = text.split(/^##+ /m).filter((each) => each.startsWith(`${heading}\n`));
  let [, commands = ''] = /^```sh\n(.*?)^```/ms.exec(section) ?? [];
  for (const [name, value] of Object.entries(replaced)) {
    expect(commands).toContain(name);
    commands = commands.replaceAll(name, value);
  }
  const PATH = [...[helm, kubectlPath].map((program) => dirname(program)), process.env.PATH].join(delimiter);
  const env = { PATH, HOME: tmpdir(), KUBECONFIG: kubeconfigPath };
  await promisify(execFile)('bash', ['-ec', commands], { env, cwd: ROOT });
}

const ROUTE = ours('httpsedgeroutes');
/** A route whose modules lack a Secret, so that it waits for them, and modules of a TLS edge that are set. */
const WAITING: readonly Manifest[] = [
  manifest('HTTPResponseBackend', 'shop', { body: { value: 'inside' } }),
  manifest('HTTPSEdge', 'shop'),
  manifest('HTTPSEdgeRoute', 'shop', {
    edgeRef: { name: 'shop' },
    match: '/',
    matchType: 'path_prefix',
    backendRef: { kind: 'HTTPResponseBackend', name: 'shop' },
  }),
  manifest('HTTPSEdgeRouteModules', 'shop', {
    routeRef: { name: 'shop' },
    oidc: {
      issuer: 'https://accounts.example.com',
      clientId: { value: 'shop' },
      clientSecret: { secretKeyRef: { name: 'none', key: 'secret' } },
    },
  }),
  manifest('TLSEdge', 'shop'),
  manifest('TLSEdgeModules', 'shop', {
    tlsEdgeRef: { name: 'shop' },
    ipRestriction: { ipPolicyRefs: [{ name: 'first' }] },
  }),
];

describe('a namespace', skipFor(IN_PODS), () => {
  test('that does not exist keeps no other from being served, and is served once it exists', async () => {
    const gone = `${namespace}-gone`;
    const says = `namespace ${gone} does not exist; it is skipped until it does`;
    // A namespace that does not exist has no Role, but the chart lets the operator ask for it.
    const file = await chartAccount(kubectl, namespace, [namespace], (rules) =>
      rules.map(({ resourceNames, ...rule }) =>
        resourceNames?.includes(namespace)
          ? { ...rule, resourceNames: [...resourceNames, gone] }
          : { ...rule, ...(resourceNames && { resourceNames }) },
      ),
    );
    const operator = stack.makeOperator({ kubeconfig: file, namespaces: [namespace, gone] });
    await operator.start();
    await stack.apply(policy('here'));
    await stack.ready(POLICIES, 'here');
    const readyz = await fetch(`${operator.healthUrl}/readyz`);
    expect([readyz.status, await readyz.text()]).toEqual([200, `ok\n${says}\n`]);
    expect(await stack.metric('tunnel_operator_watched_namespace_missing', { namespace: gone })).toBe(1);
    expect(await stack.metric('tunnel_operator_watch_forbidden')).toBe(0);
    const loud = stack.logs.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40);
    expect(loud.map(({ msg }) => msg)).toEqual([says]);

    await kube.create(NAMESPACES, { metadata: { name: gone } });
    onTestFinished(() => kube.delete(NAMESPACES, gone, undefined).catch(() => undefined));
    await chartAccount(kubectl, namespace, [namespace, gone]);
    await apply(gone, 'there');
    await eventually(async () => expect(await reasonIn(gone, 'there')).toBe('Available'), 60_000);
    expect(await stack.metric('tunnel_operator_watched_namespace_missing')).toBe(0);
    // Each kind lists the namespace in its own time.
    await eventually(
      async () => expect(await (await fetch(`${operator.healthUrl}/readyz`)).text()).toBe('ok\n'),
      60_000,
    );
    await release(gone, 'there');
    await stack.stopOperator(operator);
  });

  test('whose Role went before its objects is released by the commands of docs/operator/deletion.md', {
    timeout: 180_000,
  }, async () => {
    const stuck = await createNamespace('stuck');
    const file = await chartAccount(kubectl, namespace, [namespace, stuck]);
    const settings = { kubeconfig: file, namespaces: [namespace, stuck] };
    const first = stack.makeOperator(settings);
    await first.start();
    await apply(stuck, 'left');
    await isReady(stuck, 'left');
    await stack.stopOperator(first);
    expect(await kubectl(['delete', 'namespace', stuck, '--wait=false'])).toMatchObject({ code: 0 });
    await eventually(async () =>
      expect(await kubectl(['-n', stuck, 'get', 'roles', '-o', 'name'])).toMatchObject({ stdout: '' }),
    );

    const operator = stack.makeOperator(settings);
    await operator.start();
    await stack.apply(policy('beside'));
    await stack.ready(POLICIES, 'beside');
    const says = `namespace ${stuck} is being deleted, and the operator has no rights there; its objects wait until it has`;
    const readyz = await fetch(`${operator.healthUrl}/readyz`);
    expect([readyz.status, await readyz.text()]).toEqual([200, `ok\n${says}\n`]);
    expect(await stack.metric('tunnel_operator_watched_namespace_missing', { namespace: stuck })).toBe(1);
    expect(stack.logs.filter((line) => JSON.parse(line).msg === says)).toHaveLength(1);
    expect(await reasonIn(stuck, 'left')).toBe('Available');
    await typed('docs/operator/deletion.md', "A namespace without the operator's Role", {
      '--values values.yaml': `--set operator.apiUrl=${stack.api.url},operator.apiKey.existingSecret=key,api.enabled=false`,
      'namespace/shop': `namespace/${stuck}`,
      'tunnel-system-tunnels': `${namespace}-it`,
      'helm template tunnels': 'helm template it',
      'tunnel-system': namespace,
    });
    expect(await kubectl(['get', 'namespace', stuck])).toMatchObject({ code: 1 });
    await stack.stopOperator(operator);
  });

  test('is served while its labels match the selector', async () => {
    const [one, other] = [await createNamespace('selected'), await createNamespace('selected')];
    const labels = { [`tests/${namespace}`]: 'yes' };
    const label = (where: string, value: string | null) =>
      kube.patch(NAMESPACES, where, { metadata: { labels: { [`tests/${namespace}`]: value } } });
    await label(one, 'yes');
    const selector = LabelSelector.parse(Object.entries(labels).map((each) => each.join('='))[0] ?? '');
    const file = await chartAccount(kubectl, namespace, [], (rules) => [
      ...rules,
      { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
    ]);
    await stack.operate({ kubeconfig: file, namespaces: undefined, namespaceSelector: selector });
    await apply(one, 'first');
    await apply(other, 'second');
    await isReady(one, 'first');
    expect(await reasonIn(other, 'second')).toBe('Pending');
    await applyAll(one, ...WAITING);
    const settled = async () => {
      expect(await reasonIn(one, 'shop', 'httpsedgeroute')).toBe('WaitingForModules');
      expect(await reasonIn(one, 'shop', 'httpsedgeroutemodules')).toBe('SourceNotFound');
      expect(await reasonIn(one, 'shop', 'tlsedgemodules')).toBe('Available');
    };
    await eventually(settled);

    await label(other, 'yes');
    await isReady(other, 'second');
    await label(one, null);
    const left = `namespace ${one} is no longer watched`;
    await eventually(() => expect(stack.logs.some((line) => line.includes(left))).toBe(true));
    await eventually(async () => expect(await stack.metric('tunnel_operator_managed_objects')).toBe(1));
    await apply(one, 'first', { description: 'changed' });
    await apply(other, 'witness');
    await isReady(other, 'witness');
    expect((await kube.get(POLICIES, 'first', one)).status).toMatchObject({ observedGeneration: 1 });
    await settled();
    const [edge = '', route = ''] = resourceIdOf(await kube.get(ROUTE, 'shop', one))?.split('/') ?? [];
    expect(await stack.client.httpsEdgeRoutes(edge).get(route)).toMatchObject({ backend: null });

    await label(one, 'yes');
    await eventually(async () =>
      expect((await kube.get(POLICIES, 'first', one)).status).toMatchObject({ observedGeneration: 2 }),
    );
    await settled();
    // At no time was anything of it said to be missing but the Secret.
    const missing = stack.logs.filter((line) => line.includes('does not exist') && line.includes(one));
    expect(missing.filter((line) => !line.includes(`Secret ${one}/none`))).toEqual([]);
    expect(await stack.client.httpsEdgeRoutes(edge).get(route)).toMatchObject({ backend: null });
    expect(await kubectl(['-n', one, 'delete', 'tunnels', '--all', '--timeout=60s'])).toMatchObject({ code: 0 });
    for (const [where, name] of [
      [other, 'second'],
      [other, 'witness'],
    ] as const)
      await release(where, name);
  });
});
