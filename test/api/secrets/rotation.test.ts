import { randomBytes } from 'node:crypto';
import files, { mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { BadEncryptionKey, keyring } from '../../../src/api/secrets/keyring.ts';
import { keyFromFile, openSecrets, rotateEncryption } from '../../../src/api/secrets/rotation.ts';
import { openTestDatabase } from '../harness.ts';

const base64 = () => randomBytes(32).toString('base64');

const ring = (text: string) => keyring.parse(text);

const place = { table: 'things', id: 'thing_1', field: 'private_key' };

describe('a start', () => {
  test('fails with the reason when the key cannot be registered', async () => {
    const db = await openTestDatabase();
    await db.query({ text: 'alter table encryption_keys add constraint no_more check (false) not valid', values: [] });
    await expect(openSecrets(db, ring(base64()))).rejects.toThrow('no_more');
  });

  test('is refused without the key of the database, and with another key of the same id', async () => {
    const db = await openTestDatabase();
    const a = `a:${base64()}`;
    await openSecrets(db, ring(a));
    await openSecrets(db, ring(a));
    await expect(openSecrets(db, undefined)).rejects.toThrow(/lacks the key "a".*set it/);
    await expect(openSecrets(db, ring(`b:${base64()}`))).rejects.toThrow(/lacks the key "a".*rotate-encryption/);
    await expect(openSecrets(db, ring(`a:${base64()}`))).rejects.toThrow(
      /the key "a" in ENCRYPTION_KEY is not the one/,
    );
    await expect(openSecrets(db, ring(`a:${base64()}`))).rejects.toBeInstanceOf(BadEncryptionKey);
    await openSecrets(db, ring(`b:${base64()},${a}`));
  });
});

describe('a rotation', () => {
  test('seals everything with the first key, after which the others can be removed', async () => {
    const db = await openTestDatabase();
    await db.query({ text: 'create table things (id text primary key, private_key text)', values: [] });
    const [a, b] = [`a:${base64()}`, `b:${base64()}`];
    const before = await openSecrets(db, ring(a));
    for (let n = 0; n < 250; n++) {
      const id = `thing_${n}`;
      const sealed = n === 0 ? null : before.seal(`secret ${n}`, { ...place, id });
      await db.query({ text: 'insert into things values ($1, $2)', values: [id, sealed] });
    }
    const columns = [{ table: 'things', column: 'private_key' }];
    expect(await rotateEncryption(db, ring(`${b},${a}`), columns)).toEqual({ things: 249 });
    expect(await rotateEncryption(db, ring(`${b},${a}`), columns)).toEqual({ things: 0 });

    const after = await openSecrets(db, ring(b));
    const rows = await db.query({
      text: 'select id, private_key from things where private_key is not null',
      values: [],
    });
    expect(rows).toHaveLength(249);
    for (const { id, private_key } of rows) {
      const opened = after.open(String(private_key), { ...place, id: String(id) });
      expect(opened).toBe(`secret ${String(id).replace('thing_', '')}`);
    }
  });
});

describe('the key beside the embedded database', () => {
  test('is created once, readable only by its owner, even by concurrent calls', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'key-'));
    const file = join(folder, 'postgres.encryption-key');
    const keys = await Promise.all(Array.from({ length: 10 }, () => keyFromFile(file)));
    expect(new Set(keys.map(([{ id }]) => id)).size).toBe(1);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['postgres.encryption-key']);
    expect((await keyFromFile(file))[0].bytes.toString('base64')).toBe((await readFile(file, 'utf8')).trim());

    // No file can be created beside this path, as on a read-only volume.
    const handle = await open(file);
    expect(await keyFromFile(`/dev/fd/${handle.fd}`)).toEqual(keys[0]);
    await handle.close();

    await writeFile(file, 'damaged');
    await expect(keyFromFile(file)).rejects.toThrow(/postgres\.encryption-key: key 1 must be/);
    await rm(folder, { recursive: true });
  });

  test('is not created if it cannot be linked into its place, and leaves nothing behind', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'key-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const link = vi
      .spyOn(files, 'link')
      .mockRejectedValue(Object.assign(new Error('no links here'), { code: 'EPERM' }));
    syncBuiltinESMExports();
    onTestFinished(() => {
      link.mockRestore();
      syncBuiltinESMExports();
    });
    await expect(keyFromFile(join(folder, 'postgres.encryption-key'))).rejects.toThrow('no links here');
    expect(await readdir(folder)).toEqual([]);
  });
});
