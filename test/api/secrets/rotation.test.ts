import { randomBytes } from 'node:crypto';
import files, { mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { BadEncryptionKey, keyring, parseKeyring } from '../../../src/api/secrets/keyring.ts';
import { keyFromFile, openSecrets, rotateEncryption } from '../../../src/api/secrets/rotation.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { openTestDatabase } from '../harness.ts';

const base64 = () => randomBytes(32).toString('base64');

const ring = (text: string) => keyring.parse(text);

const place = { table: 'things', id: 'thing_1', field: 'private_key' };

describe('ENCRYPTION_KEY', () => {
  test('is one key, which has an id of its own', () => {
    const key = base64();
    const [only] = ring(key);
    expect(only.bytes.toString('base64')).toBe(key);
    expect(only.id).toMatch(/^k[0-9a-f]{12}$/);
    expect(ring(`${base64()},${key}`)[1]?.id).toBe(only.id);
  });

  test('is a list of keys, with ids or without, the first of which seals', () => {
    const keys = ring(`new:${base64()}, old-1:${base64()},${base64()}`);
    expect(keys.map(({ id }) => id).slice(0, 2)).toEqual(['new', 'old-1']);
    expect(keys).toHaveLength(3);
  });

  test.each([
    ['', /key 1 must be 32 bytes in base64/],
    ['short', /key 1 must be 32 bytes/],
    [randomBytes(31).toString('base64'), /32 bytes/],
    [randomBytes(33).toString('base64'), /32 bytes/],
    [randomBytes(32).toString('hex'), /32 bytes/],
    [`${base64()},`, /key 2 must be/],
    [`a b:${base64()}`, /key 1 has an id that is not/],
    [`:${base64()}`, /key 1 has an id/],
    [`${'x'.repeat(33)}:${base64()}`, /key 1 has an id/],
    [`a:${base64()},a:${base64()}`, /key 2 repeats the id "a"/],
  ])('is refused as "%s", with the reason and without the key', (text, reason) => {
    const parsed = parseKeyring(text);
    expect(parsed).toMatchObject({ reason: expect.stringMatching(reason) });
    for (const part of text.split(/[:,]/).filter((each) => each.length > 20)) {
      expect(JSON.stringify(parsed)).not.toContain(part);
    }
  });
});

describe('a sealed secret', () => {
  test('opens again, also when other keys seal by now', () => {
    const [old, fresh] = [`old:${base64()}`, `new:${base64()}`];
    const sealed = createSecrets(ring(old)).seal('grüße', place);
    expect(sealed).toMatch(/^v1\.old\.[\w-]+$/);
    const both = createSecrets(ring(`${fresh},${old}`));
    expect(both.open(sealed, place)).toBe('grüße');
    expect(both.seal('x', place)).toMatch(/^v1\.new\./);
  });

  test('is different every time', () => {
    const secrets = createSecrets(ring(base64()));
    expect(new Set(Array.from({ length: 50 }, () => secrets.seal('x', place))).size).toBe(50);
  });

  test.each([
    ['another table', { ...place, table: 'others' }],
    ['another row', { ...place, id: 'thing_2' }],
    ['another column', { ...place, field: 'client_secret' }],
  ])('does not open for %s', (_, other) => {
    const secrets = createSecrets(ring(base64()));
    expect(() => secrets.open(secrets.seal('x', place), other)).toThrow(/sealed for another location/);
  });

  test('does not open when a bit of it differs, or some of it is missing', () => {
    const secrets = createSecrets(ring(`a:${base64()}`));
    const bytes = Buffer.from(secrets.seal('secret', place).slice('v1.a.'.length), 'base64url');
    const envelope = (changed: Buffer) => `v1.a.${changed.toString('base64url')}`;
    expect(secrets.open(envelope(bytes), place)).toBe('secret');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      expect(() => secrets.open(envelope(changed), place), `byte ${at}`).toThrow();
      expect(() => secrets.open(envelope(bytes.subarray(0, at)), place), `first ${at}`).toThrow();
    }
    expect(() => secrets.open('v2.a.xx', place)).toThrow(/form/);
    expect(() => secrets.open('', place)).toThrow(/form/);
  });

  test('under a key that is not there, and any secret without a key, is unavailable', () => {
    const sealed = createSecrets(ring(`a:${base64()}`)).seal('x', place);
    for (const attempt of [
      () => createSecrets(ring(`b:${base64()}`)).open(sealed, place),
      () => createSecrets(undefined).open(sealed, place),
      () => createSecrets(undefined).seal('x', place),
    ]) {
      expect(attempt).toThrow(ApiError);
      expect(attempt).toThrow(/encryption key/);
    }
  });
});

describe('a start', () => {
  test('is possible without a key while the database needs none', async () => {
    const db = await openTestDatabase();
    const secrets = await openSecrets(db, undefined);
    expect(() => secrets.seal('x', place)).toThrow(/set ENCRYPTION_KEY/);
  });

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

  test('that was refused leaves nothing behind', async () => {
    const db = await openTestDatabase();
    const a = `a:${base64()}`;
    await openSecrets(db, ring(a));
    await expect(openSecrets(db, ring(`b:${base64()}`))).rejects.toThrow();
    await openSecrets(db, ring(a));
  });

  test('of many at once is possible', async () => {
    const db = await openTestDatabase();
    const keys = ring(base64());
    await Promise.all(Array.from({ length: 8 }, () => openSecrets(db, keys)));
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
