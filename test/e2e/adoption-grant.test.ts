/** Namespaces in which existing resources may not be adopted. */
import { expect, test } from 'vitest';
import { eventually, POLICIES, policy, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'grant', settings: { adoptNamespaces: ['elsewhere'] } });
const { client } = stack;

const GROUP = 'tunnel-operator.dev';
const ABSENT = 'ipp_01jd0000000000000000000000';

/** The id of a policy that is nobody's in the cluster. */
const theirs = async () => (await client.ipPolicies.create({ description: 'theirs' })).id;

test.for([
  ['the annotation adopt', (id: string) => policy('it', {}, { [`${GROUP}/adopt`]: id })],
  ['Observe', (id: string) => policy('it', { managementPolicy: 'Observe' }, { [`${GROUP}/adopt`]: id })],
  ['the annotation external-id', (id: string) => policy('it', {}, { [`${GROUP}/external-id`]: id })],
  [
    'the annotation external-id with a generation',
    (id: string) => policy('it', {}, { [`${GROUP}/external-id`]: id, [`${GROUP}/create-generation`]: '3' }),
  ],
  [
    'Observe with the annotation external-id',
    (id: string) => policy('it', { managementPolicy: 'Observe' }, { [`${GROUP}/external-id`]: id }),
  ],
] as const)('%s is refused, in the same words whether or not the resource exists', async ([, manifestFor]) => {
  const id = await theirs();
  const messages: (string | undefined)[] = [];
  for (const each of [id, ABSENT]) {
    await stack.apply(manifestFor(each));
    const { ready } = await stack.reason(POLICIES, 'it', 'Ready', 'AccessDenied');
    messages.push(ready?.message);
    await stack.remove(POLICIES, 'it');
  }
  expect(messages[0]).toContain('--adopt-namespaces');
  expect(messages[1]).toBe(messages[0]);
  expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'theirs' });
});

test('what the annotation retiring names is not deleted', async () => {
  const id = await theirs();
  const retiring = JSON.stringify([{ id, generation: 0, after: '2026-01-01T00:00:00Z' }]);
  await stack.apply(policy('it', {}, { [`${GROUP}/retiring`]: retiring }));
  await eventually(async () => {
    const { ready } = await stack.see(POLICIES, 'it');
    expect(ready).toBeDefined();
  });
  await stack.remove(POLICIES, 'it');
  expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'theirs' });
});

test('a denied object keeps nobody else from adopting what it names', async () => {
  const id = await theirs();
  await stack.apply(policy('denied', {}, { [`${GROUP}/external-id`]: id }));
  await stack.reason(POLICIES, 'denied', 'Ready', 'AccessDenied');
  // The same operator, for lack of another namespace: what counts is that no claim is said to stand in the way.
  await stack.apply(policy('later', {}, { [`${GROUP}/adopt`]: id }));
  await stack.reason(POLICIES, 'later', 'Ready', 'AccessDenied');
  await stack.remove(POLICIES, 'denied', 'later');
  expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'theirs' });
});

test('modules of an edge that is named by its id are neither read nor changed', async () => {
  const edges = { group: GROUP, version: 'v1alpha1', plural: 'tlsedgemodules' };
  const [{ id }, allowed] = [await client.tlsEdges.create({}), await theirs()];
  await client.tlsEdgeModules(id).ipRestriction.put({ ip_policy_ids: [allowed] });
  for (const managementPolicy of ['Manage', 'Observe']) {
    const spec = { tlsEdgeRef: { id }, managementPolicy };
    const manifest = { apiVersion: `${GROUP}/v1alpha1`, kind: 'TLSEdgeModules', metadata: { name: 'it' }, spec };
    await stack.apply(manifest);
    await stack.reason(edges, 'it', 'Ready', 'AccessDenied');
    expect(JSON.stringify((await stack.see(edges, 'it')).object)).not.toContain('ip_restriction');
    await stack.remove(edges, 'it');
  }
  expect((await client.tlsEdges.get(id)).modules).toEqual(['ip_restriction']);
});

test('objects without these annotations work as ever, also once their annotations are lost', async () => {
  await stack.apply(policy('own', { description: 'mine' }));
  const { status } = await stack.ready(POLICIES, 'own');
  await stack.annotate(POLICIES, 'own', { [`${GROUP}/external-id`]: null, [`${GROUP}/create-generation`]: null });
  await stack.reconciled(POLICIES, 'own');
  expect((await stack.ready(POLICIES, 'own')).status.id).toBe(status.id);
  await stack.remove(POLICIES, 'own');
  expect(await stack.remoteIds()).not.toContain(status.id);
});
