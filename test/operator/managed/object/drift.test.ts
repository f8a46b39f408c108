import { describe, expect, test } from 'vitest';
import type { Finding } from '../../../../src/operator/managed/declaration/external.ts';
import type { ManagedSpec } from '../../../../src/operator/managed/declaration/spec.ts';
import { type ComparableKind, differs, hasNewInputs, isDrift } from '../../../../src/operator/managed/object/drift.ts';
import { observedSynced } from '../../../../src/operator/managed/object/findings.ts';
import { condition, object } from '../../objects.ts';
import { modulesOf } from '../things.ts';

const OVER: Finding = { status: 'False', reason: 'Expired', message: 'x expired' };
const sizeOf = (remote: object) => ('size' in remote ? remote.size : undefined);

/** A resource with a field `size`, which the spec declares to be 1; the status shows it, and a `shape` that never changes. */
const kind: ComparableKind = {
  isAttached: false,
  referencesOf: () => [],
  external: { changes: (_, remote) => (sizeOf(remote) === 1 ? [] : ['size']) },
  now: () => new Date(),
  // A resource of size 0 has expired.
  expired: (remote) => (sizeOf(remote) === 0 ? OVER : undefined),
  declared: {},
  describe: (_spec, remote) => ({ shape: 'round', size: sizeOf(remote) }),
};
const manage: ManagedSpec = { managementPolicy: 'Manage', deletionPolicy: 'Delete' };
const observe: ManagedSpec = { ...manage, managementPolicy: 'Observe' };
const remotes = (size?: number) => new Map(size === undefined ? [] : [['x', { id: 'x', uri: 'http://x', size }]]);
const shown = (size: number, message: string, status: 'True' | 'False' = 'True') =>
  object(
    { status: { id: 'x', shape: 'round', size, conditions: [condition('Synced', status, { message })] } },
    { adopt: 'x' },
  );
const inSync = (status: object = {}) => ({
  status: {
    id: 'x',
    observedGeneration: 1,
    conditions: [condition('Ready', 'True'), condition('Synced', 'True')],
    ...status,
  },
});

describe('whether an object needs a closer look', () => {
  const having = object({}, { externalId: 'x' });
  const deleting = object({ metadata: { deletionTimestamp: 't' } }, { externalId: 'x' });
  const [equal, different] = [observedSynced([]).message, observedSynced(['size']).message];
  const showingNothing = object({ status: { conditions: [condition('Synced', 'True')] } }, { adopt: 'x' });
  const managing: ComparableKind = { ...kind, describe: () => ({ size: 2 }) };

  test.each<[string, boolean, ManagedSpec | undefined, typeof having, ReturnType<typeof remotes>, ComparableKind?]>([
    ['as declared', false, manage, having, remotes(1)],
    ['changed', true, manage, having, remotes(2)],
    ['gone', true, manage, having, remotes()],
    ['created by its own reconcile', false, manage, object(), remotes(2)],
    ['adopted by its own reconcile', false, manage, object({}, { adopt: 'x' }), remotes(2)],
    [
      'in sync, with a status that the service has changed',
      true,
      manage,
      object(inSync(), { externalId: 'x' }),
      remotes(1),
      managing,
    ],
    ['without a valid spec', false, undefined, having, remotes(2)],
    ['in sync, without its inputs', true, undefined, object(inSync(), { externalId: 'x' }), remotes(1)],
    ['paused', false, manage, object({}, { externalId: 'x', paused: 'true' }), remotes(2)],
    ['being deleted', false, manage, deleting, remotes(2)],
    ['observed and shown', false, observe, shown(1, equal), remotes(1)],
    ['observed and shown to differ', false, observe, shown(2, different), remotes(2)],
    ['observed with an old value', true, observe, shown(1, different), remotes(2)],
    ['observed, but not shown to differ', true, observe, shown(2, equal), remotes(2)],
    ['observed and gone', true, observe, shown(1, equal), remotes()],
    ['observed and known to be gone', false, observe, shown(1, 'x does not exist', 'False'), remotes()],
    ['observing nothing', false, observe, object(), remotes(2)],
    ['not shown yet', true, observe, showingNothing, remotes()],
  ])('%s: %s', (_, expected, spec, of, listed, by = kind) => {
    expect(differs(by, spec, of, listed)).toBe(expected);
  });

  test.each<[string, boolean, 'True' | 'False', string, number]>([
    ['expired, but shown as Ready', true, 'True', 'Available', 0],
    ['expired, and shown as such', false, 'False', 'Expired', 0],
    ['expired, with another problem', false, 'False', 'SecretConflict', 0],
    ['extended, but shown as Expired', true, 'False', 'Expired', 1],
  ])('%s: %s', (_, expected, status, reason, size) => {
    const anySize: ComparableKind = { ...kind, external: { changes: () => [] }, describe: () => ({}) };
    const conditions = [condition('Ready', status, { reason })];
    const of = object({ status: { id: 'x', conditions } }, { externalId: 'x' });
    expect(differs(anySize, manage, of, remotes(size))).toBe(expected);
  });

  test.each<[string, boolean, string, ManagedSpec, boolean, number?]>([
    ['of the same owner', false, 'x', manage, true, 1],
    ['of a new owner', true, 'y', manage, true, 1],
    ['of a new owner, not in sync: it is retried anyway', false, 'y', manage, false, 1],
    ['of an observed owner', false, 'x', observe, true, 1],
    ['of a new observed owner', true, 'y', observe, true, 1],
    ['of an observed owner that is gone', true, 'x', observe, true],
  ])('modules %s: %s', (_, expected, owner, spec, isInSync, size) => {
    const modules: ComparableKind = {
      ...kind,
      isAttached: true,
      declared: modulesOf(owner),
      describe: () => ({}),
    };
    const synced = condition('Synced', 'True', { message: equal });
    const of = object(inSync({ conditions: isInSync ? [condition('Ready', 'True'), synced] : [] }), {
      externalId: 'x',
    });
    expect(differs(modules, spec, of, remotes(size))).toBe(expected);
  });

  test.each<[string, boolean, string | undefined, boolean]>([
    ['unchanged', false, 'new', true],
    ['changed', true, 'newer', true],
    ['unresolved: its own reconcile waits for it', false, undefined, true],
    ['changed, not in sync: it is retried anyway', false, 'newer', false],
  ])('with a reference that is %s: %s', (_, expected, id, isInSync) => {
    const referrer = { ...kind, referencesOf: () => (id === undefined ? undefined : [{ field: 'spec.a', id }]) };
    const shows = { shape: 'round', size: 1, references: [{ field: 'spec.a', id: 'new' }] };
    const of = object(inSync({ ...shows, ...(!isInSync && { conditions: [] }) }), { externalId: 'x' });
    expect(differs(referrer, manage, of, remotes(1))).toBe(expected);
  });
});

const notSynced = { conditions: [condition('Ready', 'True'), condition('Synced', 'False')] };
test.each([
  ['drift after a reconcile of this generation', true, object(inSync())],
  ['no drift after a change of the spec', false, object({ ...inSync(), metadata: { generation: 2 } })],
  ['no drift in another resource', false, object(inSync({ id: 'y' }))],
  ['no drift after a failure', false, object(inSync(notSynced))],
  ['no drift without a status', false, object()],
])('a difference is %s', (_, expected, of) => {
  expect(isDrift(of, 'x')).toBe(expected);
});

test('new inputs are texts and ids that the status does not show', () => {
  const source = (field: string, digest: string) => {
    return { field, kind: 'Secret' as const, name: 'a', resourceVersion: '1', digest };
  };
  const id = (field: string, of: string) => ({ field, id: of });
  const of = object(
    inSync({ sources: [source('a', 'x'), source('c', 'z')], references: [id('a', 'x'), id('c', 'z')] }),
  );
  const rows: [boolean, object][] = [
    [false, {}],
    [false, { sources: [source('a', 'x')], references: [id('a', 'x')] }],
    [true, { sources: [source('a', 'y')] }],
    [true, { sources: [source('b', 'x')] }],
    [true, { sources: [source('a', 'x'), source('b', 'x')] }],
    [true, { references: [id('a', 'y')] }],
    [true, { references: [id('b', 'x')] }],
  ];
  for (const [expected, used] of rows) {
    expect(hasNewInputs(of, { sources: [], references: [], ...used })).toBe(expected);
  }
  expect(hasNewInputs(of, undefined)).toBe(false);
});
