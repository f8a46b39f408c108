import { expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import type { Finding } from '../../../../src/operator/managed/declaration/external.ts';
import type { ManagedSpec } from '../../../../src/operator/managed/declaration/spec.ts';
import { type ComparableKind, differs, hasNewInputs, isDrift } from '../../../../src/operator/managed/object/drift.ts';
import { observedSynced } from '../../../../src/operator/managed/object/findings.ts';
import { condition, object } from '../../objects.ts';
import { modulesOf } from '../things.ts';

const OVER: Finding = { status: 'False', reason: 'Expired', message: 'x expired' };

/** A resource with a field `size`, which the spec declares to be 1; the status shows it, and a `shape` that never changes. */
const kind: ComparableKind = {
  isAttached: false,
  referencesOf: () => [],
  external: { changes: (_, remote) => ('size' in remote && remote.size === 1 ? [] : ['size']) },
  // One of size 0 is over.
  expired: (remote) => ('size' in remote && remote.size === 0 ? OVER : undefined),
  declared: {
    describe: (_spec: unknown, remote: object) => ({
      shape: 'round',
      size: 'size' in remote ? remote.size : undefined,
    }),
  },
};
const manage: ManagedSpec = { managementPolicy: 'Manage', deletionPolicy: 'Delete' };
const observe: ManagedSpec = { ...manage, managementPolicy: 'Observe' };
const remotes = (size?: number) => new Map(size === undefined ? [] : [['x', { id: 'x', uri: 'http://x', size }]]);
const shown = (size: number, message: string, status: 'True' | 'False' = 'True') =>
  object(
    { status: { id: 'x', shape: 'round', size, conditions: [condition('Synced', status, { message })] } },
    { adopt: 'x' },
  );

test.each<[string, ManagedSpec | undefined, KubeObject, ReturnType<typeof remotes>, boolean]>([
  ['one as declared does not', manage, object({}, { externalId: 'x' }), remotes(1), false],
  ['one that was changed does', manage, object({}, { externalId: 'x' }), remotes(2), true],
  ['one that is gone does', manage, object({}, { externalId: 'x' }), remotes(), true],
  ['one that has nothing yet does not: its own reconcile is on its way', manage, object(), remotes(2), false],
  ['one that only wants to adopt does not', manage, object({}, { adopt: 'x' }), remotes(2), false],
  ['one whose spec does not parse does not', undefined, object({}, { externalId: 'x' }), remotes(2), false],
  ['one that is paused does not', manage, object({}, { externalId: 'x', paused: 'true' }), remotes(2), false],
  [
    'one that is being deleted does not',
    manage,
    object({ metadata: { deletionTimestamp: '2026-11-21T10:00:00Z' } }, { externalId: 'x' }),
    remotes(2),
    false,
  ],
  [
    'one that observes and shows what is there does not',
    observe,
    shown(1, observedSynced([]).message),
    remotes(1),
    false,
  ],
  [
    'one that observes and shows the difference does not',
    observe,
    shown(2, observedSynced(['size']).message),
    remotes(2),
    false,
  ],
  [
    'one that observes and shows an old value does',
    observe,
    shown(1, observedSynced(['size']).message),
    remotes(2),
    true,
  ],
  ['one that observes and shows no difference does', observe, shown(2, observedSynced([]).message), remotes(2), true],
  ['one that observes what is gone does', observe, shown(1, observedSynced([]).message), remotes(), true],
  ['one that says already that it is gone does not', observe, shown(1, 'x does not exist', 'False'), remotes(), false],
  ['one that observes nothing does not', observe, object(), remotes(2), false],
  [
    'one that does not show yet what it observes does',
    observe,
    object({ status: { conditions: [condition('Synced', 'True')] } }, { adopt: 'x' }),
    remotes(),
    true,
  ],
])('whether an object needs a closer look: %s', (_, spec, of, listed, expected) => {
  expect(differs(kind, spec, of, listed)).toBe(expected);
});

test.each<[string, 'True' | 'False', string, number, boolean]>([
  ['one that has ended and looks Ready does', 'True', 'Available', 0, true],
  ['one that has ended and says so does not', 'False', 'Expired', 0, false],
  ['one that has ended and has another problem does not', 'False', 'SecretConflict', 0, false],
  ['one that was given more time and says that it has ended does', 'False', 'Expired', 1, true],
])('whether an object needs a closer look: %s', (_, status, reason, size, expected) => {
  const anySize: ComparableKind = { ...kind, external: { changes: () => [] }, declared: { describe: () => ({}) } };
  const of = object({ status: { id: 'x', conditions: [condition('Ready', status, { reason })] } }, { externalId: 'x' });
  expect(differs(anySize, manage, of, remotes(size))).toBe(expected);
});

const inSync = (status: object = {}) => ({
  status: {
    id: 'x',
    observedGeneration: 1,
    conditions: [condition('Ready', 'True'), condition('Synced', 'True')],
    ...status,
  },
});

test.each([
  ['drift when the last reconcile of this generation left it right', object(inSync()), true],
  ['a change of the spec when the generation is newer', object({ ...inSync(), metadata: { generation: 2 } }), false],
  ['the first comparison of another resource', object(inSync({ id: 'y' })), false],
  [
    'unfinished when the last reconcile failed',
    object(inSync({ conditions: [condition('Ready', 'True'), condition('Synced', 'False')] })),
    false,
  ],
  ['new without a status', object(), false],
])('a difference is %s', (_, of, expected) => {
  expect(isDrift(of, 'x')).toBe(expected);
});

test.each<[string, string, ManagedSpec, boolean, boolean]>([
  ['one whose owner is the same does not', 'x', manage, true, false],
  ['one whose owner was made anew does', 'y', manage, true, true],
  ['one that is not in sync does not, as it is tried again anyway', 'y', manage, false, false],
  ['one that observes the same owner does not', 'x', observe, true, false],
  ['one that observes what was made anew does', 'y', observe, true, true],
])('whether settings need a closer look: %s', (_, owner, spec, isInSync, expected) => {
  const settings: ComparableKind = {
    ...kind,
    isAttached: true,
    declared: { ...modulesOf(owner), describe: () => ({}) },
  };
  const synced = condition('Synced', 'True', { message: observedSynced([]).message });
  const of = object(inSync({ conditions: isInSync ? [condition('Ready', 'True'), synced] : [] }), { externalId: 'x' });
  expect(differs(settings, spec, of, remotes(1))).toBe(expected);
});

test('settings that are only observed need a closer look once what they belong to is gone', () => {
  const settings: ComparableKind = {
    ...kind,
    isAttached: true,
    declared: { ...kind.declared, ...modulesOf('x') },
  };
  expect(differs(settings, observe, object(inSync()), remotes())).toBe(true);
});

test.each<[string, string | undefined, boolean, boolean]>([
  ['one that uses what it refers to does not', 'new', true, false],
  ['one that may follow already, and names another, does', 'newer', true, true],
  ['one whose reference is not resolved does not: that is for its own reconcile', undefined, true, false],
  ['one that is not in sync does not, as it is tried again anyway', 'newer', false, false],
])('whether a referrer needs a closer look: %s', (_, now, isInSync, expected) => {
  const referrer = { ...kind, referencesOf: () => (now === undefined ? undefined : [{ field: 'spec.a', id: now }]) };
  const references = [{ field: 'spec.a', id: 'new' }];
  const of = object(inSync({ shape: 'round', size: 1, references, ...(!isInSync && { conditions: [] }) }), {
    externalId: 'x',
  });
  expect(differs(referrer, manage, of, remotes(1))).toBe(expected);
});

const source = (field: string, digest: string) => ({
  field,
  kind: 'Secret' as const,
  name: 'a',
  resourceVersion: '1',
  digest,
});

test.each([
  ['the same text', [source('spec.a', 'x')], false],
  ['the same text, and less of it', [], false],
  ['another text', [source('spec.a', 'y')], true],
  ['the same text in another place', [source('spec.b', 'x')], true],
  ['more text', [source('spec.a', 'x'), source('spec.b', 'x')], true],
])('an object that now takes %s from its sources', (_, used, expected) => {
  const of = object(inSync({ sources: [source('spec.a', 'x'), source('spec.c', 'z')] }));
  expect(hasNewInputs(of, { sources: used, references: [] })).toBe(expected);
});

test.each([
  ['the same id', [{ field: 'spec.a', id: 'x' }], false],
  ['no id', [], false],
  ['another id', [{ field: 'spec.a', id: 'y' }], true],
  ['the same id in another place', [{ field: 'spec.b', id: 'x' }], true],
])('an object that now refers to %s', (_, references, expected) => {
  const of = object(
    inSync({
      references: [
        { field: 'spec.a', id: 'x' },
        { field: 'spec.c', id: 'z' },
      ],
    }),
  );
  expect(hasNewInputs(of, { sources: [], references })).toBe(expected);
});

test('an object that takes nothing from elsewhere has nothing new from there', () => {
  expect(hasNewInputs(object(inSync({})), undefined)).toBe(false);
});
