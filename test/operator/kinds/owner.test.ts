import { describe, expect, test } from 'vitest';
import { apiKeyKind } from '../../../src/operator/kinds/api-key.ts';
import { isOwnedByBot, owned } from '../../../src/operator/kinds/owner.ts';
import { Reference } from '../../../src/operator/managed/declaration/input.ts';

const BOT = 'bot_01jd0000000000000000000000';
const USER = 'usr_01jd0000000000000000000000';

describe('an object', () => {
  test.each([
    [{ ownerRef: new Reference({ kind: 'BotUser', name: 'ci' }) }, true],
    [{ ownerRef: BOT }, true],
    [{ ownerId: BOT }, true],
    [{ ownerId: USER }, false],
    [{}, false],
  ])('with %j is owned by a bot: %s', (spec, isBot) => {
    expect(isOwnedByBot(spec)).toBe(isBot);
    // Users may be admins.
    expect(apiKeyKind.handsOutUserRights?.({ ...spec } as never)).toBe(!isBot);
  });

  test.each<[{ ownerRef?: string; ownerId?: string }, object]>([
    [{ ownerRef: BOT }, { ownerId: BOT }],
    [{ ownerId: USER }, { ownerId: USER }],
  ])('with %j is sent to the API with %j', (spec, expanded) => {
    expect(owned('key').expand({ ...spec })).toEqual(expanded);
  });
});

test('the reference to an owning bot is immutable', () => {
  const { ownerRef } = owned('key').spec;
  expect(ownerRef.parse({ name: 'ci' })).toMatchObject({ kind: 'BotUser', name: 'ci', isImmutable: true });
});
