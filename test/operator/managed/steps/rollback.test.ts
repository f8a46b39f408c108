import { expect, test } from 'vitest';
import { StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { rollBack } from '../../../../src/operator/managed/steps/replacement.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { type ThingKind, Things, tokens } from '../things.ts';

const LATER = '2099-01-01T00:00:00.000Z';
const entry = (id: string, generation: number) => ({ id, generation, after: LATER });
type Entry = ReturnType<typeof entry>;
/** Is about to replace what is listed, unless it has done so. */
const replacing = (retiring: Entry[], externalId = '', spec: object = {}) =>
  object({ spec }, { externalId, createGeneration: '3', createKey: 'k', retiring: JSON.stringify(retiring) });

const [A, B] = [entry('thg_a', 1), entry('thg_b', 2)];
const both = () => new Things().makeFor('thg_a', 'thg_b');

test.each<[string, Entry[], string, Things, object, string[]]>([
  ['the last that fits', [A, B], '', both(), { externalId: 'thg_b', generation: 3 }, ['thg_a']],
  [
    'an earlier one, if the last is gone',
    [A, B],
    '',
    new Things().makeFor('thg_a'),
    { externalId: 'thg_a' },
    ['thg_b'],
  ],
  [
    'the one before, in the place of what was created meanwhile',
    [B],
    '',
    new Things().makeFor('thg_b', 'thg_c'),
    { externalId: 'thg_b' },
    ['thg_c'],
  ],
  [
    'what was adopted, as such',
    [A, entry('thg_x', 0)],
    '',
    new Things('thg_x').makeFor('thg_a'),
    { externalId: 'thg_x', generation: 0 },
    ['thg_a'],
  ],
])('an object takes back %s', async (_, retiring, externalId, things, expected, superseded) => {
  const { managed, spec, identity, events } = await manage(replacing(retiring, externalId), { things });
  expect(await rollBack(managed, spec)).toBe(true);
  expect(await identity()).toMatchObject({ createKey: undefined, ...expected });
  expect((await identity()).retiring.map(({ id }) => id)).toEqual(superseded);
  expect(await events()).toEqual([]);
});

test('what is taken back supersedes its successor at once, and leaves the rest to its time', async () => {
  const things = both();
  things.makeFor('thg_c');
  const { managed, spec, identity, events } = await manage(replacing([A, B], 'thg_c'), { things });
  const before = Date.now();
  expect(await rollBack(managed, spec)).toBe(true);
  const [first, second] = (await identity()).retiring;
  expect(first).toEqual(A);
  expect(second?.id).toBe('thg_c');
  expect(Date.parse(second?.after ?? '')).toBeGreaterThanOrEqual(before);
  expect(Date.parse(second?.after ?? '')).toBeLessThan(Date.parse(LATER));
  expect(await events()).toEqual(['Replaced: The spec asks for thg_b again, which takes the place of thg_c']);
});

const DUE = { cause: 'interval', overlapMs: 0, message: 'old' } as const;

test.each<[string, ReturnType<typeof object>, Partial<ThingKind>]>([
  ['that is gone', replacing([entry('thg_9', 1)]), {}],
  ['that the spec does not ask for', replacing([A], '', { shape: 'flat' }), {}],
  ['whose token was handed out once', replacing([A]), tokens(['thg_a'])],
  ['that is to be renewed itself', replacing([A]), tokens(['thg_a'], { isOneTime: false, due: DUE })],
  [
    'that somebody wants another one of',
    object({}, { createGeneration: '3', retiring: JSON.stringify([A]), rotateHandledAt: 'x' }),
    {},
  ],
])('an object does not take back anything %s', async (_, of, kind) => {
  const { managed, spec, object: written } = await manage(of, { things: both(), kind });
  const before = await written();
  expect(await rollBack(managed, spec)).toBe(false);
  expect(await written()).toEqual(before);
});

test('what an object has listed, but never had, it does not take back', async () => {
  const other = object({ name: 'other', status: { id: 'thg_x', createGeneration: 1 } });
  const of = replacing([entry('thg_x', 0)]);
  const { managed, spec, identity } = await manage(of, { things: new Things('thg_x'), others: [other] });
  expect(await rollBack(managed, spec)).toBe(false);
  expect((await identity()).externalId).toBeUndefined();
});

test.each([
  ['the last of those that it replaces', '', 'A new resource replaces thg_b'],
  ['nothing that was replaced before', 'thg_c', undefined],
])('a new resource is told to replace %s', async (_, externalId, expected) => {
  const { managed, spec } = await manage(replacing([A, B], externalId, { shape: 'flat' }), { things: both() });
  await rollBack(managed, spec);
  expect(managed.replaces).toBe(expected);
});

test('nothing is taken back by the list in a stale cache', async () => {
  const { managed, spec, things, outdate } = await manage(replacing([A]), { things: both() });
  await outdate();
  const before = things.created;
  await expect(rollBack(managed, spec)).rejects.toThrow(StaleObject);
  expect(things.created).toBe(before);
});
