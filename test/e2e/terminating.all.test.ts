/** A namespace that is being deleted: its Secrets may go long before the objects that own them. */
import { afterAll, expect, test } from 'vitest';
import { cluster, kubectl } from '../harness.ts';
import { LOSES_ITS_ROLE, lacksControllerManager, skipFor } from '../skip.ts';
import { CREDENTIALS, credential, eventually, SECRETS, startStack } from './stack.ts';

const where = await cluster();
const deletesNamespace = skipFor(lacksControllerManager(where) ?? LOSES_ITS_ROLE);
// The rights of whoever may work in all namespaces: a Role in this one goes with it.
const settings = LOSES_ITS_ROLE ? {} : { kubeconfig: where.kubeconfigPath };
const stack = await startStack({ prefix: 'terminating', settings });
const { kube, namespace } = stack;

const names = Array.from({ length: 30 }, (_, n) => `agent-${n}`);
const guard = `guard-of-${namespace}`;

/** Keeps everybody, also the namespace controller, from deleting the credentials of this namespace. */
const guards = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: guard },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        resourceRules: [
          {
            apiGroups: [CREDENTIALS.group],
            apiVersions: ['*'],
            operations: ['DELETE'],
            resources: [CREDENTIALS.plural],
          },
        ],
      },
      validations: [{ expression: 'false', message: 'not yet' }],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: guard },
    spec: { policyName: guard, validationActions: ['Deny'] },
  },
];
const unguard = () =>
  kubectl(['delete', 'validatingadmissionpolicy,validatingadmissionpolicybinding', guard, '--ignore-not-found']);
afterAll(unguard);

/** How many credentials were ever issued. */
const issued = async () => {
  const [row] = await stack.sql("select count(*)::int from events where type = 'credential_created.v0'");
  return row?.count;
};

/** How often a reconcile of the object has ended. */
const reconciles = (name: string) =>
  stack.logs.filter((line) => line.includes('"msg":"reconciled"') && line.includes(`"${namespace}/${name}"`)).length;

const options = { ...deletesNamespace, timeout: 180_000 };

test('issues no tokens, also while its Secrets are gone and its objects are not', options, async () => {
  await stack.apply(...names.map((name) => credential(name)));
  for (const name of names) await stack.ready(CREDENTIALS, name);
  expect(await issued()).toBe(names.length);
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: guards });
  expect(await kubectl(['apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
  await eventually(async () => {
    const refused = await stack.run('delete', 'tcred', 'agent-0', '--dry-run=server');
    expect(refused.stderr).toContain('not yet');
  });
  const before = new Map(names.map((name) => [name, reconciles(name)]));

  await kubectl(['delete', 'namespace', namespace, '--wait=false']);
  await eventually(async () => expect((await kube.list(SECRETS, { namespace })).items).toEqual([]));
  // More than once: it may have been too early.
  await eventually(() => {
    for (const name of names) expect(reconciles(name), name).toBeGreaterThan((before.get(name) ?? 0) + 2);
  });
  await stack.annotate(CREDENTIALS, 'agent-0', { 'tunnel-operator.dev/rotate-requested-at': 'now' });
  const asked = reconciles('agent-0');
  await eventually(() => expect(reconciles('agent-0')).toBeGreaterThan(asked));
  const { items } = await kube.list(CREDENTIALS, { namespace });
  const generations = items.map(({ metadata }) => metadata.annotations?.['tunnel-operator.dev/create-generation']);
  expect(new Set(generations)).toEqual(new Set(['1']));
  expect(await issued()).toBe(names.length);
  expect(await stack.metric('tunnel_operator_credentials_issued_total')).toBe(names.length);

  await unguard();
  expect(await stack.run('wait', 'namespace', namespace, '--for=delete', '--timeout=120s')).toMatchObject({ code: 0 });
  expect(await stack.remoteIds()).toEqual([]);
  expect(await issued()).toBe(names.length);
});
