/** The Secret that holds a credential's token. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { GROUP } from '../../src/operator/contract/names.ts';
import { kubectl } from '../harness.ts';
import { CREDENTIALS, credential, eventually, SECRETS, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'secret' });
const { namespace, kube } = stack;

const token = async (name: string, key = 'token') => (await stack.secret(name))?.[key] ?? '';

/** A credential that is ready, with its id and token. */
async function made(name: string, spec: object = {}) {
  await stack.apply(credential(name, spec));
  const { object, status } = await stack.ready(CREDENTIALS, name);
  return { object, id: String(status.id), token: await token(String(status.secretName)) };
}

async function kubectlPatch(name: string, patch: object) {
  const result = await stack.run('patch', 'secret', name, '--type=merge', '-p', JSON.stringify(patch));
  expect(result).toMatchObject({ code: 0 });
}

const encoded = (text: string) => Buffer.from(text).toString('base64');

describe('the Secret of a credential', () => {
  test('has the token, the id and its own type, and is deleted with the credential', async () => {
    const { object, id } = await made('plain');
    const secret = await kube.get(SECRETS, 'plain', namespace);
    const data = await stack.secret('plain');
    expect(data).toEqual({ token: expect.stringMatching(/^tnl_cr_/), 'credential-id': id });
    expect(secret.type).toBe('tunnel-operator.dev/authtoken');
    expect(secret.metadata.labels).toEqual({ 'app.kubernetes.io/managed-by': 'tunnel-operator' });
    expect(secret.metadata.annotations).toEqual({
      'tunnel-operator.dev/token-sha256': createHash('sha256')
        .update(data?.token ?? '')
        .digest('hex'),
    });
    expect(secret.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'tunnel-operator.dev/v1alpha1',
        kind: 'TunnelCredential',
        name: 'plain',
        uid: object.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(await stack.accepts(data?.token)).toBe(true);
  });

  test('has the labels and annotations of its template, and loses those dropped from it', async () => {
    const spec = (template: object) => ({ secret: { template } });
    await made('templated', spec({ labels: { app: 'shop', tier: 'edge' }, annotations: { note: 'a', 'x.io/y': 'b' } }));
    await kubectlPatch('templated', { metadata: { labels: { mine: 'yes' }, annotations: { mine: 'yes' } } });
    expect((await kube.get(SECRETS, 'templated', namespace)).metadata).toMatchObject({
      labels: { app: 'shop', tier: 'edge', mine: 'yes' },
      annotations: { note: 'a', 'x.io/y': 'b', mine: 'yes' },
    });
    const before = await token('templated');

    await stack.apply(credential('templated', spec({ labels: { app: 'shop' }, annotations: { note: 'c' } })));
    await stack.ready(CREDENTIALS, 'templated');
    const { labels, annotations } = (await kube.get(SECRETS, 'templated', namespace)).metadata;
    expect(labels).toEqual({ app: 'shop', mine: 'yes', 'app.kubernetes.io/managed-by': 'tunnel-operator' });
    expect(annotations).toMatchObject({ note: 'c', mine: 'yes' });
    expect(annotations).not.toHaveProperty(['x.io/y']);

    await stack.apply(credential('templated', spec({})));
    await stack.ready(CREDENTIALS, 'templated');
    const after = (await kube.get(SECRETS, 'templated', namespace)).metadata;
    expect(after.labels).toEqual({ mine: 'yes', 'app.kubernetes.io/managed-by': 'tunnel-operator' });
    expect(Object.keys(after.annotations ?? {}).sort()).toEqual(['mine', 'tunnel-operator.dev/token-sha256']);
    expect(await token('templated')).toBe(before);
  });

  test('moves with its token when the name changes; the old Secret is deleted', async () => {
    const before = await made('moving');
    await stack.apply(credential('moving', { secret: { name: 'moved' } }));
    const { status } = await stack.ready(CREDENTIALS, 'moving');
    expect(status).toMatchObject({ id: before.id, secretName: 'moved' });
    expect(await token('moved')).toBe(before.token);
    expect(await stack.secret('moving')).toBeUndefined();
    expect(await stack.accepts(before.token)).toBe(true);
  });

  test('has the token under another key when the key changes, and not under the old one', async () => {
    const before = await made('keyed');
    await stack.apply(credential('keyed', { secret: { key: 'AUTHTOKEN' } }));
    await stack.ready(CREDENTIALS, 'keyed');
    expect(await stack.secret('keyed')).toEqual({ AUTHTOKEN: before.token, 'credential-id': before.id });
  });

  test('moves with its token when name and key change at once', async () => {
    const before = await made('both');
    await stack.apply(credential('both', { secret: { name: 'both-moved', key: 'T' } }));
    await stack.ready(CREDENTIALS, 'both');
    expect(await stack.secret('both-moved')).toEqual({ T: before.token, 'credential-id': before.id });
    expect(await stack.secret('both')).toBeUndefined();
  });
});

describe('a Secret that belongs to something else', () => {
  test('is never overwritten; nothing is created until it is gone, then the credential recovers by itself', async () => {
    const remotes = await stack.remoteIds();
    await stack.run('create', 'secret', 'generic', 'taken', '--from-literal=token=mine');
    await stack.apply(credential('taken'));
    const { ready } = await stack.reason(CREDENTIALS, 'taken', 'Ready', 'SecretConflict');
    expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining('Secret taken exists') });
    expect(await stack.secret('taken')).toEqual({ token: 'mine' });
    expect(await stack.remoteIds()).toEqual(remotes);
    const about = { kind: 'TunnelCredential', reason: 'SecretConflict' };
    const conflicts = () => stack.metric('tunnel_operator_not_ready_objects', about);
    await eventually(async () => expect(await conflicts()).toBe(1));

    await stack.run('delete', 'secret', 'taken');
    await stack.ready(CREDENTIALS, 'taken');
    expect(await stack.accepts(await token('taken'))).toBe(true);
    expect(await stack.remoteIds()).toHaveLength(remotes.length + 1);
    await eventually(async () => expect(await conflicts()).toBe(0));
  });

  test('is not overwritten when a credential moves to its name; the token stays where it was', async () => {
    const before = await made('homely');
    await stack.run('create', 'secret', 'generic', 'foreign', '--from-literal=token=mine');
    await stack.apply(credential('homely', { secret: { name: 'foreign' } }));
    await stack.reason(CREDENTIALS, 'homely', 'Ready', 'SecretConflict');
    expect(await stack.secret('foreign')).toEqual({ token: 'mine' });
    expect(await token('homely')).toBe(before.token);
    expect(await stack.accepts(before.token)).toBe(true);

    await stack.apply(credential('homely'));
    expect((await stack.ready(CREDENTIALS, 'homely')).status.id).toBe(before.id);
    expect(await token('homely')).toBe(before.token);
  });

  test('of another credential is not adopted', async () => {
    const first = await made('first', { secret: { name: 'shared' } });
    await stack.apply(credential('second', { secret: { name: 'shared' } }));
    await stack.reason(CREDENTIALS, 'second', 'Ready', 'SecretConflict');
    expect(await token('shared')).toBe(first.token);
  });
});

describe('a Secret that was', () => {
  test('deleted by hand is restored with a new token, and the old one is revoked', async () => {
    const before = await made('deleted');
    await stack.run('delete', 'secret', 'deleted');
    const after = await eventually(async () => {
      const now = await token('deleted');
      expect(now).not.toBe('');
      expect(await stack.accepts(now)).toBe(true);
      return now;
    });
    expect(after).not.toBe(before.token);
    await eventually(async () => {
      expect((await stack.ready(CREDENTIALS, 'deleted')).status.id).not.toBe(before.id);
      expect(await stack.accepts(before.token)).toBe(false);
      const reasons = (await stack.events('deleted')).map(({ reason }) => reason);
      expect(reasons).toEqual(expect.arrayContaining(['TokenReissued', 'OldCredentialRevoked']));
    });
    expect(await stack.remoteIds()).not.toContain(before.id);
    expect((await stack.secret('deleted'))?.['credential-id']).toBe(
      (await stack.see(CREDENTIALS, 'deleted')).status.id,
    );
  });

  test('deleted while the operator was down is restored all the same', async () => {
    const before = await made('away');
    await stack.restart(async () => {
      await stack.run('delete', 'secret', 'away');
    });
    await eventually(async () => expect(await stack.accepts(await token('away'))).toBe(true));
    expect(await token('away')).not.toBe(before.token);
    await eventually(async () => expect(await stack.accepts(before.token)).toBe(false));
  });

  test.each([
    ['robbed of its token', { data: { token: null } }],
    ['given another token', { data: { token: encoded('tnl_cr_made_up') } }],
    ['given the id of another credential', { data: { 'credential-id': encoded('cr_01k9zq3v5hf8svx2r4c6y7n0wd') } }],
    ['emptied', { data: null }],
  ])('%s gets a new one, and the old one is revoked', async (what, patch) => {
    const name = what.replaceAll(' ', '-');
    const before = await made(name);
    await kubectlPatch(name, patch);
    await eventually(async () => {
      const data = await stack.secret(name);
      expect(data).toEqual({ token: expect.stringMatching(/^tnl_cr_/), 'credential-id': expect.any(String) });
      expect(data?.token).not.toBe(before.token);
      expect(await stack.accepts(data?.token)).toBe(true);
      expect(await stack.accepts(before.token)).toBe(false);
    });
  });

  test.each([
    ['robbed of its label', { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } }],
    ['robbed of a label of its template', { metadata: { labels: { app: null } } }],
    ['given another value of its template', { metadata: { annotations: { note: 'changed' } } }],
    ['robbed of its owner', { metadata: { ownerReferences: null } }],
    ['given more data', { data: { more: encoded('x') } }],
    ['given the token under another key', { data: { other: encoded('x') } }],
  ])('%s is restored, with the same token', async (what, patch) => {
    const name = what.replaceAll(' ', '-');
    const before = await made(name, { secret: { template: { labels: { app: 'shop' }, annotations: { note: 'n' } } } });
    const secret = await kube.get(SECRETS, name, namespace);
    const stable = ({ metadata, data, type }: typeof secret) => {
      const { labels, annotations, ownerReferences } = metadata;
      return { labels, annotations, ownerReferences, data, type };
    };
    await kubectlPatch(name, patch);
    await eventually(async () => expect(stable(await kube.get(SECRETS, name, namespace))).toEqual(stable(secret)));
    expect((await stack.reconciled(CREDENTIALS, name)).status.id).toBe(before.id);
    expect(await stack.accepts(before.token)).toBe(true);
    // It is watched again, too.
    await stack.run('delete', 'secret', name);
    await eventually(async () => expect(await stack.accepts((await stack.secret(name))?.token)).toBe(true));
  });

  test('is replaced when it is deleted, also where its owner is not its controller', async () => {
    await made('uncontrolled');
    const { metadata } = await kube.get(SECRETS, 'uncontrolled', namespace);
    const ownerReferences = metadata.ownerReferences?.map((each) => ({ ...each, controller: false }));
    await kubectlPatch('uncontrolled', { metadata: { ownerReferences } });
    await stack.run('delete', 'secret', 'uncontrolled');
    await eventually(async () => expect(await stack.accepts((await stack.secret('uncontrolled'))?.token)).toBe(true));
  });
});

describe('no token is issued in vain', () => {
  const rotate = (name: string) => stack.annotate(CREDENTIALS, name, { [`${GROUP}/rotate-requested-at`]: 'now' });

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
    await kubectlPatch('held', { metadata: { finalizers: ['example.com/hold'] } });
    await stack.run('delete', 'secret', 'held', '--wait=false');
    const issued = await stack.remoteIds();
    await rotate('held');
    const { ready } = await stack.reason(CREDENTIALS, 'held', 'Ready', 'SecretConflict');
    expect(ready?.message).toContain('Secret held is being deleted');
    expect(await stack.remoteIds()).toEqual(issued);
    expect(await stack.accepts(before.token)).toBe(true);
    await kubectlPatch('held', { metadata: { finalizers: null } });
    await eventually(async () => expect(await stack.accepts(await token('held'))).toBe(true));
    expect(await token('held')).not.toBe(before.token);
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
      await stack.restart(() => kubectlPatch('counted', { metadata: robbed, data: { token: null } }));
      await eventually(async () => expect(await stack.accepts(await token('counted'))).toBe(true));
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
    await eventually(async () => expect(await stack.accepts(await token('contested'))).toBe(true));
    await stack.ready(CREDENTIALS, 'contested');
  });
});
