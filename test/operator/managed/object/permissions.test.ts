/** What an object is denied even if its spec is valid. */
import { expect, test } from 'vitest';
import { REASON } from '../../../../src/operator/contract/reasons.ts';
import {
  namedById,
  requireAdoptionGrant,
  requireHandOutGrant,
  requireNoIds,
} from '../../../../src/operator/managed/object/permissions.ts';
import { object } from '../../objects.ts';

const denied = (message: string | RegExp) =>
  expect.objectContaining({ reason: REASON.accessDenied, message: expect.stringMatching(message) });

test.each([
  ['annotation tunnel-operator.dev/adopt', { adopt: 'a' }],
  ['annotations tunnel-operator.dev/adopt and tunnel-operator.dev/external-id', { adopt: 'a', externalId: 'b' }],
])('in a namespace without adoption, the remedy is to remove the %s', (named, annotations) => {
  const given = object({}, annotations);
  expect(() => requireAdoptionGrant({ object: given, mayAdopt: true })).not.toThrow();
  const refusal = denied(new RegExp(`from namespace ns: .* remove the ${named}$`));
  expect(() => requireAdoptionGrant({ object: given, mayAdopt: false })).toThrow(refusal);
});

test.each([
  ['of a user, if allowed', true, true, false],
  ['of a bot', false, false, false],
  ['of a user', false, true, true],
])('whether an object may hand out rights %s', (_, mayHandOutUserRights, has, isDenied) => {
  const kind = { kind: 'APIKey', handsOutUserRights: () => has };
  const handOut = () => requireHandOutGrant(kind, {} as never, mayHandOutUserRights);
  if (isDenied) expect(handOut).toThrow(denied('an APIKey must belong to a bot: set spec.ownerRef to a BotUser, or '));
  else expect(handOut).not.toThrow();
});

test.for<[string, unknown, string[]]>([
  ['none in an empty spec', undefined, []],
  ['none with names alone', { edgeRef: { name: 'shop' }, ipPolicyRefs: [{ name: 'office' }] }, []],
  ['a reference', { edgeRef: { id: 'x' } }, ['spec.edgeRef.id']],
  ['one of a list', { ipPolicyRefs: [{ name: 'office' }, { id: 'x' }] }, ['spec.ipPolicyRefs[1].id']],
  ['one inside a module', { backend: { backendRef: { kind: 'X', id: 'x' } } }, ['spec.backend.backendRef.id']],
  ['an owner as well', { edgeRef: { id: 'x' }, ownerId: 'x' }, ['spec.edgeRef.id', 'spec.ownerId']],
  ['none for a text from a Secret', { body: { secretKeyRef: { name: 'id', key: 'id' } } }, []],
  ['none for ids of no reference', { labels: { id: 'x', ownerId: 'y' }, clientId: { value: 'z' } }, []],
])('which resources a spec names by id: %s', ([, spec, paths]) => {
  expect(namedById(spec)).toEqual(paths.map((path) => ({ path, id: 'x' })));
  const naming = () => requireNoIds(object({ spec }));
  if (paths.length === 0) expect(naming).not.toThrow();
  else expect(naming).toThrow(expect.objectContaining({ message: expect.stringContaining(paths.join(', ')) }));
});
