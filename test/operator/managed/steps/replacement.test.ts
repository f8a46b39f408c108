import { expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import { StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { findRemote } from '../../../../src/operator/managed/steps/replacement.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { type ThingKind, Things, tokens } from '../things.ts';

const having = (generation: number, spec: object = {}, retiring: object[] = []) =>
  object(
    { spec },
    {
      externalId: 'thg_1',
      createGeneration: String(generation),
      retiring: JSON.stringify(retiring),
      rotateRequestedAt: 'r',
      rotateHandledAt: 'before',
    },
  );
const one = () => new Things().makeFor('thg_1');
const reasons = (events: readonly string[]) => events.map((event) => event.split(':')[0]);
const handled = ({ metadata }: ReturnType<typeof object>) => metadata.annotations?.[ANNOTATION.rotateHandledAt];

test.each<[string, Partial<ThingKind>, number, boolean]>([
  ['one that hands out nothing', {}, 1, true],
  ['one whose token is held', tokens(['thg_1']), 1, true],
  ['an adopted one whose token was never known', tokens([]), 0, false],
])('an object keeps %s', async (_, kind, generation, isHeld) => {
  const { managed, spec, object: written, events } = await manage(having(generation), { things: one(), kind });
  const before = await written();
  expect(await findRemote(managed, spec)).toMatchObject({ remote: { id: 'thg_1' }, isHeld });
  expect([await written(), await events()]).toEqual([before, []]);
});

test('an object without a resource has none to keep', async () => {
  const { managed, spec } = await manage(object({}, { createGeneration: '1' }), { things: one() });
  expect(await findRemote(managed, spec)).toBeUndefined();
});

const DUE = { cause: 'interval', overlapMs: 3_600_000, message: 'The token is old' } as const;

test.each<[string, Things, object, Partial<ThingKind>, string | undefined, string[], string | undefined]>([
  ['gone', new Things(), {}, {}, 'gone', ['ExternalResourceGone'], undefined],
  ['gone, with its token', new Things(), {}, tokens([]), 'gone', ['ExternalResourceGone'], undefined],
  [
    'of another material than is declared',
    one(),
    { material: 'steel' },
    {},
    'changed',
    [],
    'spec.material changed, which thg_1 cannot take: a new resource replaces it',
  ],
  [
    'of another material than is declared, with a token',
    one(),
    { material: 'steel' },
    tokens(['thg_1']),
    'changed',
    [],
    'spec.material changed, which thg_1 cannot take: a new resource replaces it',
  ],
  ['due for a rotation', one(), {}, tokens(['thg_1'], { due: DUE }), 'interval', ['TokenRotated'], undefined],
  [
    'due for a renewal',
    one(),
    {},
    tokens(['thg_1'], { due: DUE, isOneTime: false }),
    'interval',
    [],
    'The token is old',
  ],
  ['without its token', one(), {}, tokens([]), 'lost', ['TokenReissued'], undefined],
])('a resource is superseded that is %s', async (_, things, members, kind, reissued, said, replaces) => {
  const { managed, spec, identity, events, object: written } = await manage(having(1, members), { things, kind });
  expect(await findRemote(managed, spec)).toBeUndefined();
  expect(await identity()).toMatchObject({ externalId: undefined, generation: 2, retiring: [{ id: 'thg_1' }] });
  expect(reasons(await events())).toEqual(said);
  expect([managed.reissued, managed.replaces]).toEqual([reissued, replaces]);
  // Only a new token makes a requested one superfluous.
  expect(handled(await written())).toBe(kind.delivery ? 'r' : 'before');
});

test('a superseded token works for as long as the overlap is', async () => {
  const { managed, spec, identity } = await manage(having(1), { things: one(), kind: tokens(['thg_1'], { due: DUE }) });
  const before = Date.now();
  await findRemote(managed, spec);
  const after = Date.parse((await identity()).retiring[0]?.after ?? '');
  expect(after).toBeGreaterThanOrEqual(before + DUE.overlapMs);
  expect(after).toBeLessThanOrEqual(Date.now() + DUE.overlapMs);
});

test('a token that is lost again soon is not issued anew before a pause', async () => {
  const { managed, spec, identity } = await manage(having(1), { things: one(), kind: tokens([]) });
  managed.reissueBackoff.reissued(managed.object.metadata.uid, new Date());
  expect(await findRemote(managed, spec)).toMatchObject({ remote: { id: 'thg_1' }, isHeld: false });
  expect((await identity()).externalId).toBe('thg_1');
  expect(managed.retryAt).toEqual(managed.reissueBackoff.pauseUntil(managed.object.metadata.uid, new Date()));
});

test('a token that is lost is counted, so that the next loss has its pause', async () => {
  const { managed, spec } = await manage(having(1), { things: one(), kind: tokens([]) });
  await findRemote(managed, spec);
  expect(managed.reissueBackoff.pauseUntil(managed.object.metadata.uid, new Date())).toBeInstanceOf(Date);
});

test.each<[string, ReturnType<typeof object>]>([
  ['without another yet', object({}, { createGeneration: '3', retiring: retiring('thg_2') })],
  [
    'instead of replacing another',
    object(
      { spec: { material: 'steel' } },
      { externalId: 'thg_1', createGeneration: '3', retiring: retiring('thg_2') },
    ),
  ],
])('an object takes back what the spec asks for again, %s', async (_, of) => {
  const things = new Things().makeFor('thg_2', 'thg_1');
  things.make('thg_2', { material: 'steel' });
  const { managed, identity } = await manage(of, { things });
  const spec = { ...managed.kind.membersOf(of), material: 'steel' };
  expect(await findRemote(managed, spec)).toMatchObject({ remote: { id: 'thg_2' } });
  expect((await identity()).externalId).toBe('thg_2');
});

test('nothing is superseded for an object that somebody has changed meanwhile', async () => {
  const of = await manage(having(1), { things: one(), kind: tokens(['thg_1'], { due: DUE }) });
  await of.outdate();
  await expect(findRemote(of.managed, of.spec)).rejects.toThrow(StaleObject);
});

test('nothing is superseded before it is known that a new token can be delivered', async () => {
  const kind = tokens(['thg_1'], { due: DUE, prepare: () => Promise.reject(new Error('no Secret can be written')) });
  const { managed, spec, identity } = await manage(having(1), { things: one(), kind });
  await expect(findRemote(managed, spec)).rejects.toThrow('no Secret can be written');
  expect((await identity()).externalId).toBe('thg_1');
});

function retiring(id: string): string {
  return JSON.stringify([{ id, generation: 1, after: '2099-01-01T00:00:00Z' }]);
}
