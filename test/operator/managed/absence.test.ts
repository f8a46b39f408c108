import { expect, test } from 'vitest';
import { believedOwner } from '../../../src/operator/managed/absence.ts';
import { object } from '../objects.ts';

const sight = { ownerId: 'usr_key', mayBeAdmin: true };

test.each([
  ['the one that the status shows', { status: { id: 'a', ownerId: 'usr_x' } }, 1, 'usr_x'],
  ['not the one that the status shows of another resource', { status: { id: 'b', ownerId: 'usr_x' } }, 1, 'usr_key'],
  ['the one that the spec names', { spec: { ownerId: 'usr_y' } }, 1, 'usr_y'],
  ['the one that the status shows of what was adopted', { status: { id: 'a', ownerId: 'usr_x' } }, 0, 'usr_x'],
  ['whoever creates it, if none is named', {}, 1, 'usr_key'],
  ['unknown of what was adopted, if none is named', {}, 0, undefined],
  ['not what is no id', { spec: { ownerId: 1 } }, 0, undefined],
])('the owner of a resource that is not shown is believed to be %s', (_, fields, generation, expected) => {
  expect(believedOwner(object(fields), { id: 'a', generation }, sight)).toBe(expected);
});
