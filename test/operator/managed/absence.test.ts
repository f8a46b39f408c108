import { expect, test } from 'vitest';
import { believedOwner } from '../../../src/operator/managed/absence.ts';
import { readOwner } from '../../../src/operator/managed/spec.ts';
import { object } from '../objects.ts';

/** As the caches would resolve it. */
const refersTo = (ownerRef: unknown) => (ownerRef === 'known' ? 'bot_1' : undefined);
const SHOWN = { status: { id: 'a', ownerId: 'usr_x' } };
const sight = { ownerId: 'usr_key', mayBeAdmin: true };

test.each([
  ['the one that the status shows', { status: { id: 'a', ownerId: 'usr_x' } }, 1, 'usr_x'],
  ['not the one that the status shows of another resource', { status: { id: 'b', ownerId: 'usr_x' } }, 1, 'usr_key'],
  ['the one that the spec names', { spec: { ownerId: 'usr_y' } }, 1, 'usr_y'],
  ['the one that the spec refers to', { spec: { ownerRef: 'known' } }, 1, 'bot_1'],
  ['unknown when the spec refers to what is not there', { spec: { ownerRef: 'missing' } }, 1, undefined],
  [
    'the one that the status shows, whatever the spec refers to',
    { ...SHOWN, spec: { ownerRef: 'missing' } },
    1,
    'usr_x',
  ],
  ['the one that the status shows of what was adopted', { status: { id: 'a', ownerId: 'usr_x' } }, 0, 'usr_x'],
  ['whoever creates it, if none is named', {}, 1, 'usr_key'],
  ['unknown of what was adopted, if none is named', {}, 0, undefined],
  ['not what is no id', { spec: { ownerId: 1 } }, 0, undefined],
])('the owner of a resource that is not shown is believed to be %s', (_, fields, generation, expected) => {
  const of = object(fields);
  expect(believedOwner(of, { id: 'a', generation }, sight, readOwner(of.spec, refersTo))).toBe(expected);
});
