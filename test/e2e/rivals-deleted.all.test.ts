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

  /** `first` has its modules in force. */
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
});
