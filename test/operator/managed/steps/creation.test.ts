import { expect, test } from 'vitest';
import { StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { idempotencyOf, readIdentity } from '../../../../src/operator/managed/identity/identity.ts';
import { createRemote, earlierCreate } from '../../../../src/operator/managed/steps/creation.ts';
import { retireSuperseded } from '../../../../src/operator/managed/steps/deletion.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { apiError, type ThingKind, Things, tokens } from '../things.ts';

test.each([
  ['its key was closed', apiError('CONFLICT', { idempotency_key: 'closed' }), 'refused'],
  ['its scope was closed', apiError('CONFLICT', { idempotency_scope: 'closed' }), 'refused'],
  ['others came before', apiError('CONFLICT', { idempotency_scope: 'out_of_sequence', next_sequence: '3' }), 'refused'],
  ['it had another body', apiError('IDEMPOTENCY_KEY_REUSED', { resource_id: 'x' }), { id: 'x' }],
  ['nothing if its resource is not named', apiError('IDEMPOTENCY_KEY_REUSED', {}), undefined],
  ['nothing from another conflict', apiError('CONFLICT', { '/name': 'taken' }), undefined],
  ['nothing from a refusal', apiError('INVALID_REQUEST', { resource_id: 'x' }), undefined],
  ['nothing from any other error', new Error('no'), undefined],
])('a rejected create reveals about an earlier one: %s', (_, error, expected) => {
  expect(earlierCreate(error)).toEqual(expected);
});

/** An object that is about to create its resource. */
const creating = (generation: number, spec: object = {}) =>
  object({ spec }, { createGeneration: String(generation), createKey: 'k' });

test('a created resource is recorded, and reported in Events', async () => {
  const { managed, spec, identity, events, metrics } = await manage(creating(1));
  managed.replaces = 'It replaces thg_1';
  expect(await createRemote(managed, spec)).toMatchObject({ remote: { id: 'thg_new1' }, isHeld: true });
  expect(await identity()).toEqual({ externalId: 'thg_new1', generation: 1, createKey: 'k', retiring: [] });
  expect(await events()).toEqual(['Created: Created thg_new1', 'Replaced: It replaces thg_1']);
  expect((await metrics.credentialsIssued.get()).values).toEqual([]);
});

test('the overlap of the old token begins once the new one is in its Secret, by the clock of the API', async () => {
  const things = new Things().makeFor('thg_1');
  const old = { id: 'thg_1', generation: 1, after: '2026-11-21T10:00:00.000Z', overlapMs: 60_000 };
  const of = object({}, { createGeneration: '2', createKey: 'k', retiring: JSON.stringify([old]) });
  const { managed, spec, identity } = await manage(of, { things, kind: tokens(['thg_new2']) });
  const now = new Date('2030-01-01T00:00:00Z');
  Object.assign(managed.kind, { now: () => now });
  expect(await retireSuperseded(managed, now)).toBeUndefined();
  expect(things.ids).toContain('thg_1');
  await createRemote(managed, spec);
  const after = '2030-01-01T00:01:00.000Z';
  expect(await identity()).toMatchObject({ externalId: 'thg_new2', retiring: [{ id: 'thg_1', generation: 1, after }] });
});

test.each([
  ['for the first time', 1, undefined, 'created'],
  ['as an earlier reconcile began to', 2, undefined, 'resumed'],
  ['in place of another', 2, 'interval', 'interval'],
] as const)('a resource with a token is counted when it is created %s', async (_, generation, reissued, cause) => {
  const things = new Things().makeFor(...['thg_1'].slice(0, generation - 1));
  const of = await manage(creating(generation), { things, kind: tokens([`thg_new${generation}`]) });
  of.managed.reissued = reissued;
  await createRemote(of.managed, of.spec);
  const { values } = await of.metrics.credentialsIssued.get();
  expect(values).toEqual([{ labels: { kind: 'Thing', cause }, value: 1 }]);
});

test('nothing is created for a stale object', async () => {
  const { managed, spec, things, outdate } = await manage(creating(1));
  await outdate();
  await expect(createRemote(managed, spec)).rejects.toThrow(StaleObject);
  expect(things.sent).toEqual([]);
});

test.each([
  ['the expected sequence number', new Things().makeFor('thg_1'), 'thg_new2', 2],
  ['the first sequence number if the API knows no create, as after a restore', new Things(), 'thg_new1', 1],
])('a create has %s', async (_, things, externalId, generation) => {
  const { managed, spec, identity } = await manage(creating(2), { things });
  await createRemote(managed, spec);
  expect(await identity()).toMatchObject({ externalId, generation });
});

test.each([
  ['that the API does not expect yet is not sent', 3, 0],
  ['whose number is taken is sent and refused', 1, 1],
])('a create %s, and the existing resource is found again', async (_, generation, sent) => {
  const { managed, spec, things, identity } = await manage(creating(generation), {
    things: new Things().makeFor('thg_1'),
  });
  await expect(createRemote(managed, spec)).rejects.toThrow(StaleObject);
  expect(things.sent).toHaveLength(sent);
  expect(things.ids).toEqual(['thg_1']);
  expect((await identity()).externalId).toBe('thg_1');
});

/** An earlier attempt created a small wooden thing, but its response was lost. */
async function begun(wanted: object, setting: Omit<Parameters<typeof manage>[1], 'things'> = {}) {
  const things = new Things();
  const of = await manage(creating(1, wanted), { ...setting, things });
  const { kind, object } = of.managed;
  await kind.external.create(kind.membersOf(creating(1)), idempotencyOf(object, readIdentity(object)));
  return of;
}

test.each([
  ['as it was', {}, { size: 1 }, []],
  ['and updated', { size: 2 }, { size: 2 }, ['thg_new1']],
  ['and left alone if it matches now', { size: 3 }, { size: 3 }, []],
])('a resource of an earlier attempt is found %s', async (_, wanted, expected, updated) => {
  const { managed, spec, things, identity } = await begun(wanted);
  if (updated.length === 0) things.make('thg_new1', expected);
  const { remote } = await createRemote(managed, spec);
  expect(remote).toMatchObject({ id: 'thg_new1', ...expected });
  expect([things.ids, things.updated]).toEqual([['thg_new1'], updated]);
  expect((await identity()).externalId).toBe('thg_new1');
});

test('a resource of an earlier attempt is replaced if it cannot be changed as the spec asks', async () => {
  const { managed, spec, identity } = await begun({ material: 'steel' });
  const { remote } = await createRemote(managed, spec);
  expect(remote).toMatchObject({ id: 'thg_new2', material: 'steel' });
  expect(await identity()).toMatchObject({ externalId: 'thg_new2', generation: 2, retiring: [{ id: 'thg_new1' }] });
});

test.each<[string, object, Partial<ThingKind>]>([
  ['that the spec does not ask for', { material: 'steel' }, {}],
  ['whose token is lost', {}, tokens([])],
])('a resource %s is not replaced before that is recorded', async (_, wanted, kind) => {
  const { managed, spec, things, cluster } = await begun(wanted, { kind });
  Object.assign(cluster.kube, { patch: () => Promise.reject(new Error('refused')) });
  await expect(createRemote(managed, spec)).rejects.toThrow('refused');
  expect(things.ids).toEqual(['thg_new1']);
});

test('a resource of an earlier attempt is found by its whole id even if the error has only part of it', async () => {
  const { managed, spec, things, identity } = await begun({ size: 2 });
  things.namesInPart = true;
  await expect(createRemote(managed, spec)).rejects.toThrow(StaleObject);
  expect((await identity()).externalId).toBe('thg_new1');
});

test('another resource is created if the token of the first is lost', async () => {
  const { managed, spec, identity, events } = await manage(creating(1), { kind: tokens(['thg_new2']) });
  expect(await createRemote(managed, spec)).toMatchObject({ remote: { id: 'thg_new2' }, isHeld: true });
  expect(await identity()).toMatchObject({ externalId: 'thg_new2', retiring: [{ id: 'thg_new1' }] });
  expect((await events()).map((event) => event.split(':')[0])).toEqual(['TokenReissued', 'Created']);
});
