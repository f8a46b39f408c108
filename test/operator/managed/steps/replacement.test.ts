import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import { StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { findRemote, rollBack } from '../../../../src/operator/managed/steps/replacement.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { type ThingKind, Things, tokens } from '../things.ts';

const having = (generation: number, spec: object = {}) =>
  object(
    { spec },
    {
      externalId: 'thg_1',
      createGeneration: String(generation),
      rotateRequestedAt: 'r',
      rotateHandledAt: 'before',
    },
  );
const one = () => new Things().makeFor('thg_1');
const DUE = { cause: 'interval', overlapMs: 3_600_000, message: 'The token is old' } as const;

describe('a resource', () => {
  test.each<[string, Partial<ThingKind>, number, boolean]>([
    ['one that hands out nothing', {}, 1, true],
    ['one whose token is held', tokens(['thg_1']), 1, true],
    ['an adopted one whose token was never known', tokens([]), 0, false],
  ])('stays: %s', async (_, kind, generation, isHeld) => {
    const { managed, spec, object: written, events } = await manage(having(generation), { things: one(), kind });
    const before = await written();
    expect(await findRemote(managed, spec)).toMatchObject({ remote: { id: 'thg_1' }, isHeld });
    expect([await written(), await events()]).toEqual([before, []]);
  });

  const steel = { material: 'steel' };
  const changed = 'spec.material changed, which thg_1 cannot take: a new resource replaces it';
  const renewing = tokens(['thg_1'], { due: DUE, isOneTime: false });
  test.each<[string, Things, object, Partial<ThingKind>, string, string[], string?]>([
    ['is gone', new Things(), {}, {}, 'gone', ['ExternalResourceGone']],
    ['is gone, with its token', new Things(), {}, tokens([]), 'gone', ['ExternalResourceGone']],
    ['cannot be changed', one(), steel, {}, 'changed', [], changed],
    ['cannot be changed, and has a token', one(), steel, tokens(['thg_1']), 'changed', [], changed],
    ['is due for a rotation', one(), {}, tokens(['thg_1'], { due: DUE }), 'interval', ['TokenRotated']],
    ['is due for a renewal', one(), {}, renewing, 'interval', [], 'The token is old'],
    ['has lost its token', one(), {}, tokens([]), 'lost', ['TokenReissued']],
  ])('is superseded if it %s', async (_, things, members, kind, reissued, said, replaces) => {
    const { managed, spec, identity, events } = await manage(having(1, members), { things, kind });
    expect(await findRemote(managed, spec)).toBeUndefined();
    expect(await identity()).toMatchObject({ externalId: undefined, generation: 2, retiring: [{ id: 'thg_1' }] });
    expect((await events()).map((event) => event.split(':')[0])).toEqual(said);
    expect([managed.reissued, managed.replaces]).toEqual([reissued, replaces]);
    // Only a new token answers a requested rotation.
    expect(managed.object.metadata.annotations?.[ANNOTATION.rotateHandledAt]).toBe(kind.delivery ? 'r' : 'before');
  });

  test('stays valid for the overlap, which begins later', async () => {
    const kind = tokens(['thg_1'], { due: DUE });
    const { managed, spec, identity } = await manage(having(1), { things: one(), kind });
    await findRemote(managed, spec);
    expect((await identity()).retiring).toMatchObject([{ id: 'thg_1', overlapMs: DUE.overlapMs }]);
  });

  test('that loses its token again is not replaced before a pause', async () => {
    const { managed, spec, identity } = await manage(having(1), { things: one(), kind: tokens([]) });
    const { uid } = managed.object.metadata;
    managed.reissueBackoff.reissued(uid, new Date());
    expect(await findRemote(managed, spec)).toMatchObject({ remote: { id: 'thg_1' }, isHeld: false });
    expect((await identity()).externalId).toBe('thg_1');
    expect(managed.retryAt).toEqual(managed.reissueBackoff.pauseUntil(uid, new Date()));
    const first = await manage(having(1), { things: one(), kind: tokens([]) });
    await findRemote(first.managed, first.spec);
    expect(first.managed.reissueBackoff.pauseUntil(first.managed.object.metadata.uid, new Date())).toBeInstanceOf(Date);
  });

  test('is not superseded for a stale object, or before the token of its successor can be delivered', async () => {
    const prepare = () => Promise.reject(new Error('no Secret can be written'));
    const kind = tokens(['thg_1'], { due: DUE, prepare });
    const { managed, spec, identity } = await manage(having(1), { things: one(), kind });
    await expect(findRemote(managed, spec)).rejects.toThrow('no Secret can be written');
    expect((await identity()).externalId).toBe('thg_1');
    const stale = await manage(having(1), { things: one(), kind: tokens(['thg_1'], { due: DUE }) });
    await stale.outdate();
    await expect(findRemote(stale.managed, stale.spec)).rejects.toThrow(StaleObject);
  });
});

describe('a superseded resource', () => {
  const LATER = '2099-01-01T00:00:00.000Z';
  const entry = (id: string, generation: number) => ({ id, generation, after: LATER });
  type Entry = ReturnType<typeof entry>;
  /** @param externalId the successor, if there is one */
  const replacing = (retiring: Entry[], externalId = '', spec: object = {}) =>
    object({ spec }, { externalId, createGeneration: '3', createKey: 'k', retiring: JSON.stringify(retiring) });
  const [A, B] = [entry('thg_a', 1), entry('thg_b', 2)];
  const both = () => new Things().makeFor('thg_a', 'thg_b');
  const adopted = () => new Things('thg_x').makeFor('thg_a');

  test.each<[string, Entry[], Things, object, string[]]>([
    ['the last that fits', [A, B], both(), { externalId: 'thg_b', generation: 3 }, ['thg_a']],
    ['an earlier one, if the last is gone', [A, B], new Things().makeFor('thg_a'), { externalId: 'thg_a' }, ['thg_b']],
    ['one with a successor', [B], new Things().makeFor('thg_b', 'thg_c'), { externalId: 'thg_b' }, ['thg_c']],
    ['an adopted one', [A, entry('thg_x', 0)], adopted(), { externalId: 'thg_x', generation: 0 }, ['thg_a']],
  ])('becomes current again: %s', async (_, retiring, things, expected, superseded) => {
    const { managed, spec, identity, events } = await manage(replacing(retiring), { things });
    expect(await findRemote(managed, spec)).toMatchObject({ remote: { id: (await identity()).externalId } });
    expect(await identity()).toMatchObject({ createKey: undefined, ...expected });
    expect((await identity()).retiring.map(({ id }) => id)).toEqual(superseded);
    expect(await events()).toEqual([]);
  });

  test('supersedes its successor at once', async () => {
    const things = both();
    things.makeFor('thg_c');
    const { managed, spec, identity, events } = await manage(replacing([A, B], 'thg_c'), { things });
    const before = Date.now();
    expect(await rollBack(managed, spec)).toBe(true);
    const [first, second] = (await identity()).retiring;
    expect([first, second?.id]).toEqual([A, 'thg_c']);
    expect(Date.parse(second?.after ?? '')).toBeGreaterThanOrEqual(before);
    expect(Date.parse(second?.after ?? '')).toBeLessThan(Date.parse(LATER));
    expect(await events()).toEqual(['Replaced: The spec asks for thg_b again, which takes the place of thg_c']);
  });

  test('is used again instead of a new replacement', async () => {
    const things = new Things().makeFor('thg_2', 'thg_1');
    things.make('thg_2', { material: 'steel' });
    const { managed, spec } = await manage(replacing([entry('thg_2', 1)], 'thg_1', { material: 'steel' }), { things });
    expect(await findRemote(managed, spec)).toMatchObject({ remote: { id: 'thg_2' } });
  });

  const other = object({ name: 'other', status: { id: 'thg_b', createGeneration: 1 } });
  const requested = { createGeneration: '3', retiring: JSON.stringify([A]), rotateHandledAt: 'x' };
  test.each<[string, ReturnType<typeof object>, Partial<ThingKind>]>([
    ['is gone', replacing([entry('thg_9', 1)]), {}],
    ['does not match the spec', replacing([A], '', { shape: 'flat' }), {}],
    ['has a one-time token', replacing([A]), tokens(['thg_a'])],
    ['is due to be renewed', replacing([A]), tokens(['thg_a'], { isOneTime: false, due: { ...DUE, overlapMs: 0 } })],
    ['was replaced on request', object({}, requested), {}],
  ])('does not become current again if it %s', async (_, of, kind) => {
    const { managed, spec, object: written } = await manage(of, { things: both(), kind });
    const before = await written();
    expect(await rollBack(managed, spec)).toBe(false);
    expect(await written()).toEqual(before);
  });

  test('does not become current again if another object has it, or from a stale list', async () => {
    const things = new Things('thg_b');
    const taken = await manage(replacing([entry('thg_b', 0)]), { things, others: [other] });
    expect(await rollBack(taken.managed, taken.spec)).toBe(false);
    expect((await taken.identity()).externalId).toBeUndefined();
    const stale = await manage(replacing([A]), { things: both() });
    await stale.outdate();
    const before = stale.things.created;
    await expect(rollBack(stale.managed, stale.spec)).rejects.toThrow(StaleObject);
    expect(stale.things.created).toBe(before);
  });

  test.each([
    ['the last resource', '', 'A new resource replaces thg_b'],
    ['none that was replaced before', 'thg_c', undefined],
  ])('is named in the message of its replacement: %s', async (_, externalId, expected) => {
    const { managed, spec } = await manage(replacing([A, B], externalId, { shape: 'flat' }), { things: both() });
    await rollBack(managed, spec);
    expect(managed.replaces).toBe(expected);
  });
});
