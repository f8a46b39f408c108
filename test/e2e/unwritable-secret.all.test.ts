/** No token is issued for a Secret that cannot hold it. */
import { describe, expect, test } from 'vitest';
import { kubectl } from '../harness.ts';
import { credentialsOf, encoded } from './credentials.ts';
import { CREDENTIALS, credential, eventually, SECRETS, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'unwritable' });
const { namespace, kube } = stack;
const { made, tokenOf, annotate, patchSecret } = credentialsOf(stack);

/** Has a policy in force for the Secrets of the namespace, but not longer than `meanwhile`. */
async function underPolicy(
  kind: 'ValidatingAdmissionPolicy' | 'MutatingAdmissionPolicy',
  { operations, ...spec }: { operations: string[] } & Record<string, unknown>,
  isInForce: () => Promise<unknown>,
  meanwhile: () => Promise<unknown>,
) {
  const name = `secrets-${namespace}`;
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const policy = {
    failurePolicy: 'Fail',
    matchConstraints: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations, resources: ['secrets'] }],
    },
    ...spec,
  };
  const actions = kind === 'ValidatingAdmissionPolicy' ? { validationActions: ['Deny'] } : {};
  const items = [
    { apiVersion, kind, metadata: { name }, spec: policy },
    { apiVersion, kind: `${kind}Binding`, metadata: { name }, spec: { policyName: name, ...actions } },
  ];
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  expect(await kubectl(['apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
  try {
    await eventually(isInForce);
    await meanwhile();
  } finally {
    await kubectl(['delete', `${kind},${kind}Binding`, name]);
  }
}

describe('no token is issued in vain', () => {
  const rotate = (name: string) => annotate(name, { 'rotate-requested-at': 'now' });

  /** Once nothing is in the way any more; until then, it might do so during another test. */
  const rotates = (name: string, before: { token: string | undefined }) =>
    eventually(async () => {
      const token = await tokenOf(name);
      expect(token).not.toBe(before.token);
      expect(await stack.accepts(token)).toBe(true);
    });

  test('where the Secret was made anew with another type', async () => {
    const before = await made('retyped', { rotation: { overlap: '0s' } });
    const { metadata, data } = await kube.get(SECRETS, 'retyped', namespace);
    const { name, labels, annotations, ownerReferences } = metadata;
    await stack.restart(async () => {
      await stack.run('delete', 'secret', name);
      await kube.create(
        SECRETS,
        { metadata: { name, labels, annotations, ownerReferences }, data, type: 'Opaque' },
        namespace,
      );
    });
    const { ready } = await stack.reason(CREDENTIALS, 'retyped', 'Ready', 'SecretConflict');
    expect(ready?.message).toContain('has the type Opaque, and has to have the type tunnel-operator.dev/');
    const issued = await stack.remoteIds();
    await rotate('retyped');
    await stack.reconciled(CREDENTIALS, 'retyped');
    expect(await stack.remoteIds()).toEqual(issued);
    expect(await stack.accepts(before.token)).toBe(true);
    // Which keeps the token, as any change of the name does.
    await stack.apply(credential('retyped', { rotation: { overlap: '1h' }, secret: { name: 'right' } }));
    await stack.ready(CREDENTIALS, 'retyped');
    expect((await kube.get(SECRETS, 'right', namespace)).type).toBe('tunnel-operator.dev/authtoken');
    expect(await stack.secret('retyped')).toBeUndefined();
  });

  test('where the Secret may not be changed', async () => {
    const before = await made('unchangeable', { rotation: { overlap: '0s' } });
    const validations = [{ expression: 'object.metadata.name != "unchangeable"', message: 'not this one' }];
    const isInForce = async () => {
      const refused = await stack.run('label', 'secret', 'unchangeable', 'tried=yes', '--dry-run=server');
      expect(refused.stderr).toContain('not this one');
    };
    await underPolicy('ValidatingAdmissionPolicy', { operations: ['UPDATE'], validations }, isInForce, async () => {
      const issued = await stack.remoteIds();
      await rotate('unchangeable');
      await eventually(async () => {
        expect((await stack.see(CREDENTIALS, 'unchangeable')).ready?.message).toContain('not this one');
      });
      expect(await stack.remoteIds()).toEqual(issued);
      expect(await stack.accepts(before.token)).toBe(true);
    });
    await rotates('unchangeable', before);
  });

  test.each([
    ['the value', 'data[token]', 'Object{data: {"token": "b3RoZXJz"}}'],
    [
      'its digest',
      'metadata.annotations[tunnel-operator.dev/token-sha256]',
      'Object{metadata: Object.metadata{annotations: {"tunnel-operator.dev/token-sha256": "none"}}}',
    ],
  ])('where a policy of the cluster changes %s', async (what, field, expression) => {
    const suffix = what.replaceAll(' ', '-');
    const before = await made(`altered-${suffix}`, { rotation: { overlap: '0s' } });
    const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }];
    const spec = { operations: ['CREATE', 'UPDATE'], reinvocationPolicy: 'Never', mutations };
    const isInForce = async () => {
      const { stdout } = await stack.run('create', 'secret', 'generic', 'tried', '--dry-run=server', '-o', 'json');
      expect(stdout).toMatch(/b3RoZXJz|"none"/);
    };
    await underPolicy('MutatingAdmissionPolicy', spec, isInForce, async () => {
      const issued = await stack.remoteIds();
      await rotate(`altered-${suffix}`);
      await stack.apply(credential(`new-${suffix}`));
      for (const name of [`altered-${suffix}`, `new-${suffix}`]) {
        const { ready } = await stack.reason(CREDENTIALS, name, 'Ready', 'KubernetesError');
        expect(ready?.message).toContain(`${field} of Secret ${name} would not be stored as written`);
      }
      expect(await stack.remoteIds()).toEqual(issued);
      expect(await stack.accepts(before.token)).toBe(true);
    });
    await rotates(`altered-${suffix}`, before);
    await stack.ready(CREDENTIALS, `new-${suffix}`);
  });

  test('before a policy that wants every value to be there', async () => {
    const full = { expression: 'object.data.all(key, size(object.data[key]) > 0)', message: 'nothing in it' };
    const spec = { operations: ['CREATE', 'UPDATE'], validations: [full] };
    const isInForce = async () => {
      const empty = ['create', 'secret', 'generic', 'tried', '--from-literal=a=', '--dry-run=server'];
      expect((await stack.run(...empty)).stderr).toContain('nothing in it');
    };
    await underPolicy('ValidatingAdmissionPolicy', spec, isInForce, async () => {
      const { token } = await made('full');
      expect(await stack.accepts(token)).toBe(true);
    });
  });

  test('where the Secret is being deleted', async () => {
    const before = await made('held', { rotation: { overlap: '0s' } });
    await patchSecret('held', { metadata: { finalizers: ['example.com/hold'] } });
    await stack.run('delete', 'secret', 'held', '--wait=false');
    const issued = await stack.remoteIds();
    await rotate('held');
    const { ready } = await stack.reason(CREDENTIALS, 'held', 'Ready', 'SecretConflict');
    expect(ready?.message).toContain('Secret held is being deleted');
    expect(await stack.remoteIds()).toEqual(issued);
    expect(await stack.accepts(before.token)).toBe(true);
    await patchSecret('held', { metadata: { finalizers: null } });
    await rotates('held', before);
  });

  test('where a quota is used up, and the Secret exists but is not known', async () => {
    await made('counted');
    const quotas = { group: '', version: 'v1', plural: 'resourcequotas' };
    const hard = { 'count/secrets': '0' };
    await kube.create(quotas, { metadata: { name: 'none' }, spec: { hard } }, namespace);
    await kube.patch(quotas, 'none', { status: { hard, used: hard } }, namespace, 'status');
    try {
      await eventually(async () => {
        const refused = await stack.run('create', 'secret', 'generic', 'tried', '--dry-run=server');
        expect(refused.stderr).toContain('exceeded quota');
      });
      const robbed = { labels: { 'app.kubernetes.io/managed-by': null } };
      await stack.restart(() => patchSecret('counted', { metadata: robbed, data: { token: null } }));
      await eventually(async () => expect(await stack.accepts(await tokenOf('counted'))).toBe(true));
    } finally {
      await kube.delete(quotas, 'none', namespace);
    }
  });

  test('at every change, where something else keeps writing to the Secret', async () => {
    await made('contested');
    const issued = async () => {
      const [row] = await stack.sql("select count(*)::int as n from events where type = 'credential_created.v0'");
      return Number(row?.n);
    };
    const before = await issued();
    const overwrite = () => kube.patch(SECRETS, 'contested', { data: { token: encoded('theirs') } }, namespace);
    await eventually(async () => {
      await overwrite();
      const { ready } = await stack.see(CREDENTIALS, 'contested');
      expect(ready).toMatchObject({ reason: 'SecretConflict' });
      expect(ready?.message).toContain('find out what else writes to its Secret');
    });
    expect(await issued()).toBeLessThan(before + 5);
    await eventually(async () => expect(await stack.accepts(await tokenOf('contested'))).toBe(true));
    await stack.ready(CREDENTIALS, 'contested');
  });
});
