/** The envelopes of secrets, without the database that holds them. */
import { describe, expect, test } from 'vitest';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { newToken, tokenHash } from '../../../src/api/secrets/tokens.ts';

const first = { id: 'k1', bytes: Buffer.alloc(32, 1) };
const second = { id: 'k2', bytes: Buffer.alloc(32, 2) };
const at = { table: 'things', id: 'th_1', field: 'secret' };
const secrets = createSecrets([first, second]);
/** An envelope as existing databases hold it. */
const STORED = 'v1.k1.5sW-_Yu4CZj6IeodCDQWR8UdUoNiLnqxmz1kxAjEnvA0t6Ky';

describe('an envelope', () => {
  test('names its key, the first of the ring, and can be opened', () => {
    const sealed = secrets.seal('größer', at);
    expect(sealed).toMatch(/^v1\.k1\.[A-Za-z0-9_-]+$/);
    expect(secrets.open(sealed, at)).toBe('größer');
  });

  test('sealed with a former first key can be opened as well', () => {
    const sealed = createSecrets([second]).seal('a', at);
    expect(sealed).toMatch(/^v1\.k2\./);
    expect(secrets.open(sealed, at)).toBe('a');
  });

  test('in the format of existing databases can still be opened', () => {
    expect(secrets.open(STORED, at)).toBe('größer');
  });

  test.each([
    ['table', { ...at, table: 'others' }],
    ['row', { ...at, id: 'th_2' }],
    ['column', { ...at, field: 'other' }],
  ])('is bound to its %s', (_, elsewhere) => {
    const sealed = secrets.seal('a', at);
    expect(() => secrets.open(sealed, elsewhere)).toThrow(
      `the sealed ${elsewhere.field} of ${elsewhere.table} ${elsewhere.id} was changed, or sealed for another location`,
    );
  });

  test('sealed with another key of the same id is not opened, and the error keeps its cause', () => {
    const sealed = createSecrets([{ ...second, id: 'k1' }]).seal('a', at);
    let thrown: unknown;
    try {
      secrets.open(sealed, at);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ message: expect.stringContaining('was changed'), cause: expect.any(Error) });
  });

  test('that names another key is not opened', () => {
    const sealed = secrets.seal('a', at).replace('.k1.', '.k2.');
    expect(() => secrets.open(sealed, at)).toThrow('was changed');
  });

  test('whose key is missing fails as UNAVAILABLE and names the key', () => {
    const sealed = createSecrets([{ ...second, id: 'k3' }]).seal('a', at);
    expect(() => secrets.open(sealed, at)).toThrow(
      expect.objectContaining({ code: 'UNAVAILABLE', message: expect.stringContaining('"k3"') }),
    );
  });

  test.each(['', 'v2.k1.AAAA', 'plain'])('of another format is not opened: "%s"', (sealed) => {
    expect(() => secrets.open(sealed, at)).toThrow('has a format that this release cannot read');
  });
});

test('without keys, sealing and opening fail with a reason that names the setting', () => {
  const none = createSecrets(undefined);
  for (const attempt of [() => none.seal('a', at), () => none.open(STORED, at)]) {
    expect(attempt).toThrow(
      expect.objectContaining({ code: 'UNAVAILABLE', message: expect.stringContaining('ENCRYPTION_KEY') }),
    );
  }
});

describe('a token', () => {
  test('has its prefix and 43 letters and digits, different each time', () => {
    const tokens = Array.from({ length: 200 }, () => newToken('p_'));
    for (const token of tokens) expect(token).toMatch(/^p_[0-9A-Za-z]{43}$/);
    expect(new Set(tokens).size).toBe(200);
    // The whole alphabet is used.
    expect(new Set(tokens.flatMap((token) => [...token.slice(2)])).size).toBe(62);
  });

  test('is stored as its SHA-256', () => {
    expect(tokenHash('abc')).toBe('\\xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
