/** What an object is denied, and what counts as its own. */
import { describe, expect, test } from 'vitest';
import { REASON } from '../../../../src/operator/contract/reasons.ts';
import type { Identity } from '../../../../src/operator/managed/identity/identity.ts';
import { namesOnlyOwn, onlyOwn } from '../../../../src/operator/managed/identity/recovered-identity.ts';
import { requireAdoptionGrant, requireHandOutGrant } from '../../../../src/operator/managed/object/permissions.ts';
import { object } from '../../objects.ts';

test.each([
  ['annotation tunnel-operator.dev/adopt', { adopt: 'a' }],
  ['annotations tunnel-operator.dev/adopt and tunnel-operator.dev/external-id', { adopt: 'a', externalId: 'b' }],
])('in a namespace without adoption, the remedy is to remove the %s', (named, annotations) => {
  const given = object({}, annotations);
  expect(() => requireAdoptionGrant({ object: given, mayAdopt: true })).not.toThrow();
  const refusal = expect.objectContaining({
    reason: REASON.accessDenied,
    message: expect.stringMatching(new RegExp(`from namespace ns: .* remove the ${named}$`)),
  });
  expect(() => requireAdoptionGrant({ object: given, mayAdopt: false })).toThrow(refusal);
});

const entry = (id: string) => ({ id, generation: 1, after: '2026-11-21T10:00:00.000Z' });
const identity = (externalId: string | undefined, ...retiring: string[]): Identity => ({
  externalId,
  generation: 2,
  createKey: undefined,
  retiring: retiring.map(entry),
});
const scope = (...ids: string[]) => ({
  resources: ids.map((id, index) => ({ id, sequence: index + 1 })),
  nextSequence: ids.length + 1,
});

describe('what the annotations name is the object’s own', () => {
  test.each<[string, Identity, Identity | undefined, string[], Identity]>([
    ['if nothing is named', identity(undefined), undefined, [], identity(undefined)],
    ['if it was created for it', identity('a', 'b'), undefined, ['a', 'b'], identity('a', 'b')],
    ['if its status shows it', identity('a', 'b'), identity('a', 'b'), [], identity('a', 'b')],
    ['but for the present one', identity('x', 'b'), undefined, ['a', 'b'], identity(undefined, 'b')],
    ['but for what is superseded', identity('a', 'x', 'b'), identity('a'), ['b'], identity('a', 'b')],
  ])('%s', (_, recorded, shown, created, expected) => {
    expect(onlyOwn(recorded, shown, scope(...created))).toEqual(expected);
    expect(namesOnlyOwn(recorded, shown, scope(...created))).toBe(
      JSON.stringify(recorded) === JSON.stringify(expected),
    );
  });
});

test.each([
  ['where they are allowed', true, true, undefined],
  ['of a bot', false, false, undefined],
  ['of a user', false, true, 'an APIKey must belong to a bot: set spec.ownerRef to a BotUser, or '],
])('an object may hand out rights %s', (_, mayHandOutUserRights, has, refusal) => {
  const kind = { kind: 'APIKey', handsOutUserRights: () => has };
  const handOut = () => requireHandOutGrant(kind, {} as never, mayHandOutUserRights);
  if (refusal === undefined) expect(handOut).not.toThrow();
  else expect(handOut).toThrow(expect.objectContaining({ message: expect.stringContaining(refusal) }));
});
