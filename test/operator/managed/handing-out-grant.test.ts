/** What may be handed out where nothing may have the rights of a user. */
import { expect, test } from 'vitest';
import { requireHandOutGrant } from '../../../src/operator/managed/handing-out-grant.ts';

test.each([
  ['may have them', true, true, undefined],
  ['has them not', false, false, undefined],
  ['has them', false, true, 'an APIKey must belong to a bot: set spec.ownerRef to a BotUser, or '],
])('what %s', (_, mayHandOutUserRights, has, refusal) => {
  const kind = { name: 'APIKey', handsOutUserRights: () => has };
  const handOut = () => requireHandOutGrant({ kind, mayHandOutUserRights }, {} as never);
  if (refusal === undefined) expect(handOut).not.toThrow();
  else
    expect(handOut).toThrow(
      expect.objectContaining({ reason: 'AccessDenied', message: expect.stringContaining(refusal) }),
    );
});
