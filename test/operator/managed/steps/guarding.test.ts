import { expect, test, vi } from 'vitest';
import { KubeError } from '../../../../src/operator/kube/kube-error.ts';
import { ObjectStore } from '../../../../src/operator/kube/object-store.ts';
import type { Inputs } from '../../../../src/operator/managed/knowledge/inputs.ts';
import { guarded, isServing, isWaitingForModules } from '../../../../src/operator/managed/steps/guarding.ts';
import { condition, object } from '../../objects.ts';
import { inputsWith, manage } from '../managed-under-test.ts';
import { NAMESPACE } from '../placing.ts';
import { SERVING } from '../things.ts';

const serviceable = object({ spec: { open: true, size: 2 } });
const remote = (modules: readonly string[] = []) => ({ id: 'thg_1', uri: 'http://api/thg_1', modules });

/**
 * An object whose resource is about to serve.
 * @param declared the modules that other objects declare for it, by the name of the object
 * @param late those that its operator has not heard of yet
 */
function serving(declared: Record<string, string[]>, late: Record<string, string[]> = {}, refusal?: Error) {
  const all = { ...declared, ...late };
  const of = (names: readonly string[]) => names.map((name) => object({ name }));
  const store = new ObjectStore();
  const inputs: Inputs = inputsWith('Module', of(Object.keys(all)), true, {
    store,
    ownerKind: 'Thing',
    modulesIn: ({ metadata }) => all[metadata.name] ?? [],
    async catchUp() {
      if (refusal) throw refusal;
      list(Object.keys(late));
    },
  });
  const list = (names: readonly string[]) => {
    for (const each of of(names)) store.put({ ...each, metadata: { ...each.metadata, namespace: NAMESPACE } });
  };
  list(Object.keys(declared));
  return manage(serviceable, { kind: SERVING, inputs });
}

test.each<[string, Parameters<typeof serving>, string[]]>([
  ['no object declares modules for it', [{}], []],
  ['it has the declared modules', [{ b: ['oidc', 'acl'] }], ['acl', 'oidc']],
  ['it has the declared modules, and the search for others fails', [{ b: ['oidc'] }, {}, new Error('no')], ['oidc']],
  ['it has all modules that one of several objects declares', [{ b: ['oidc'], c: ['acl'] }], ['acl']],
])('a resource may serve if %s', async (_, declared, modules) => {
  const { managed, spec } = await serving(...declared);
  expect(await guarded(managed, spec, remote(modules))).toEqual({ spec, waiting: undefined });
});

test('a resource that does not serve needs no guard', async () => {
  const { managed, spec } = await manage(serviceable);
  expect(await guarded(managed, spec)).toEqual({ spec, waiting: undefined });
  const requiring = { ...spec, requireModules: true, open: undefined };
  const later = await manage(serviceable, { kind: SERVING });
  expect(await guarded(later.managed, requiring)).toEqual({ spec: requiring, waiting: undefined });
});

test.each<[string, Parameters<typeof serving>, string[], string]>([
  ['the declared modules', [{ b: ['oidc', 'acl'] }], ['oidc'], 'oidc and acl of Module ns/b'],
  ['those of either object', [{ b: ['oidc'], c: ['acl'] }], [], 'oidc of Module ns/b, or acl of Module ns/c'],
  ['those that its operator hears of late', [{}, { b: ['oidc'] }], [], 'oidc of Module ns/b'],
])('a resource does not serve before it has %s', async (_, declared, modules, missing) => {
  const { managed, spec } = await serving(...declared);
  const named = missing.replaceAll('ns/', `${NAMESPACE}/`);
  const { spec: allowed, waiting } = await guarded(managed, spec, remote(modules));
  expect(allowed).toMatchObject({ size: 2 });
  expect(allowed).not.toHaveProperty('open');
  expect(waiting).toEqual({
    status: 'False',
    reason: 'WaitingForModules',
    message: `spec.open is set once the modules that protect it are there: ${named}, whose condition Ready says what is missing`,
  });
});

test('a resource that requires modules does not serve before any are declared', async () => {
  const { managed, spec } = await serving({});
  const requiring = { ...spec, requireModules: true };
  const { waiting } = await guarded(managed, requiring);
  expect(waiting?.message).toContain('spec.requireModules asks for some, and no object declares any');
  expect((await guarded(managed, requiring, remote(['oidc']))).waiting).toBeUndefined();
});

test('a resource does not serve while it is unknown whether modules are declared', async () => {
  const { managed, spec } = await serving({}, {}, new KubeError(403, 'Forbidden', 'may not list'));
  const { waiting } = await guarded(managed, spec);
  expect(waiting?.message).toContain('whether any are declared cannot be told: may not list');
  expect(managed.retryAt).toBeInstanceOf(Date);
  const unwatched = await serving({});
  const said = Promise.resolve('its namespace is not watched');
  vi.spyOn(unwatched.managed.kind.inputs, 'catchUpOnModules').mockReturnValue(said);
  const held = await guarded(unwatched.managed, unwatched.spec);
  expect(held.waiting?.message).toContain('whether any are declared cannot be told: its namespace is not watched');
  expect(unwatched.managed.retryAt).toBeInstanceOf(Date);
  const refusal = new KubeError(500, 'InternalError', 'x');
  const failing = await serving({}, {}, refusal);
  await expect(guarded(failing.managed, failing.spec)).rejects.toBe(refusal);
});

test.each([
  ['it is open as declared', { open: true }, true, true],
  ['it is not open yet', { open: true }, false, false],
  ['the spec is invalid', { open: 'yes' }, true, false],
])('whether a resource serves if %s', async (_, spec, open, expected) => {
  const { managed, things } = await manage(object({ spec }), { kind: SERVING });
  expect(isServing(managed, things.make('thg_1', { open }))).toBe(expected);
});

test.each([
  ['without a status does not', [], false],
  ['that is Ready does not', [condition('Ready', 'True')], false],
  ['that says so does', [condition('Ready', 'False', { reason: 'WaitingForModules' })], true],
])('an object %s wait for modules', (_, conditions, expected) => {
  expect(isWaitingForModules(object({ status: { conditions } }))).toBe(expected);
});
