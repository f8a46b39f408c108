/** Two objects that claim the same, of which the one that has it, or both, are deleted; one may be held up meanwhile. */
import { describe, expect, test } from 'vitest';
import type { Declaration } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { modulesRows } from '../../dev/fixtures/story-rows.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { deletionsOf, HOLD } from './deletions.ts';
import { API_KEY, eventually, manifest, POLICIES, policy, startStack } from './stack.ts';

const { adopt: ADOPT } = ANNOTATION;

// Without a resync: who waits has to be woken.
const stack = await startStack({ prefix: 'rivals' });
const { client } = stack;
const post = postTo(stack.api.url, API_KEY);

const { askToDelete, gone, pause, resume, heldUpOnly, letGo } = deletionsOf(stack);

/** What keeps an object from setting any modules, though it declares some. */
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

describe.each(modulesRows)('of two $name for one owner', (row) => {
  const { name: kind, type } = row;
  let performances = 0;

  const declare = (name: string, spec: Declaration['spec'], metadata: object = {}) =>
    stack.apply({ ...manifest({ name: kind }, name, spec), metadata: { name, ...metadata } });
  const modulesOf = async (ownerId: string | undefined) => {
    for await (const found of row.kind.calls(client).list()) if (found.id === ownerId) return found;
    return undefined;
  };

  /** `first` has its modules in force; `elsewhere` is the same at another owner. */
  async function holder(finalizers: string[] = [], policy: object = {}) {
    const [n, m] = [++performances, ++performances];
    const { another, changed, ownerId } = await row.declare(post, n);
    const [first, second] = [`first-${n}`, `second-${n}`];
    await declare(first, { ...another.spec, ...policy }, finalizers.length > 0 ? { finalizers } : {});
    await stack.ready(type, first);
    const modules = () => modulesOf(ownerId);
    expect(await modules()).toMatchObject(another.remote);
    const elsewhere = (await row.declare(post, m)).another;
    return {
      first,
      second,
      ownerId,
      another,
      changed,
      before: another.remote,
      after: changed.remote,
      modules,
      elsewhere,
    };
  }

  /** … and `second` has others to declare. */
  async function rivals(finalizers: string[] = [], policy: object = {}) {
    const held = await holder(finalizers, policy);
    await declare(held.second, held.changed.spec);
    await stack.reason(type, held.second, 'Ready', 'ManagementConflict');
    return held;
  }

  test('they go with the first while the second lacks something, which sets its own once it is there', async () => {
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

  test('the second has them once the first has moved, and deletes them with itself', async () => {
    const { first, second, after, modules, elsewhere } = await rivals();
    await declare(first, elsewhere.spec);
    await stack.ready(type, second);
    expect(await modules()).toMatchObject(after);
    await stack.remove(type, second);
    expect(await modules()).toBeUndefined();
    await stack.remove(type, first);
  });

  test('the second keeps its own when the first, which was to move there, is deleted', async () => {
    const { first, second, before, modules, elsewhere, changed, ownerId } = await rivals();
    const [ownerRef = ''] = Object.keys(changed.spec);
    await declare(second, { ...elsewhere.spec, deletionPolicy: 'Retain' });
    await stack.ready(type, second);
    const { id } = (await stack.see(type, second)).status;
    await declare(first, { ...changed.spec, [ownerRef]: elsewhere.spec[ownerRef] });
    await stack.reason(type, first, 'Ready', 'ManagementConflict');
    expect(await modules()).toMatchObject(before);
    await stack.remove(type, first);
    expect(await modules()).toBeUndefined();
    const { status, object: seen } = await stack.see(type, second);
    expect(status).toMatchObject({ id });
    expect(seen.metadata.annotations?.[ANNOTATION.externalId]).toBe(id);
    expect(id).not.toBe(ownerId);
    await stack.remove(type, second);
    expect(await modulesOf(String(id))).toMatchObject(elsewhere.remote);
  });

  test('the only one deletes them, too, after it has lost its status and something that it needs', async () => {
    const held = await holder();
    const { first, changed, before, modules } = held;
    const [ownerRef = ''] = Object.keys(changed.spec);
    await stack.restart(async () => {
      await stack.kube.patch(type, first, { status: null }, stack.namespace, 'status');
      await declare(first, { [ownerRef]: changed.spec[ownerRef], ...LACKING[kind] });
    });
    await eventually(async () => expect((await stack.see(type, first)).ready?.reason).toMatch(/NotFound$/));
    expect(await modules()).toMatchObject(before);
    await stack.remove(type, first);
    expect(await modules()).toBeUndefined();
  });

  test('what the first retains, the second does not delete, whichever goes last', async () => {
    for (const waiting of ['first', 'second'] as const) {
      const { modules, before, ...names } = await rivals([], { deletionPolicy: 'Retain' });
      await pause(type, names[waiting]);
      const other = waiting === 'first' ? 'second' : 'first';
      // In this order: the second would have them from the first, and delete them, if it were not being deleted by then.
      await askToDelete(type, names[waiting], names[other]);
      await gone(type, names[other]);
      await resume(type, names[waiting]);
      await gone(type, names[waiting]);
      expect(await modules()).toMatchObject(before);
    }
  });

  test('the second has none, and keeps nobody from them, once it refers to something else', async () => {
    const { first, second, another, before, changed, modules } = await rivals();
    const [ownerRef = ''] = Object.keys(changed.spec);
    await declare(second, { ...changed.spec, [ownerRef]: { name: 'nowhere' } });
    await stack.reason(type, second, 'Ready', 'ReferenceNotFound');
    await stack.remove(type, first);
    expect(await modules()).toBeUndefined();
    await declare(first, another.spec);
    await stack.ready(type, first);
    await stack.remove(type, second);
    expect(await modules()).toMatchObject(before);
    await stack.remove(type, first);
    expect(await modules()).toBeUndefined();
  });

  test('that are both deleted, the second goes while the first is paused, which decides', async () => {
    const { first, second, before, modules } = await rivals();
    await pause(type, first);
    await askToDelete(type, first, second);
    await gone(type, second);
    expect(await modules()).toMatchObject(before);
    await resume(type, first);
    await gone(type, first);
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
