/** Two objects that claim the same, of which the one that has it, or both, are deleted; one may be held up meanwhile. */
import { describe, expect, test } from 'vitest';
import type { Declaration } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { modulesRows } from '../../dev/fixtures/story-rows.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { API_KEY, eventually, manifest, ours, POLICIES, policy, startStack } from './stack.ts';

const HOLD = 'example.com/hold';
const PAUSED = 'tunnel-operator.dev/paused';
const ADOPT = 'tunnel-operator.dev/adopt';

// Without a resync: who waits has to be woken.
const stack = await startStack({ prefix: 'rivals' });
const { client } = stack;
const post = postTo(stack.api.url, API_KEY);

const askToDelete = async (type: ResourceType, ...names: string[]) =>
  expect(await stack.run('delete', type.plural, ...names, '--wait=false')).toMatchObject({ code: 0 });
const gone = (type: ResourceType, name: string) =>
  eventually(async () => expect(await stack.find(type, name)).toBeUndefined());
const pause = async (type: ResourceType, ...names: string[]) => {
  for (const name of names) await stack.annotate(type, name, { [PAUSED]: 'true' });
  for (const name of names) await stack.reason(type, name, 'Synced', 'Paused');
};
const resume = (type: ResourceType, name: string) => stack.annotate(type, name, { [PAUSED]: null });
const heldUpOnly = (type: ResourceType, name: string) =>
  eventually(async () => expect((await stack.see(type, name)).object.metadata.finalizers).toEqual([HOLD]));
const letGo = async (type: ResourceType, name: string) => {
  await stack.kube.patch(type, name, { metadata: { finalizers: null } }, stack.namespace);
  await gone(type, name);
};

describe.each(modulesRows)('of two $name for one owner', (row) => {
  const { name: kind, type } = row;
  let performances = 0;

  /** `first` has its modules in force, `second` has others to declare. */
  async function rivals(finalizers: string[] = []) {
    const n = ++performances;
    const { another, changed, ownerId } = await row.declare(post, n);
    const [first, second] = [`first-${n}`, `second-${n}`];
    const declare = async (name: string, { spec }: Declaration, held: string[] = []) =>
      stack.apply({ ...manifest({ name: kind }, name, spec), metadata: { name, finalizers: held } });
    await declare(first, another, finalizers);
    await stack.ready(type, first);
    await declare(second, changed);
    await stack.reason(type, second, 'Ready', 'ManagementConflict');
    const modules = async () => {
      for await (const found of row.kind.calls(client).list()) if (found.id === ownerId) return found;
      return undefined;
    };
    expect(await modules()).toMatchObject(another.remote);
    return { first, second, before: another.remote, after: changed.remote, modules };
  }

  test('that are both deleted, the second waits while the first is paused, and follows it', async () => {
    const { first, second, before, modules } = await rivals();
    await pause(type, first);
    await askToDelete(type, first, second);
    const { ready } = await stack.reason(type, second, 'Ready', 'DeletionBlocked');
    expect(ready?.message).toContain(`the ${kind} ${stack.namespace}/${first}, which has`);
    expect(ready?.message).toContain('is being deleted, too; this object follows');
    expect(await modules()).toMatchObject(before);
    await resume(type, first);
    await gone(type, first);
    await gone(type, second);
    expect(await modules()).toBeUndefined();
  });

  test('that are both deleted, the first goes while the second is paused', async () => {
    const { first, second, modules } = await rivals();
    await pause(type, second);
    await askToDelete(type, second, first);
    await gone(type, first);
    expect(await modules()).toBeUndefined();
    await resume(type, second);
    await gone(type, second);
    expect(await modules()).toBeUndefined();
  });

  test('that are both deleted, the second does not wait for whom somebody else holds up', async () => {
    const { first, second, modules } = await rivals([HOLD]);
    await askToDelete(type, first, second);
    await gone(type, second);
    await heldUpOnly(type, first);
    expect(await modules()).toBeUndefined();
    await letGo(type, first);
  });

  test('the second takes over from a deleted one that somebody else holds up', async () => {
    const { first, second, after, modules } = await rivals([HOLD]);
    await askToDelete(type, first);
    await stack.ready(type, second);
    await heldUpOnly(type, first);
    expect(await modules()).toMatchObject(after);
    await letGo(type, first);
    await stack.remove(type, second);
    expect(await modules()).toBeUndefined();
  });
});

describe('of two objects that adopt one resource', () => {
  const ends = { Delete: false, Retain: true };
  type Policy = keyof typeof ends;
  let performances = 0;

  async function rivals([ofFirst, ofSecond]: readonly [Policy, Policy], finalizers: string[] = []) {
    const n = ++performances;
    const { id } = await client.ipPolicies.create({});
    const [first, second] = [`first-${n}`, `second-${n}`];
    const adopting = (name: string, deletionPolicy: Policy) =>
      policy(name, { deletionPolicy, description: name }, { [ADOPT]: id });
    const declared = adopting(first, ofFirst);
    await stack.apply({ ...declared, metadata: { ...declared.metadata, finalizers } });
    await stack.ready(POLICIES, first);
    await stack.apply(adopting(second, ofSecond));
    await stack.reason(POLICIES, second, 'Ready', 'ManagementConflict');
    return { id, first, second };
  }

  test.each<[Policy, Policy]>([
    ['Delete', 'Retain'],
    ['Retain', 'Delete'],
  ])('with %s and %s, both deleted, the second waits for nobody, and the first decides', async (...policies) => {
    const { id, first, second } = await rivals(policies);
    await pause(POLICIES, first);
    await askToDelete(POLICIES, first, second);
    await gone(POLICIES, second);
    expect(await client.ipPolicies.get(id)).toMatchObject({ description: first });
    await resume(POLICIES, first);
    await gone(POLICIES, first);
    expect((await stack.remoteIds()).includes(id)).toBe(ends[policies[0]]);
  });

  test('the second takes over from a deleted one that somebody else holds up', async () => {
    const { id, first, second } = await rivals(['Retain', 'Delete'], [HOLD]);
    await askToDelete(POLICIES, first);
    await stack.ready(POLICIES, second);
    await heldUpOnly(POLICIES, first);
    expect(await client.ipPolicies.get(id)).toMatchObject({ description: second });
    await letGo(POLICIES, first);
    await stack.remove(POLICIES, second);
    expect(await stack.remoteIds()).not.toContain(id);
  });
});

test('where nothing may be adopted, the second takes over without a moment in between, too', async () => {
  await stack.restart(undefined, { adoptNamespaces: [] });
  const [edges, modules] = [ours('tlsedges'), ours('tlsedgemodules')];
  const declare = (name: string) =>
    stack.apply(
      manifest({ name: 'TunnelGroupBackend' }, name, { labels: { app: name } }),
      manifest({ name: 'TLSEdgeModules' }, name, {
        tlsEdgeRef: { name: 'shared' },
        backend: { backendRef: { kind: 'TunnelGroupBackend', name } },
      }),
    );
  await stack.apply(manifest({ name: 'TLSEdge' }, 'shared'));
  await declare('first');
  await stack.ready(modules, 'first');
  await declare('second');
  await stack.reason(modules, 'second', 'Ready', 'ManagementConflict');
  const linesBefore = stack.apiLogs.length;
  await stack.remove(modules, 'first');
  await stack.ready(modules, 'second');
  expect(stack.apiLogs.slice(linesBefore).filter((line) => line.includes('"method":"DELETE"'))).toEqual([]);
  await stack.remove(modules, 'second');
  await stack.remove(edges, 'shared');
});
