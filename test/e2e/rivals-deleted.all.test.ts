/** Two objects claim the same resource, and the one that has it, or both, are deleted. One deletion may be held up. */
import { describe, expect, test } from 'vitest';
import type { Declaration } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { modulesRows } from '../../dev/fixtures/story-rows.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { deletionsOf, HOLD } from './deletions.ts';
import { manifest, POLICIES, policy } from './manifest.ts';
import { API_KEY, eventually, startStack } from './stack.ts';

const { adopt: ADOPT } = ANNOTATION;

// No resync: an object that waits has to be woken.
const stack = await startStack({ prefix: 'rivals' });
const { client } = stack;
const post = postTo(stack.api.url, API_KEY);

const { askToDelete, gone, pause, resume, heldUpOnly, letGo } = deletionsOf(stack);

/** Modules that cannot be set, since the Secret or backend that they refer to does not exist. */
const LACKING: Readonly<Record<string, object>> = {
  HTTPSEdgeRouteModules: {
    oidc: {
      issuer: 'https://accounts.example.com',
      clientId: { value: 'portal' },
      clientSecret: { secretKeyRef: { name: 'nowhere', key: 'secret' } },
    },
  },
  TLSEdgeModules: { backend: { backendRef: { kind: 'TunnelGroupBackend', name: 'nowhere' } } },
};

describe.each(modulesRows)('with two $name for one owner,', (row) => {
  const { name: kind, type } = row;
  let performances = 0;

  const declare = (name: string, spec: Declaration['spec'], metadata: object = {}) =>
    stack.apply({ ...manifest(kind, name, spec), metadata: { name, ...metadata } });
  const modulesOf = async (ownerId: string | undefined) => {
    for await (const found of row.kind.calls(client).list()) if (found.id === ownerId) return found;
    return undefined;
  };

  /** Creates `first`, which sets its modules. */
  async function holder(finalizers: string[] = [], policy: object = {}) {
    const n = ++performances;
    const { another, changed, ownerId } = await row.declare(post, n);
    const [first, second] = [`first-${n}`, `second-${n}`];
    await declare(first, { ...another.spec, ...policy }, finalizers.length > 0 ? { finalizers } : {});
    await stack.ready(type, first);
    const modules = () => modulesOf(ownerId);
    expect(await modules()).toMatchObject(another.remote);
    return { first, second, changed, before: another.remote, after: changed.remote, modules };
  }

  /** Creates `first`, and then `second`, which declares other modules and waits. */
  async function rivals(finalizers: string[] = [], policy: object = {}) {
    const held = await holder(finalizers, policy);
    await declare(held.second, held.changed.spec);
    await stack.reason(type, held.second, 'Ready', 'ManagementConflict');
    return held;
  }

  test('the modules go with the first if the second cannot set its own, and come back once it can', async () => {
    const { first, second, after, changed, modules } = await holder();
    const [ownerRef = ''] = Object.keys(changed.spec);
    await declare(second, { [ownerRef]: changed.spec[ownerRef], ...LACKING[kind] });
    await eventually(async () => expect((await stack.see(type, second)).ready?.reason).toMatch(/NotFound$/));
    await stack.remove(type, first);
    expect(await modules()).toBeUndefined();
    await declare(second, changed.spec);
    await stack.ready(type, second);
    expect(await modules()).toMatchObject(after);
    await stack.remove(type, second);
    expect(await modules()).toBeUndefined();
  });

  test('the second does not delete modules that the first retains, in either order of deletion', async () => {
    for (const waiting of ['first', 'second'] as const) {
      const { modules, before, ...names } = await rivals([], { deletionPolicy: 'Retain' });
      await pause(type, names[waiting]);
      const other = waiting === 'first' ? 'second' : 'first';
      // In this order: a second that is not being deleted yet would take over the modules, and then delete them.
      await askToDelete(type, names[waiting], names[other]);
      await gone(type, names[other]);
      await resume(type, names[waiting]);
      await gone(type, names[waiting]);
      expect(await modules()).toMatchObject(before);
    }
  });

  test('both deleted, the second goes while the first is paused; the first decides about the modules', async () => {
    const { first, second, before, modules } = await rivals();
    await pause(type, first);
    await askToDelete(type, first, second);
    await gone(type, second);
    expect(await modules()).toMatchObject(before);
    await resume(type, first);
    await gone(type, first);
    expect(await modules()).toBeUndefined();
  });

  test('the second takes over when the first is deleted, even if a foreign finalizer holds it up', async () => {
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

describe('with two objects that adopt one resource,', () => {
  const ends = { Delete: false, Retain: true };
  type Policy = keyof typeof ends;
  let performances = 0;

  async function rivals([ofFirst, ofSecond]: readonly [Policy, Policy]) {
    const n = ++performances;
    const { id } = await client.ipPolicies.create({});
    const [first, second] = [`first-${n}`, `second-${n}`];
    const adopting = (name: string, deletionPolicy: Policy) =>
      policy(name, { deletionPolicy, description: name }, { [ADOPT]: id });
    await stack.apply(adopting(first, ofFirst));
    await stack.ready(POLICIES, first);
    await stack.apply(adopting(second, ofSecond));
    await stack.reason(POLICIES, second, 'Ready', 'ManagementConflict');
    return { id, first, second };
  }

  test.each<[Policy, Policy]>([
    ['Delete', 'Retain'],
    ['Retain', 'Delete'],
  ])('both deleted with policies %s and %s, the second goes at once and the first decides', async (...policies) => {
    const { id, first, second } = await rivals(policies);
    await pause(POLICIES, first);
    await askToDelete(POLICIES, first, second);
    await gone(POLICIES, second);
    expect(await client.ipPolicies.get(id)).toMatchObject({ description: first });
    await resume(POLICIES, first);
    await gone(POLICIES, first);
    expect((await stack.remoteIds()).includes(id)).toBe(ends[policies[0]]);
  });
});
