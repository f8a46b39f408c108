/** The encryption key as an administrator meets it: at start, beside the data, at a rotation. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { keyring } from '../../../src/api/secrets/keyring.ts';
import { startApi } from '../../../src/api/server.ts';
import type { ApiConfig } from '../../../src/api/settings.ts';
import { createClient } from '../../../src/client/client.ts';
import { ApiError } from '../../../src/client/errors.ts';
import { atEnd } from '../../end-of-file.ts';
import { createTestDatabase } from '../../harness.ts';
import { withClient } from '../store/schema/recorded-rows.ts';

const KEY = 'tnl_ak_given_0123456789012345678901234';
const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;

/** Starts the API; takes the encryption key as text. */
async function start({
  encryptionKey,
  ...config
}: Partial<Omit<ApiConfig, 'encryptionKey'>> & { encryptionKey?: string }) {
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const api = await startApi(
    { port: 0, bootstrapApiKey: KEY, encryptionKey: keyring.optional().parse(encryptionKey), ...config },
    logger,
  );
  atEnd(api.stop);
  const client = createClient({ baseUrl: api.url, apiKey: KEY, retries: 0 });
  atEnd(() => client.close());
  return { ...api, client, logs };
}

/** Creates an authority if there is none, which seals its key, and signs a certificate, which opens it. */
async function sign({ client }: Awaited<ReturnType<typeof start>>) {
  const { items } = await client.sshCertificateAuthorities.page();
  const authority = items[0] ?? (await client.sshCertificateAuthorities.create({}));
  const body = { ssh_certificate_authority_id: authority.id, public_key: authority.public_key };
  return client.sshHostCertificates.create(body);
}

function rotate(databaseUrl: string, encryptionKey: string) {
  const main = join(import.meta.dirname, '../../../src/main.ts');
  const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl, ENCRYPTION_KEY: encryptionKey };
  return new Promise<{ code: number; out: string; err: string }>((resolve) => {
    execFile(process.execPath, [main, 'rotate-encryption'], { env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    );
  });
}

/** Stores a header as earlier releases did. */
const storePlain = (databaseUrl: string) =>
  withClient(databaseUrl, async (client) => {
    await client.query('delete from http_response_backends');
    await client.query(
      `insert into http_response_backends (id, body, headers, status_code, created_at, updated_at)
       values ('bkdhr_01k9zq3v5hf8svx2r4c6y7n0wd', '', '{"authorization": "Basic Og=="}', 200, now(), now())`,
    );
  });

const headersIn = (databaseUrl: string) =>
  withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ headers: unknown }>('select headers from http_response_backends');
    return rows.map(({ headers }) => headers);
  });

describe('with a database of its own', () => {
  test('ENCRYPTION_KEY can be rotated, and a start without a needed key is refused', async () => {
    const databaseUrl = await createTestDatabase();
    const [a, b] = [newKey('a'), newKey('b')];
    const first = await start({ databaseUrl, encryptionKey: a });
    await sign(first);
    await first.stop();

    await expect(start({ databaseUrl })).rejects.toThrow(/ENCRYPTION_KEY lacks the key "a"/);
    await expect(start({ databaseUrl, encryptionKey: b })).rejects.toThrow(/ENCRYPTION_KEY lacks the key "a"/);
    const second = await start({ databaseUrl, encryptionKey: `${b},${a}` });
    await sign(second);
    await second.stop();

    await storePlain(databaseUrl);
    const rotated = await rotate(databaseUrl, `${b},${a}`);
    expect(rotated).toMatchObject({ code: 0, err: '' });
    expect(rotated.out).toContain('1 plain secrets of an earlier release: encrypted with "b"');
    expect(rotated.out).toContain('ssh_certificate_authorities: 1 re-encrypted with "b"');
    await storePlain(databaseUrl);
    const third = await start({ databaseUrl, encryptionKey: b });
    await vi.waitFor(async () => expect(await headersIn(databaseUrl)).toEqual([{ authorization: '…' }]));
    const { items } = await third.client.httpResponseBackends.page();
    expect(items.map(({ headers }) => headers)).toEqual([{ authorization: 'Basic Og==' }]);
    await sign(third);

    for (const wrong of [a]) {
      const { code, err } = await rotate(databaseUrl, wrong);
      expect(code).toBe(1);
      expect(err).toMatch(/ENCRYPTION_KEY/);
      for (const secret of [a, b]) expect(err).not.toContain(secret.slice(2));
    }
  });

  test('without ENCRYPTION_KEY the log says so, and only resources with a secret fail', async () => {
    const api = await start({ databaseUrl: await createTestDatabase() });
    expect(api.logs.join()).toMatch(/ENCRYPTION_KEY is not set/);
    await api.client.ipPolicies.create({});
    await expect(sign(api)).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /ENCRYPTION_KEY/ });
    await expect(sign(api)).rejects.toBeInstanceOf(ApiError);
  });
});

describe('with the embedded database', () => {
  test('a key is created beside the data, used again, and required', async () => {
    const root = await mkdtemp(join(tmpdir(), 'encryption-'));
    // When run as root, PostgreSQL runs as another user, who needs access.
    await chmod(root, 0o755);
    const dataDir = join(root, 'data', 'postgres');
    atEnd(() => rm(root, { recursive: true, force: true }));
    const file = `${dataDir}.encryption-key`;

    const first = await start({ dataDir });
    expect(first.logs.join()).not.toMatch(/ENCRYPTION_KEY is not set/);
    await sign(first);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const postmaster = join(dataDir, 'postmaster.pid');
    expect((await stat(postmaster)).isFile()).toBe(true);
    await first.stop();
    await expect(stat(postmaster)).rejects.toThrow('ENOENT');
    const second = await start({ dataDir });
    await sign(second);
    await second.stop();

    await rename(file, `${file}.away`);
    await expect(start({ dataDir })).rejects.toThrow(/postgres\.encryption-key lacks the key "k/);
    await rename(`${file}.away`, file);
    await sign(await start({ dataDir }));
  });
});
