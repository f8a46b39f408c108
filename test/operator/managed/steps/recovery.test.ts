/** Compares what an object records about its resource with what the API knows, and restores it. */
import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import type { CreateScope } from '../../../../src/operator/managed/declaration/external.ts';
import { ensureIdentity, recoverIdentity } from '../../../../src/operator/managed/steps/recovery.ts';
import { object } from '../../objects.ts';
import { type Circumstances, managing } from '../managed-under-test.ts';
import { NAMESPACE } from '../placing.ts';
import { modulesOf, scopeOf } from '../things.ts';

const shown = (id: string, createGeneration: number) => ({ status: { id, createGeneration } });
const AFTER = '2026-11-21T10:00:00.000Z';
const retiring = (...ids: string[]) => JSON.stringify(ids.map((id) => ({ id, generation: 1, after: AFTER })));
const notAdopting = { mayAdopt: () => false };
const attached = modulesOf('thg_1');

/** An object with this scope of creates; `asked` lists the requests for it, and whether it was closed. */
async function ensured(of: Parameters<typeof object>, scope: CreateScope, circumstances: Circumstances = {}) {
  const asked: string[] = [];
  const ask = (what: string) => async () => {
    asked.push(what);
    return scope;
  };
  const external = { scope: ask('scope'), closeScope: ask('close') };
  const { managed, stored, events } = await managing(object(...of), { external, ...circumstances });
  return {
    managed,
    asked,
    events,
    stored,
    ensure: () => ensureIdentity(managed),
    recover: () => recoverIdentity(managed),
    recorded: () => managed.object.metadata.annotations ?? {},
  };
}

describe('a recorded identity', () => {
  const asRecorded = { externalId: 'thg_1', createGeneration: '1' };
  test.each<[string, Parameters<typeof object>, string[]]>([
    ['beyond doubt is not compared', [shown('thg_1', 1), asRecorded], []],
    ['is compared on request', [shown('thg_1', 1), { ...asRecorded, reconcileRequestedAt: 't' }], ['scope']],
    ['stays without a status if the API says the same', [{}, asRecorded], ['scope']],
  ])('%s', async (_, of, expected) => {
    const { asked, ensure, recorded, events } = await ensured(of, scopeOf('thg_1'));
    await ensure();
    expect(asked).toEqual(expected);
    expect(recorded()).toMatchObject({ [ANNOTATION.externalId]: 'thg_1', [ANNOTATION.createGeneration]: '1' });
    expect(await events()).toEqual([]);
  });

  const edited = { externalId: 'thg_9', createGeneration: '1' };
  const listing = { externalId: 'thg_2', createGeneration: '2', retiring: retiring('thg_1', 'usr_9') };
  const two = scopeOf('thg_1', 'thg_2');
  test.each<[string, Parameters<typeof object>, CreateScope, string, (string | undefined)?, string?]>([
    ['that was lost is restored', [shown('thg_1', 1)], scopeOf('thg_1'), 'thg_1'],
    ['that was lost is restored, even if the API has nothing', [shown('thg_1', 1)], scopeOf(), 'thg_1'],
    [
      'that was edited is restored',
      [shown('thg_1', 1), edited],
      scopeOf('thg_1'),
      'thg_1',
      undefined,
      'restored thg_1',
    ],
    ['loses a foreign id listed as superseded', [{}, listing], two, 'thg_2', retiring('thg_1'), 'it is not deleted'],
  ])('%s', async (_, of, scope, externalId, listed, message) => {
    const { asked, ensure, recorded, stored, events } = await ensured(of, scope);
    await ensure();
    expect(asked.at(-1)).toBe('close');
    expect(recorded()[ANNOTATION.externalId]).toBe(externalId);
    expect(recorded()[ANNOTATION.retiring]).toBe(listed);
    expect((await stored()).metadata.annotations).toEqual(recorded());
    const told = { message: expect.stringMatching(`is not this object's resource; ${message}$`) };
    expect(await events()).toMatchObject(message === undefined ? [] : [told]);
  });
});

test('a requested reconcile counts as handled only once the identity was compared with the API', async () => {
  const of = object(shown('thg_1', 1), { externalId: 'thg_1', createGeneration: '1', reconcileRequestedAt: 't' });
  const failing = await managing(of, { external: { scope: () => Promise.reject(new Error('no answer')) } });
  await expect(ensureIdentity(failing.managed)).rejects.toThrow('no answer');
  await failing.managed.writeStatus({});
  expect((await failing.stored()).status).not.toHaveProperty('lastHandledReconcileAt');
  const { managed, stored } = await managing(of, { external: { scope: async () => scopeOf('thg_1') } });
  await ensureIdentity(managed);
  await managed.writeStatus({});
  expect((await stored()).status).toMatchObject({ lastHandledReconcileAt: 't' });
});

test('nothing is restored to an object that has changed since it was read', async () => {
  const { ensure, asked } = await ensured([shown('thg_1', 1)], scopeOf('thg_1'), { isOutdated: true });
  await expect(ensure()).rejects.toThrow(`${NAMESPACE}/a was out of date`);
  expect(asked).toEqual([]);
});

describe('in a namespace without adoption', () => {
  const named = { externalId: 'thg_1', createGeneration: '1' };
  test('an object may not name a resource that was not created for it', async () => {
    const { ensure } = await ensured([{}, named], scopeOf(), { access: notAdopting });
    await expect(ensure()).rejects.toMatchObject({ reason: 'AccessDenied' });
  });

  test.each([
    ['a resource that was', scopeOf('thg_1'), {}],
    ['the owner of its settings', scopeOf(), { kind: attached }],
  ])('an object may name %s', async (_, scope, more) => {
    const { ensure, recorded } = await ensured([{}, named], scope, { access: notAdopting, ...more });
    await ensure();
    expect(recorded()).toMatchObject({ [ANNOTATION.externalId]: 'thg_1' });
  });
});

describe('once its creates are closed, an object', () => {
  test('records the next generation if all its resources are superseded', async () => {
    const of: Parameters<typeof object> = [{}, { createGeneration: '3', retiring: retiring('thg_1') }];
    const { recover, recorded, events } = await ensured(of, scopeOf('thg_1'));
    await recover();
    expect(recorded()).toMatchObject({
      [ANNOTATION.createGeneration]: '2',
      [ANNOTATION.createKey]: expect.stringMatching(/^[0-9a-f-]{36}$/),
      [ANNOTATION.retiring]: retiring('thg_1'),
    });
    expect(await events()).toEqual([]);
  });

  test.each([
    ['that may adopt it keeps', true, 'thg_9', []],
    ['that may not adopt it forgets', false, undefined, ["thg_9 is not this object's resource; restored none"]],
  ])('%s a resource that only its annotations name', async (_, mayAdopt, expected, messages) => {
    const access = { mayAdopt: () => mayAdopt };
    const { recover, recorded, events } = await ensured([{}, { externalId: 'thg_9' }], scopeOf(), { access });
    await recover();
    expect(recorded()[ANNOTATION.externalId]).toBe(expected);
    expect((await events()).map(({ message }) => message)).toEqual(messages);
  });
});
