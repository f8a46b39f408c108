import { describe, expect, test } from 'vitest';
import { tokenHooks } from '../../../src/api/families/one-time-token.ts';
import { tokenHash } from '../../../src/api/secrets/tokens.ts';
import type { Statement } from '../../../src/api/store/statement.ts';

const { draft, explain, isSecret } = tokenHooks({ table: 'api_keys' }, 'tnl_x_');
const caller = (admin: boolean) => ({ id: 'usr_1', admin, keyId: 'ak_1', secret: 'x' });

describe('the owner of a new token', () => {
  test.each([
    ['is the caller by default', false, undefined, 'usr_1'],
    ['is the caller for null', false, null, 'usr_1'],
    ['may be the caller by name', false, 'usr_1', 'usr_1'],
    ['may be anybody for an admin', true, 'bot_2', 'bot_2'],
  ])('%s', (_, admin, owner_id, expected) => {
    const { fields, columns, token = '' } = draft(caller(admin), { owner_id });
    expect(fields).toEqual({ owner_id: expected });
    expect(token).toMatch(/^tnl_x_/);
    expect(columns).toEqual({ token_hash: tokenHash(token) });
  });

  test('may be nobody else for others', () => {
    expect(() => draft(caller(false), { owner_id: 'bot_2' })).toThrow(
      expect.objectContaining({ code: 'PERMISSION_DENIED', details: { '/owner_id': 'bot_2' } }),
    );
  });

  test('must exist, which the log says without the name', () => {
    const row = { id: 'ak_2', created_at: '', revision: 1, owner_id: 'bot_2' };
    expect(explain({ kind: 'missing', constraint: 'api_keys_owner_id_fkey' }, row)).toMatchObject({
      code: 'INVALID_REQUEST',
      details: { '/owner_id': 'owner bot_2 does not exist' },
      fixed: { '/owner_id': 'does not exist' },
    });
    expect(explain({ kind: 'unique', constraint: 'api_keys_pkey' }, row)).toBeUndefined();
  });
});

test('the secret of a resource is the token whose hash is stored with it', async () => {
  const stored = new Map([['ak_1', tokenHash('tnl_x_1')]]);
  const query = async ({ values: [id, hash] }: Statement) => (stored.get(String(id)) === hash ? [{}] : []);
  expect(await isSecret({ tx: { query } }, 'ak_1', 'tnl_x_1')).toBe(true);
  expect(await isSecret({ tx: { query } }, 'ak_1', 'tnl_x_2')).toBe(false);
  expect(await isSecret({ tx: { query } }, 'ak_2', 'tnl_x_1')).toBe(false);
});
