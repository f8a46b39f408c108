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
])('an object %s is older: %#', (_, a, b, expected) => {
  expect(isOlder(object(a), object(b))).toBe(expected);
});

const superseding = { externalId: 'y', retiring: retiring('x') };
const superseded = { id: 'y', createGeneration: 2, retiring: JSON.parse(retiring('x')) as unknown };

test.each<[string, KubeObject | undefined, KubeObject | undefined, string[]]>([
  ['a new object brings its claim', undefined, object({}, { adopt: 'x' }), ['x']],
  ['an object that goes takes its claim along', object({}, { externalId: 'x' }), undefined, ['x']],
  ['an adoption keeps the claim', object({}, { adopt: 'x' }), object({}, { adopt: 'x', externalId: 'x' }), []],
  ['a reconcile confirms it', object({}, { externalId: 'x' }), object(shows('x'), { externalId: 'x' }), ['x']],
  [
    'an object that is finalized, and held up by others, gives it up',
    deleted(shows('x'), [FINALIZER, 'example.com/hold']),
    deleted(shows('x'), ['example.com/hold']),
    ['x'],
  ],
  ['another one takes its place', object({}, { externalId: 'x' }), object({}, { externalId: 'y' }), ['x', 'y']],
  [
    'a replacement begins, which may be given up',
    object(shows('x'), { externalId: 'x' }),
    object(shows('x'), { retiring: retiring('x') }),
    [],
  ],
  ['it is in place', object(shows('x'), { retiring: retiring('x') }), object(shows('x'), superseding), ['y']],
  ['the status says so', object(shows('x'), superseding), object({ status: superseded }, superseding), ['y']],
  [
    'what it superseded is gone',
    object({ status: superseded }, superseding),
    object({ status: superseded }, { externalId: 'y' }),
    ['x'],
  ],
  [
    'an object only observes from now on',
    object(shows('x'), { externalId: 'x' }),
    object({ ...shows('x'), ...observing }, { externalId: 'x' }),
    ['x'],
  ],
  [
    'an object manages what it only observed',
    object({ ...shows('x'), ...observing }, { externalId: 'x' }),
    object(shows('x'), { externalId: 'x' }),
    ['x'],
  ],
  [
    'an object declares something else of what it has',
    object(shows('x'), { externalId: 'x' }),
    object({ ...shows('x'), spec: { rules: [] } }, { externalId: 'x' }),
    [],
  ],
])('whose claims others are told of when %s', (_, previous, next, expected) => {
  const store = new ObjectStore();
  const claims = new Claims({ membersOf: readPolicies }, store);
  if (previous) store.put(previous);
  const [change] = next
    ? store.put({ ...next, metadata: { ...next.metadata, resourceVersion: '2' } })
    : store.remove(previous ?? object());
  expect(change && claims.contestedBy(change)).toEqual(expected);
});

test.each<[string, KubeObject, ReturnType<typeof currentClaim>]>([
  ['nothing', object(), undefined],
  ['what it is to adopt', object({}, { adopt: 'x' }), { id: 'x', isConfirmed: false }],
  ['what its annotations name', object({}, { externalId: 'x', adopt: 'y' }), { id: 'x', isConfirmed: false }],
  ['what its status confirms', object(shows('x'), { externalId: 'x' }), { id: 'x', isConfirmed: true }],
  [
    'what its status shows, however it was edited',
    object(shows('x'), { externalId: 'y' }),
    { id: 'x', isConfirmed: true },
  ],
  ['what its status shows after a wipe', object(shows('x')), { id: 'x', isConfirmed: true }],
  [
    'what took the place of what its status shows',
    object(shows('x'), { externalId: 'y', retiring: retiring('x') }),
    { id: 'y', isConfirmed: false },
  ],
  ['nothing while that is being created', object(shows('x'), { retiring: retiring('x') }), undefined],
  ['what it claimed, while it is being deleted', deleted(shows('x'), [FINALIZER]), { id: 'x', isConfirmed: true }],
  ['nothing once it is finalized', deleted(shows('x'), ['example.com/hold']), undefined],
  ['what it observes', object({ status: { id: 'x' } }, { adopt: 'y' }), { id: 'y', isConfirmed: false }],
])('an object claims %s', (_, claimant, expected) => {
  expect(currentClaim(claimant)).toEqual(expected);
});

test.each<[string, KubeObject, KubeObject, boolean]>([
  ['older', object({ name: 'old', created: OLD }), object(), true],
  ['younger', object({ name: 'young', created: YOUNG }), object(), false],
  [
    'younger, and manages it',
    object({ name: 'young', created: YOUNG, ...shows('x') }),
    object({}, { adopt: 'x' }),
    true,
  ],
  ['older, and only names it', object({ name: 'old', created: OLD }, { adopt: 'x' }), object(shows('x')), false],
  ['older, when both manage it', object({ name: 'old', created: OLD, ...shows('x') }), object(shows('x')), true],
  ['older, and claims nothing', object({ name: 'old', created: OLD }), object({}, { adopt: 'x' }), false],
  ['the same in another version', object({ version: 2, ...shows('x') }), object({}, { adopt: 'x' }), false],
])('whether an object goes before another that is %s', (_, other, claimant, expected) => {
  expect(goesBefore(other, claimant)).toBe(expected);
});

describe('the claims of a kind', () => {
  const setUp = () => {
    const store = new ObjectStore();
    const claims = new Claims({ membersOf: readPolicies }, store);
    const tell = (changes: ObjectChange[]) => {
      for (const change of changes) claims.onChange(change);
    };
    return {
      claims,
      put: (next: KubeObject) => tell(store.put(next)),
      remove: (gone: KubeObject) => tell(store.remove(gone)),
    };
  };

  test('follow what is added, changed and deleted', () => {
    const { claims, put, remove } = setUp();
    put(object({ name: 'a' }, { adopt: 'x' }));
    put(object({ name: 'b' }, { externalId: 'x' }));
    expect(claims.concernedWith('x')).toEqual(['ns/a', 'ns/b']);
    put(object({ name: 'b', version: 2 }, { externalId: 'y' }));
    expect([claims.concernedWith('x'), claims.concernedWith('y')]).toEqual([['ns/a'], ['ns/b']]);
    remove(object({ name: 'a' }));
    expect(claims.concernedWith('x')).toEqual([]);
  });

  test('are those of the new object when its name is reused', () => {
    const { claims, put } = setUp();
    put(object({ uid: '1' }, { adopt: 'x' }));
    put(object({ uid: '2', version: 2 }, { adopt: 'y' }));
    expect([claims.concernedWith('x'), claims.concernedWith('y')]).toEqual([[], ['ns/a']]);
  });

  test('block the younger object until the older gives up its claim', () => {
    const { claims, put, remove } = setUp();
    const [old, young] = [object({ name: 'old', created: OLD }, { externalId: 'x' }), object({}, { adopt: 'x' })];
    put(old);
    put(young);
    expect(claims.rivalOf(old)).toBeUndefined();
    expect(claims.rivalOf(young)).toBe(old);
    expect([claims.othersClaiming('x', old), claims.othersClaiming('y', old)]).toEqual([[young], []]);
    remove(old);
    expect(claims.rivalOf(young)).toBeUndefined();
    expect(claims.othersClaiming('x', young)).toEqual([]);
  });

  test.each<[string, KubeObject, string | undefined]>([
    [
      'what it replaces',
      object({ name: 'young', created: YOUNG, ...shows('x') }, { retiring: retiring('x') }),
      'young',
    ],
    ['what it has replaced', object({ name: 'young', created: YOUNG, status: superseded }, superseding), 'young'],
    ['what only its annotations list', object({ name: 'young', created: YOUNG }, superseding), undefined],
    [
      'what it has replaced, though it only observes by now',
      object({ name: 'young', created: YOUNG, status: superseded, ...observing }, superseding),
      'young',
    ],
    ['what it has left', object({ name: 'young', created: YOUNG, status: superseded }, { externalId: 'y' }), undefined],
  ])('of an object last for %s until it is off its list', (_, young, expected) => {
    const { claims, put } = setUp();
    const old = object({ name: 'old', created: OLD }, { adopt: 'x' });
    put(old);
    put(young);
    expect(claims.rivalOf(old)?.metadata.name).toBe(expected);
    expect(claims.concernedWith('x')).toContain('ns/old');
    expect(claims.concernedWith('x').includes('ns/young')).toBe(expected !== undefined);
    expect(claims.rivalFor('x', young)?.metadata.name).toBe(expected === undefined ? 'old' : undefined);
  });

  test('are not disputed by who only observes, but by who has an invalid spec: that one may manage', () => {
    const store = new ObjectStore();
    const claims = new Claims({ membersOf: ({ spec }) => ipPolicyKind.readMembers(spec) }, store);
    const put = (next: KubeObject) => {
      for (const change of store.put(next)) claims.onChange(change);
    };
    put(object({ name: 'old', created: OLD, ...observing }, { adopt: 'x' }));
    put(object({ name: 'wrong', created: OLD, spec: { ...observing.spec, rules: 'none' } }, { adopt: 'x' }));
    expect(claims.rivalOf(object({}, { adopt: 'x' }))).toBeUndefined();
    put(object({ name: 'next', created: OLD, spec: { managementPolicy: 'no' } }, { adopt: 'x' }));
    expect(claims.rivalOf(object({}, { adopt: 'x' }))?.metadata.name).toBe('next');
  });

  test('end when the object is finalized, however long others hold it up', () => {
    const { claims, put } = setUp();
    const held = deleted({ status: superseded }, ['example.com/hold']);
    const { annotations } = object({}, superseding).metadata;
    const finalized = { ...held, metadata: { ...held.metadata, annotations } };
    put(finalized);
    expect(['x', 'y'].flatMap((id) => claims.concernedWith(id))).toEqual([]);
    expect(supersededIn(finalized)).toEqual([]);
  });

  test('ignore objects that claim nothing', () => {
    const { claims, put } = setUp();
    put(object({ name: 'old', created: OLD }));
    put(object());
    expect(claims.rivalOf(object())).toBeUndefined();
  });
});

test('of two older claimants the same one is named, whatever else changes in them', () => {
  const store = new ObjectStore();
  const claims = new Claims({ membersOf: readPolicies }, store);
  const put = (next: KubeObject) => {
    for (const change of store.put(next)) claims.onChange(change);
  };
  for (const name of ['a', 'b', 'c']) put(object({ name }, { adopt: 'x' }));
  const third = object({ name: 'c' }, { adopt: 'x' });
  expect(claims.rivalOf(third)?.metadata.name).toBe('a');
  put(object({ name: 'a', version: 2, metadata: { labels: { changed: 'yes' } } }, { adopt: 'x' }));
  expect(claims.rivalOf(third)?.metadata.name).toBe('a');
});
