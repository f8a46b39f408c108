import { describe, expect, test } from 'vitest';
import { FINALIZER } from '../../../../src/operator/contract/names.ts';
import { ipPolicyKind } from '../../../../src/operator/kinds/ip-policy.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { type ObjectChange, ObjectStore } from '../../../../src/operator/kube/object-store.ts';
import { readPolicies } from '../../../../src/operator/managed/declaration/spec.ts';
import {
  Claims,
  currentClaim,
  goesBefore,
  isOlder,
  supersededIn,
} from '../../../../src/operator/managed/knowledge/claims.ts';
import { object } from '../../objects.ts';

const OLD = '2026-11-21T09:00:00Z';
const YOUNG = '2026-11-21T11:00:00Z';
const observing = { spec: { managementPolicy: 'Observe' } };
const retiring = (id: string) => JSON.stringify([{ id, generation: 1, after: YOUNG }]);
const shows = (id: string) => ({ status: { id, createGeneration: 1 } });
const deleted = (fields: Parameters<typeof object>[0], finalizers: string[]) =>
  object({ ...fields, metadata: { deletionTimestamp: YOUNG, finalizers } }, { externalId: 'x' });

test.each([
  ['created earlier', { created: '2026-11-21T09:59:59Z', uid: 'z' }, { uid: 'a' }, true],
  ['created later', { created: '2026-11-21T10:00:01Z', uid: 'a' }, { uid: 'z' }, false],
  ['of the same second, with the smaller UID', { uid: 'a' }, { uid: 'b' }, true],
  ['of the same second, with the greater UID', { uid: 'b' }, { uid: 'a' }, false],
  ['that is the same', { uid: 'a' }, { uid: 'a' }, false],
])('whether an object %s is older', (_, a, b, expected) => {
  expect(isOlder(object(a), object(b))).toBe(expected);
});

const superseding = { externalId: 'y', retiring: retiring('x') };
const superseded = { id: 'y', createGeneration: 2, retiring: JSON.parse(retiring('x')) as unknown };
const naming = object({}, { externalId: 'x' });
const managing = object(shows('x'), { externalId: 'x' });
const observer = object({ ...shows('x'), ...observing }, { externalId: 'x' });
const replacing = object(shows('x'), { retiring: retiring('x') });
const replaced = object({ status: superseded }, superseding);
const finalized = deleted(shows('x'), ['example.com/hold']);

test.each<[string, KubeObject | undefined, KubeObject | undefined, string[]]>([
  ['a new object claims', undefined, object({}, { adopt: 'x' }), ['x']],
  ['an object is gone', naming, undefined, ['x']],
  ['an adoption keeps the claim', object({}, { adopt: 'x' }), object({}, { adopt: 'x', externalId: 'x' }), []],
  ['a reconcile confirms the claim', naming, managing, ['x']],
  ['an object is finalized, but held', deleted(shows('x'), [FINALIZER, 'example.com/hold']), finalized, ['x']],
  ['another resource takes its place', naming, object({}, { externalId: 'y' }), ['x', 'y']],
  ['a replacement begins, which may be given up', managing, replacing, []],
  ['the replacement is in place', replacing, object(shows('x'), superseding), ['y']],
  ['the status shows it', object(shows('x'), superseding), replaced, ['y']],
  ['the superseded one is gone', replaced, object({ status: superseded }, { externalId: 'y' }), ['x']],
  ['an object only observes now', managing, observer, ['x']],
  ['an observer manages now', observer, managing, ['x']],
  ['only the spec changes', managing, object({ ...shows('x'), spec: { rules: [] } }, { externalId: 'x' }), []],
])('the ids are contested, or not, when %s', (_, previous, next, expected) => {
  const store = new ObjectStore();
  const claims = new Claims({ membersOf: readPolicies }, store);
  if (previous) store.put(previous);
  const [change] = next
    ? store.put({ ...next, metadata: { ...next.metadata, resourceVersion: '2' } })
    : store.remove(previous ?? object());
  expect(change && claims.contestedBy(change)).toEqual(expected);
});

const taken = object(shows('x'), { externalId: 'y', retiring: retiring('x') });
test.each<[string, KubeObject, string | undefined, boolean?]>([
  ['nothing', object(), undefined],
  ['the one to adopt', object({}, { adopt: 'x' }), 'x', false],
  ['the one that its annotations name', object({}, { externalId: 'x', adopt: 'y' }), 'x', false],
  ['the one that its status confirms', managing, 'x', true],
  ['the one in its status, despite an edit', object(shows('x'), { externalId: 'y' }), 'x', true],
  ['the one in its status, after a wipe', object(shows('x')), 'x', true],
  ['the successor of the one in its status', taken, 'y', false],
  ['nothing while a successor is created', replacing, undefined],
  ['the same one while being deleted', deleted(shows('x'), [FINALIZER]), 'x', true],
  ['nothing once it is finalized', finalized, undefined],
  ['the one that it observes', object({ status: { id: 'x' } }, { adopt: 'y' }), 'y', false],
])('an object claims %s', (_, claimant, id, isConfirmed) => {
  expect(currentClaim(claimant)).toEqual(id === undefined ? undefined : { id, isConfirmed });
});

const adopting = object({}, { adopt: 'x' });
const [older, younger] = [
  { name: 'old', created: OLD },
  { name: 'young', created: YOUNG },
];
test.each<[string, KubeObject, KubeObject, boolean]>([
  ['older', object(older), object(), true],
  ['younger', object(younger), object(), false],
  ['younger, and manages it', object({ ...younger, ...shows('x') }), adopting, true],
  ['older, and only names it', object(older, { adopt: 'x' }), object(shows('x')), false],
  ['older, when both manage it', object({ ...older, ...shows('x') }), object(shows('x')), true],
  ['older, and claims nothing', object(older), adopting, false],
  ['the same in another version', object({ version: 2, ...shows('x') }), adopting, false],
])('whether an object goes before the claimant if it is %s', (_, other, claimant, expected) => {
  expect(goesBefore(other, claimant)).toBe(expected);
});

function claiming(kind: ConstructorParameters<typeof Claims>[0] = { membersOf: readPolicies }, mayAdopt = true) {
  const store = new ObjectStore();
  const claims = new Claims(kind, store, () => mayAdopt);
  const tell = (changes: ObjectChange[]) => {
    for (const change of changes) claims.onChange(change);
  };
  return {
    claims,
    put: (next: KubeObject) => tell(store.put(next)),
    remove: (gone: KubeObject) => tell(store.remove(gone)),
  };
}

describe('the claims of a kind', () => {
  test('follow objects that are added, changed, replaced and deleted', () => {
    const { claims, put, remove } = claiming();
    put(object({ name: 'a' }, { adopt: 'x' }));
    put(object({ name: 'b', uid: '1' }, { externalId: 'x' }));
    expect(claims.concernedWith('x')).toEqual(['ns/a', 'ns/b']);
    put(object({ name: 'b', uid: '2', version: 2 }, { externalId: 'y' }));
    expect([claims.concernedWith('x'), claims.concernedWith('y')]).toEqual([['ns/a'], ['ns/b']]);
    remove(object({ name: 'a' }));
    expect(claims.concernedWith('x')).toEqual([]);
  });

  test('block the younger object until the older gives up its claim', () => {
    const { claims, put, remove } = claiming();
    const old = object(older, { externalId: 'x' });
    put(old);
    put(adopting);
    expect([claims.rivalOf(old), claims.rivalOf(adopting)]).toEqual([undefined, old]);
    expect([claims.othersClaiming('x', old), claims.othersClaiming('y', old)]).toEqual([[adopting], []]);
    remove(old);
    expect([claims.rivalOf(adopting), claims.othersClaiming('x', adopting)]).toEqual([undefined, []]);
  });

  test('are no rivals of those through another connection, where the id means another resource', () => {
    const store = new ObjectStore();
    const connectionOf = ({ metadata }: KubeObject) => metadata.labels?.through ?? '';
    const claims = new Claims({ membersOf: readPolicies }, store, () => true, connectionOf);
    const through = (connection: string, fields: Parameters<typeof object>[0]) =>
      object({ ...fields, metadata: { labels: { through: connection } } }, { adopt: 'x' });
    const [there, here, later] = [through('there', older), through('here', {}), through('here', younger)] as const;
    for (const each of [there, here, later]) for (const change of store.put(each)) claims.onChange(change);
    expect([there, here, later].map((each) => claims.rivalOf(each))).toEqual([undefined, undefined, here]);
    expect([there, here].map((each) => claims.othersClaiming('x', each))).toEqual([[], [later]]);
  });

  test.each<[string, KubeObject, string | undefined]>([
    ['an object replaces', object({ ...younger, ...shows('x') }, { retiring: retiring('x') }), 'young'],
    ['an object has replaced', object({ ...younger, status: superseded }, superseding), 'young'],
    ['an observer has replaced', object({ ...younger, status: superseded, ...observing }, superseding), 'young'],
    ['only annotations list as superseded', object(younger, superseding), undefined],
    ['an object has let go of', object({ ...younger, status: superseded }, { externalId: 'y' }), undefined],
  ])('include, or not, a resource that %s', (_, young, expected) => {
    const { claims, put } = claiming();
    const old = object(older, { adopt: 'x' });
    put(old);
    put(young);
    expect(claims.rivalOf(old)?.metadata.name).toBe(expected);
    expect(claims.concernedWith('x').includes('ns/young')).toBe(expected !== undefined);
    expect(claims.rivalFor('x', young)?.metadata.name).toBe(expected === undefined ? 'old' : undefined);
  });

  test.each<[string, boolean, Parameters<typeof object>[0]]>([
    ['observes', false, observing],
    ['observes, and is otherwise invalid', false, { spec: { ...observing.spec, rules: 'none' } }],
    ['has an invalid policy, and may manage', true, { spec: { managementPolicy: 'no' } }],
    ['claims nothing', false, { metadata: { annotations: {} } }],
  ])('are disputed or not by an object that %s: %s', (_, disputes, fields) => {
    const { claims, put } = claiming({ membersOf: ({ spec }) => ipPolicyKind.readMembers(spec) });
    put(object({ ...older, ...fields }, { adopt: 'x' }));
    expect(claims.rivalOf(adopting)?.metadata.name).toBe(disputes ? 'old' : undefined);
  });

  test('end when the object is finalized, even if other finalizers hold it', () => {
    const { claims, put } = claiming();
    const { annotations } = object({}, superseding).metadata;
    const held = { ...finalized, status: superseded, metadata: { ...finalized.metadata, annotations } };
    put(held);
    expect(['x', 'y'].flatMap((id) => claims.concernedWith(id))).toEqual([]);
    expect(supersededIn(held)).toEqual([]);
  });

  test('still name the same of two older rivals after a change', () => {
    const { claims, put } = claiming();
    for (const name of ['a', 'b', 'c']) put(object({ name }, { adopt: 'x' }));
    put(object({ name: 'a', version: 2, metadata: { labels: { changed: 'yes' } } }, { adopt: 'x' }));
    expect(claims.rivalOf(object({ name: 'c' }, { adopt: 'x' }))?.metadata.name).toBe('a');
  });
});

describe('claims to modules', () => {
  const ownerIn = ({ spec }: KubeObject) => new Map(Object.entries(Object(spec))).get('ownerId');
  const attached = {
    membersOf: ({ spec }: KubeObject) => readPolicies(object({ spec })),
    isAttached: true,
    belongsTo: (each: KubeObject, id: string) => ownerIn(each) === id,
  };
  const declaring = (ownerId: string) => ({ ...older, spec: { ownerId } });

  test.each<[string, KubeObject, boolean]>([
    ['only an annotation names it', object(older, { externalId: 'x' }), false],
    ['it is only to be adopted', object(older, { adopt: 'x' }), false],
    ['the spec refers to it', object(declaring('x'), { externalId: 'x' }), true],
    ['the spec refers to another', object(declaring('y'), { externalId: 'x' }), false],
    ['the status confirms it', object({ name: 'old', ...shows('x') }), true],
    ['the spec refers to it, but nothing is recorded', object(declaring('x')), false],
  ])('count or not, when %s', (_, other, counts) => {
    for (const mayAdopt of [true, false]) {
      const { claims, put } = claiming(attached, mayAdopt);
      put(other);
      expect(claims.rivalOf(naming)?.metadata.name).toBe(counts ? 'old' : undefined);
    }
  });

  test('are contested when the spec refers to another owner', () => {
    const previous = object(declaring('x'), { externalId: 'x' });
    const next = object({ ...declaring('y'), version: 2 }, { externalId: 'x' });
    const { claims } = claiming(attached);
    expect(claims.contestedBy({ type: 'updated', key: 'ns/old', object: next, previous })).toEqual(['x']);
    expect(claims.contestedBy({ type: 'updated', key: 'ns/old', object: previous, previous })).toEqual([]);
    expect(claims.contestedBy({ type: 'added', key: 'ns/old', object: previous })).toEqual(['x']);
  });
});
