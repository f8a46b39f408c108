/** Secrets that are given as files, in a folder that is swapped as the kubelet does it. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { apiSettings } from '../../src/api/settings.ts';
import { operatorSettings } from '../../src/operator/settings.ts';
import { followSecrets } from '../../src/settings/secret-files.ts';
import { BadSettings, readSettings } from '../../src/settings/settings.ts';
import { tracingSettings } from '../../src/tracing/settings.ts';

const folder = await mkdtemp(join(tmpdir(), 'secret-files-'));
afterAll(() => rm(folder, { recursive: true }));

const schema = z.string().regex(/^[a-z]+$/, 'must be letters');
const table = {
  password: {
    env: 'PASSWORD',
    flag: '--password <text>',
    description: 'a password',
    secret: true,
    followed: true,
    schema,
  },
  seal: { env: 'SEAL', description: 'a key', secret: true, schema: schema.optional() },
  name: { env: 'NAME', description: 'a name', schema: z.string().optional() },
};
const PATH = join(folder, 'mounted/password');
const env = { PASSWORD_FILE: PATH };

let versions = 0;
/** A new folder behind the link `..data`, in one step; the file is a link into it. */
async function mount(text: string | undefined): Promise<void> {
  const at = join(folder, 'mounted');
  const version = join(at, `..${++versions}`);
  await mkdir(version, { recursive: true });
  if (text !== undefined) await writeFile(join(version, 'password'), text);
  await symlink(version, join(at, '..new'));
  await rename(join(at, '..new'), join(at, '..data'));
  await symlink('..data/password', PATH).catch(() => undefined);
}

beforeEach(() => mount('first'));

describe('a secret', () => {
  test.each([
    ['as it is', 'first', 'first'],
    ['without the line break of an editor', 'first\n', 'first'],
    ['without one of Windows', 'first\r\n', 'first'],
  ])('is read from its file %s', async (_, text, value) => {
    await mount(text);
    expect(readSettings(table, {}, env)).toEqual({ password: value, seal: undefined, name: undefined });
  });

  test('given as a flag wins over its file, as it does over its variable', () => {
    expect(readSettings(table, { password: 'flag' }, env).password).toBe('flag');
  });

  test('counts as unset with an empty variable, of either name', () => {
    expect(readSettings(table, {}, { ...env, PASSWORD: '', SEAL_FILE: '' })).toMatchObject({ password: 'first' });
  });

  test.each<[string, string | undefined, Record<string, string>, string]>([
    [
      'given twice',
      'first',
      { ...env, PASSWORD: 'hidden' },
      'PASSWORD and PASSWORD_FILE are both set: unset one of them',
    ],
    ['in no file', undefined, env, `PASSWORD_FILE is ${JSON.stringify(PATH)}, which cannot be read: ENOENT`],
    [
      'in a folder',
      'first',
      { PASSWORD_FILE: folder },
      `PASSWORD_FILE is ${JSON.stringify(folder)}, which cannot be read: EISDIR`,
    ],
    ['in an empty file', '\n', env, `PASSWORD_FILE is ${JSON.stringify(PATH)}, which is empty`],
    ['with two line breaks', 'hidden\n\n', env, 'the content of PASSWORD_FILE must be letters'],
    ['that is wrong', 'hid-den', env, 'the content of PASSWORD_FILE must be letters'],
  ])('%s is refused without being shown', async (_, text, environment, message) => {
    await mount(text);
    expect(() => readSettings(table, {}, environment)).toThrow(new BadSettings(message));
  });

  test('of the programs can be given as a file, each one, and nothing else', () => {
    const all = Object.values({ ...apiSettings, ...operatorSettings, ...tracingSettings });
    const files = all.flatMap((setting) => ('secret' in setting && setting.secret ? setting.env : []));
    expect(files.sort()).toEqual([
      'ACME_EXTERNAL_HMAC_KEY',
      'BOOTSTRAP_API_KEY',
      'DATABASE_URL',
      'ENCRYPTION_KEY',
      'OPERATOR_API_KEY',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'TUNNEL_API_KEY',
    ]);
    expect(readSettings(table, {}, { ...env, NAME_FILE: PATH }).name).toBe(undefined);
  });
});

describe('a file that changes', () => {
  function follow(environment: Record<string, string> = env) {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const said: string[] = [];
    const say = (level: string) => (message: string) => void said.push(`${level}: ${message}`);
    const followed = followSecrets(table, {}, environment, { info: say('info'), warn: say('warn') });
    const password = () => {
      vi.advanceTimersByTime(1_000);
      return followed.password?.();
    };
    return { followed, password, said };
  }

  test('is followed, and read once a second at most', async () => {
    const { followed, password, said } = follow();
    await mount('second');
    expect(followed.password?.()).toBe('first');
    expect([password(), password()]).toEqual(['second', 'second']);
    expect(said).toEqual(['info: PASSWORD_FILE: the file has changed']);
  });

  test('is reported even while nothing asks for the secret', async () => {
    const { said } = follow();
    await mount('second');
    vi.advanceTimersByTime(60_000);
    expect(said).toEqual(['info: PASSWORD_FILE: the file has changed']);
  });

  test('to something that cannot be used leaves the last value in use, which is said once', async () => {
    const { password, said } = follow();
    await mount('');
    expect([password(), password()]).toEqual(['first', 'first']);
    await mount(undefined);
    expect([password(), password()]).toEqual(['first', 'first']);
    await mount('first');
    expect(password()).toBe('first');
    expect(said).toEqual([
      `warn: PASSWORD_FILE is ${JSON.stringify(PATH)}, which is empty; the last value stays in use`,
      `warn: PASSWORD_FILE is ${JSON.stringify(PATH)}, which cannot be read: ENOENT; the last value stays in use`,
    ]);
  });

  test('and takes effect only at a start is reported once', async () => {
    const { followed, said } = follow({ PASSWORD: 'any', SEAL_FILE: PATH });
    expect(Object.keys(followed)).toEqual([]);
    vi.advanceTimersByTime(60_000);
    await mount('second');
    vi.advanceTimersByTime(60_000);
    expect(said).toEqual(['warn: SEAL_FILE: the file has changed; restart to use it']);
  });

  test('is not followed if a flag gives the secret', () => {
    const log = { info: () => {}, warn: () => {} };
    expect(followSecrets(table, { password: 'flag' }, env, log)).toEqual({});
  });
});
