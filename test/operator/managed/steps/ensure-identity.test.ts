/** What an object records of its resource, compared with what the API knows, and restored. */
import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import type { CreateScope } from '../../../../src/operator/managed/declaration/external.ts';
import { ensureIdentity, recoverIdentity } from '../../../../src/operator/managed/steps/recovery.ts';
import { object } from '../../objects.ts';
import { type Circumstances, managing, scopeOf } from '../managing.ts';
import { NAMESPACE } from '../placing.ts';
import { modulesOf } from '../things.ts';

const shown = (id: string, createGeneration: number) => ({ status: { id, createGeneration } });
const AFTER = '2026-11-21T10:00:00.000Z';
const retiring = (...ids: string[]) => JSON.stringify(ids.map((id) => ({ id, generation: 1, after: AFTER })));
const notAdopting = { mayAdopt: () => false };
const attached = modulesOf('ipp_1');

/** What it has recorded in the end, and whether the creates of the object were closed for that. */
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
  const asRecorded = { externalId: 'ipp_1', createGeneration: '1' };
  test.each<[string, Parameters<typeof object>, string[]]>([
    ['that is beyond doubt is compared with nothing', [shown('ipp_1', 1), asRecorded], []],
    [
      'that is beyond doubt is compared when somebody asks for it',
      [shown('ipp_1', 1), { ...asRecorded, reconcileRequestedAt: 't' }],
      ['scope'],
    ],
    ['that the status does not show yet stays if the API says the same', [{}, asRecorded], ['scope']],
  ])('%s', async (_, of, expected) => {
    const { asked, ensure, recorded, events } = await ensured(of, scopeOf('ipp_1'));
    await ensure();
    expect(asked).toEqual(expected);
    expect(recorded()).toMatchObject({ [ANNOTATION.externalId]: 'ipp_1', [ANNOTATION.createGeneration]: '1' });
    expect(await events()).toEqual([]);
  });

  test.each<[string, Parameters<typeof object>, CreateScope, Record<string, string>, string[]]>([
    ['that was lost is restored', [shown('ipp_1', 1)], scopeOf('ipp_1'), { externalId: 'ipp_1' }, []],
    [
      'that was lost is restored, although the API has nothing any more',
      [shown('ipp_1', 1)],
      scopeOf(),
      { externalId: 'ipp_1' },
      [],
    ],
    [
      'that was edited is restored',
      [shown('ipp_1', 1), { externalId: 'ipp_9', createGeneration: '1' }],
      scopeOf('ipp_1'),
      { externalId: 'ipp_1' },
      ["ipp_9 is not this object's resource; restored ipp_1"],
    ],
    [
      'that lists a stranger to be deleted loses that alone',
      [{}, { externalId: 'ipp_2', createGeneration: '2', retiring: retiring('ipp_1', 'usr_9') }],
      scopeOf('ipp_1', 'ipp_2'),
      { externalId: 'ipp_2', retiring: retiring('ipp_1') },
      ["usr_9 is not this object's resource; it is not deleted"],
    ],
  ])('%s', async (_, of, scope, expected, messages) => {
    const { asked, ensure, recorded, stored, events } = await ensured(of, scope);
    await ensure();
    expect(asked.at(-1)).toBe('close');
    const annotations = Object.entries(expected).map(([name, value]) => [
      new Map(Object.entries(ANNOTATION)).get(name),
      value,
    ]);
    expect(recorded()).toMatchObject(Object.fromEntries(annotations));
    expect((await stored()).metadata.annotations).toEqual(recorded());
    expect((await events()).map(({ message }) => message)).toEqual(messages);
  });
});

test('a request for a reconcile is handled once what the API knows was compared, and not before', async () => {
  const of = object(shown('ipp_1', 1), { externalId: 'ipp_1', createGeneration: '1', reconcileRequestedAt: 't' });
  const failing = await managing(of, { external: { scope: () => Promise.reject(new Error('no answer')) } });
  await expect(ensureIdentity(failing.managed)).rejects.toThrow('no answer');
  await failing.managed.patchStatus({});
  expect((await failing.stored()).status).not.toHaveProperty('lastHandledReconcileAt');
  const { managed, stored } = await managing(of, { external: { scope: async () => scopeOf('ipp_1') } });
  await ensureIdentity(managed);
  await managed.patchStatus({});
  expect((await stored()).status).toMatchObject({ lastHandledReconcileAt: 't' });
});

test('nothing is restored to an object that has changed since it was read', async () => {
  const { ensure, asked } = await ensured([shown('ipp_1', 1)], scopeOf('ipp_1'), { isOutdated: true });
  await expect(ensure()).rejects.toThrow(`${NAMESPACE}/a was out of date`);
  expect(asked).toEqual([]);
});

describe('in a namespace without adoption', () => {
  const named = { externalId: 'ipp_1', createGeneration: '1' };
  test('an object may not name what was not created for it', async () => {
    const { ensure } = await ensured([{}, named], scopeOf(), { access: notAdopting });
    await expect(ensure()).rejects.toMatchObject({ reason: 'AccessDenied' });
  });

  test.each([
    ['what was', scopeOf('ipp_1'), {}],
    ['what its settings belong to', scopeOf(), { kind: attached }],
  ])('an object may name %s', async (_, scope, more) => {
    const { ensure, recorded } = await ensured([{}, named], scope, { access: notAdopting, ...more });
    await ensure();
    expect(recorded()).toMatchObject({ [ANNOTATION.externalId]: 'ipp_1' });
  });
});

describe('of an object whose creates are closed', () => {
  test('the next generation is recorded where it has nothing that is not superseded', async () => {
    const of: Parameters<typeof object> = [{}, { createGeneration: '3', retiring: retiring('ipp_1') }];
    const { recover, recorded, events } = await ensured(of, scopeOf('ipp_1'));
    await recover();
    expect(recorded()).toMatchObject({
      [ANNOTATION.createGeneration]: '2',
      [ANNOTATION.createKey]: expect.stringMatching(/^[0-9a-f-]{36}$/),
      [ANNOTATION.retiring]: retiring('ipp_1'),
    });
    expect(await events()).toEqual([]);
  });

  test.each([
    ['stays where it may be adopted', true, 'ipp_9', []],
    ['is forgotten elsewhere', false, undefined, ["ipp_9 is not this object's resource; restored none"]],
  ])('what only its annotations name %s', async (_, mayAdopt, expected, messages) => {
    const access = { mayAdopt: () => mayAdopt };
    const { recover, recorded, events } = await ensured([{}, { externalId: 'ipp_9' }], scopeOf(), { access });
    await recover();
    expect(recorded()[ANNOTATION.externalId]).toBe(expected);
    expect((await events()).map(({ message }) => message)).toEqual(messages);
  });
});
