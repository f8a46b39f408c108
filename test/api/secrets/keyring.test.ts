import { describe, expect, test } from 'vitest';
import { keyring, parseKeyring } from '../../../src/api/secrets/keyring.ts';

const key = (byte: number) => Buffer.alloc(32, byte);
const encoded = (byte: number) => key(byte).toString('base64');

describe('a keyring', () => {
  test.each([
    ['a key with an id', `a:${encoded(1)}`, [{ id: 'a', bytes: key(1) }]],
    ['the longest id', `${'A-_9'.repeat(8)}:${encoded(1)}`, [{ id: 'A-_9'.repeat(8), bytes: key(1) }]],
    [
      'several, in their order',
      ` b:${encoded(2)} , a:${encoded(1)}`,
      [
        { id: 'b', bytes: key(2) },
        { id: 'a', bytes: key(1) },
      ],
    ],
    // Databases hold this derived id, so it must not change.
    ['a key without an id', encoded(7), [{ id: 'k2f44c7b052c2', bytes: key(7) }]],
    [
      'one of each',
      `${encoded(7)},a:${encoded(7)}`,
      [
        { id: 'k2f44c7b052c2', bytes: key(7) },
        { id: 'a', bytes: key(7) },
      ],
    ],
  ])('may be %s', (_, text, keys) => {
    expect(parseKeyring(text)).toEqual({ keys });
    expect(keyring.parse(text)).toEqual(keys);
  });

  const form = 'must be 32 bytes in base64, as printed by "openssl rand -base64 32", optionally with "id:" before it';
  test.each([
    ['empty text', '', `key 1 ${form}`],
    ['31 bytes', Buffer.alloc(31).toString('base64'), `key 1 ${form}`],
    ['33 bytes', Buffer.alloc(33).toString('base64'), `key 1 ${form}`],
    ['an empty second key', `${encoded(1)},`, `key 2 ${form}`],
    ['an id alone', 'a:', `key 1 ${form}`],
    ['no id before the colon', `:${encoded(1)}`, 'key 1 has an id that is not 1 to 32 letters, digits, - and _'],
    [
      'an id of 33 characters',
      `${'a'.repeat(33)}:${encoded(1)}`,
      'key 1 has an id that is not 1 to 32 letters, digits, - and _',
    ],
    ['an id with a dot', `a.b:${encoded(1)}`, 'key 1 has an id that is not 1 to 32 letters, digits, - and _'],
    ['an id twice', `a:${encoded(1)},b:${encoded(2)},a:${encoded(3)}`, 'key 3 repeats the id "a"'],
    ['a key twice', `${encoded(1)},${encoded(1)}`, /^key 2 repeats the id "k[0-9a-f]{12}"$/],
  ])('is refused with the reason: %s', (_, text, reason) => {
    const parsed = parseKeyring(text);
    expect('reason' in parsed ? parsed.reason : parsed).toMatch(reason);
    expect(keyring.safeParse(text).error?.issues[0]?.message).toMatch(reason);
    expect(JSON.stringify(parsed)).not.toContain(encoded(1).slice(0, 20));
  });
});
