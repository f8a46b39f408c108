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

  test('is refused without the key that the database was used with, and with another of that id', async () => {
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
  test('seals everything under the first key, after which the others may go', async () => {
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
  test('is made once, for its owner alone, however many ask at once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'key-'));
    const file = join(folder, 'postgres.encryption-key');
    const keys = await Promise.all(Array.from({ length: 10 }, () => keyFromFile(file)));
    expect(new Set(keys.map(([{ id }]) => id)).size).toBe(1);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['postgres.encryption-key']);
    expect((await keyFromFile(file))[0].bytes.toString('base64')).toBe((await readFile(file, 'utf8')).trim());

    // Where nothing can be made beside it, as in a volume that is only to be read.
    const handle = await open(file);
    expect(await keyFromFile(`/dev/fd/${handle.fd}`)).toEqual(keys[0]);
    await handle.close();

    await writeFile(file, 'damaged');
    await expect(keyFromFile(file)).rejects.toThrow(/postgres\.encryption-key: key 1 must be/);
    await rm(folder, { recursive: true });
  });

  test('is not made where it cannot be put in its place, and leaves nothing', async () => {
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
