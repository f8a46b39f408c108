import { expect, test } from 'vitest';
import { ANNOTATION } from '../../../src/operator/contract/names.ts';
import { StaleObject } from '../../../src/operator/managed/external.ts';
import { undoCreate } from '../../../src/operator/managed/undoing.ts';
import { object } from '../objects.ts';
import { manage } from './managed-under-test.ts';
import { Things, tokens } from './things.ts';

const entry = (id: string, generation: number) => ({ id, generation, after: '2026-11-21T10:00:00.000Z' });
const begun = (generation: number, ...retiring: ReturnType<typeof entry>[]) =>
  object({}, { createGeneration: String(generation), createKey: 'k', retiring: JSON.stringify(retiring) });
const NOTHING = { externalId: undefined, generation: 0, retiring: [] };

test.each<[string, ReturnType<typeof begun>, Things, string[], object, string[]]>([
  ['that has made nothing leaves nothing', begun(1), new Things(), [], NOTHING, []],
  ['that nobody was told of is deleted', begun(1), new Things().makeFor('thg_1'), [], NOTHING, []],
  [
    'of a successor leaves what that was to replace',
    begun(2, entry('thg_1', 1)),
    new Things().makeFor('thg_1', 'thg_2'),
    [],
    { externalId: 'thg_1', generation: 3, retiring: [] },
    ['thg_1'],
  ],
  [
    'of a successor leaves what was adopted',
    begun(1, entry('thg_1', 0)),
    new Things('thg_1').makeFor('thg_2'),
    [],
    { externalId: 'thg_1', generation: 0, retiring: [] },
    ['thg_1'],
  ],
  [
    'of a successor whose token is stored leaves both',
    begun(2, entry('thg_1', 1)),
    new Things().makeFor('thg_1', 'thg_2'),
    ['thg_2'],
    { externalId: 'thg_2', generation: 3, retiring: [entry('thg_1', 1)] },
    ['thg_1', 'thg_2'],
  ],
])('a create %s, once the object is only to observe', async (_, of, things, held, expected, stays) => {
  const { managed, identity } = await manage(of, { things, kind: tokens(held) });
  await undoCreate(managed);
  expect(await identity()).toEqual({ createKey: undefined, ...expected });
  expect(things.ids).toEqual(stays);
});

test.each([
  ['there is none', object()],
  ['it has succeeded', object({}, { createGeneration: '1', externalId: 'thg_1' })],
])('no create is undone if %s', async (_, of) => {
  const { managed, things, object: written } = await manage(of, { things: new Things().makeFor('thg_1') });
  const before = await written();
  await undoCreate(managed);
  expect([await written(), things.ids]).toEqual([before, ['thg_1']]);
});

test('no create is undone that has succeeded meanwhile, as far as a stale cache knows', async () => {
  const { managed, things, outdate } = await manage(begun(1), { things: new Things().makeFor('thg_1') });
  await outdate();
  await expect(undoCreate(managed)).rejects.toThrow(StaleObject);
  expect(things.ids).toEqual(['thg_1']);
});

test.each([
  ['counts again, if it was undone', [], undefined],
  ['is done, if the new token is stored', ['thg_2'], 'again'],
])('a request for a rotation %s', async (_, held, expected) => {
  const { annotations } = begun(2, entry('thg_1', 1)).metadata;
  const handled = { [ANNOTATION.rotateRequestedAt]: 'again', [ANNOTATION.rotateHandledAt]: 'again' };
  const of = object({ metadata: { annotations: { ...annotations, ...handled } } });
  const { managed } = await manage(of, { things: new Things().makeFor('thg_1', 'thg_2'), kind: tokens(held) });
  await undoCreate(managed);
  expect(managed.object.metadata.annotations?.[ANNOTATION.rotateHandledAt]).toBe(expected);
});
