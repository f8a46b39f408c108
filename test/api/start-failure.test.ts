/** Starts that cannot succeed, as the user sees them: one line that names the setting. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../src/postgres/ports.ts';
import { atEnd } from '../end-of-file.ts';
import { createTestDatabase } from '../harness.ts';
import { breakableWayTo } from './breakable-way.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

const folder = await mkdtemp(join(tmpdir(), 'start-failure-'));
atEnd(() => rm(folder, { recursive: true, force: true }));
let taken: number;
let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = await createTestDatabase();
  taken = await freePort();
  const server = createServer().listen(taken, '127.0.0.1');
  atEnd(() => new Promise((closed) => server.close(closed)));
});

interface Outcome {
  code: number;
  out: string;
  err: string;
}

/** Runs a program that is expected to end by itself, or, at the latest, when `until` is true of its output. */
function run(args: string[], env: Record<string, string>, until?: RegExp, { redirected = '' } = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    const words = ['-c', `exec "$0" "$@" ${redirected}`, process.execPath, MAIN, ...args];
    const options = { env: { PATH: process.env.PATH, LOG_FORMAT: 'json', ...env }, cwd: folder };
    const child = execFile('/bin/sh', words, options, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    );
    let seen = '';
    const look = (part: unknown) => {
      seen += String(part);
      // Once: a second signal would end it at once, with code 1.
      if (!child.killed && until?.test(seen)) child.kill('SIGTERM');
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    atEnd(async () => void child.kill('SIGKILL'));
  });
}

const at = (change: (url: URL) => void) => () => {
  const url = new URL(databaseUrl);
  change(url);
  return { DATABASE_URL: url.href };
};

const withDatabase = (env: Record<string, string>) => () => ({ DATABASE_URL: databaseUrl, ...env });

describe('is told in one line:', () => {
  test.each<[string, string[], () => Record<string, string>, RegExp]>([
    [
      'a port in use',
      ['api'],
      () => withDatabase({ PORT: String(taken) })(),
      /^PORT: port \d+ of 127\.0\.0\.1 is in use/,
    ],
    [
      'a port for the metrics in use',
      ['api'],
      () => withDatabase({ PORT: '0', METRICS_PORT: String(taken) })(),
      /^METRICS_PORT: port \d+ of 127\.0\.0\.1 is in use/,
    ],
    [
      'an address of another machine',
      ['api'],
      withDatabase({ HOST: '192.0.2.1', PORT: '0' }),
      /^HOST: "192\.0\.2\.1" is not/,
    ],
    [
      'a name that is none',
      ['api'],
      withDatabase({ HOST: 'no.such.invalid', PORT: '0' }),
      /^HOST: "no\.such\.invalid" is not/,
    ],
    [
      'a database that is not there',
      ['api'],
      at((url) => {
        url.port = '1';
      }),
      /^DATABASE_URL: .*:1\/.*ECONNREFUSED/,
    ],
    [
      'a certificate of the database that is not there',
      ['rotate-encryption'],
      () => ({
        DATABASE_URL: `${databaseUrl}?sslrootcert=/nowhere.pem`,
        ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
      }),
      /^DATABASE_URL: .*ENOENT.*nowhere\.pem/,
    ],
    [
      'a host that is not there',
      ['api'],
      at((url) => {
        url.hostname = 'no.such.invalid';
      }),
      /^DATABASE_URL: .*(ENOTFOUND|EAI_AGAIN)/,
    ],
    [
      'a wrong password',
      ['api'],
      at((url) => {
        url.password = 'not-this-one';
      }),
      /^DATABASE_URL: .*password authentication failed/,
    ],
    [
      'no such database',
      ['api'],
      at((url) => {
        url.pathname = '/nothing_here';
      }),
      /^DATABASE_URL: .*does not exist/,
    ],
    [
      'no such database to migrate',
      ['migrate'],
      at((url) => {
        url.pathname = '/nothing_here';
      }),
      /^DATABASE_URL: .*does not exist/,
    ],
    [
      'a data directory that cannot be',
      ['api'],
      () => ({ DATA_DIR: join(folder, 'file/data') }),
      /^DATA_DIR: .*(ENOTDIR|EEXIST)/,
    ],
  ])('%s', async (_, args, env, line) => {
    await writeFile(join(folder, 'file'), '');
    const { code, err } = await run(args, env());
    expect(code).toBe(1);
    expect(err).toMatch(/^tunnel-operator failed: [^\n]*\n$/);
    expect(err.replace('tunnel-operator failed: ', '')).toMatch(line);
    expect(err).not.toContain(new URL(databaseUrl).password);
    expect(err).not.toContain('not-this-one');
  });

  test('a port of the operator in use', async () => {
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(
      kubeconfig,
      JSON.stringify({
        clusters: [{ name: 'x', cluster: { server: 'http://127.0.0.1:1' } }],
        users: [{ name: 'x', user: { token: 'x' } }],
        contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
        'current-context': 'x',
      }),
    );
    const { code, err } = await run(['operator'], {
      KUBECONFIG: kubeconfig,
      TUNNEL_API_URL: 'http://127.0.0.1:1',
      TUNNEL_API_KEY: 'tnl_ak_given_0123456789012345678901234',
      METRICS_HOST: '127.0.0.1',
      METRICS_PORT: String(taken),
    });
    expect(code).toBe(1);
    expect(err).toMatch(/^tunnel-operator failed: METRICS_PORT: port \d+ of 127\.0\.0\.1 is in use[^\n]*\n$/);
  });

  test.each(['api', 'migrate', 'rotate-encryption'])('%s: several hosts in DATABASE_URL', async (name) => {
    const key = Buffer.alloc(32).toString('base64');
    const { code, err } = await run([name], { DATABASE_URL: 'postgres://u@one,two/db', ENCRYPTION_KEY: key });
    expect(code).toBe(1);
    expect(err).toMatch(/^Invalid settings:\n {2}DATABASE_URL must name one host: .*\n$/);
  });

  test('a delay that leaves no time for the rest of the stop', async () => {
    const { code, err } = await run(['api'], { DATABASE_URL: databaseUrl, SHUTDOWN_DELAY: '23s' });
    expect(code).toBe(1);
    expect(err).toBe('Invalid settings:\n  SHUTDOWN_DELAY must be shorter than SHUTDOWN_TIMEOUT, by 3s\n');
  });
});

test('the first key is not lost with a start that fails after it: the next one prints it', {
  timeout: 60_000,
}, async () => {
  const fresh = await createTestDatabase();
  const failed = await run(['api'], { DATABASE_URL: fresh, PORT: String(taken) });
  expect(failed.err).toMatch(/PORT: port/);
  const { code, err } = await run(['api'], { DATABASE_URL: fresh, PORT: '0' }, /is ready/);
  expect(code).toBe(0);
  expect(err).toMatch(/\n {2}tnl_ak_\w{43}\n/);
  // And only this one.
  expect((await run(['api'], { DATABASE_URL: fresh, PORT: '0' }, /is ready/)).err).not.toContain('tnl_ak_');
});

test('a key that could not be shown does not exist', async () => {
  const fresh = await createTestDatabase();
  const { startApi } = await import('../../src/api/server.ts');
  const failed = startApi({ databaseUrl: fresh, port: 0 }, undefined, () => {
    throw new Error('standard error is closed');
  });
  await expect(failed).rejects.toThrow('standard error is closed');
  const { err } = await run(['api'], { DATABASE_URL: fresh, PORT: '0' }, /is ready/);
  expect(err).toMatch(/\n {2}tnl_ak_\w{43}\n/);
});

test.runIf(existsSync('/dev/full'))('no first key is made that standard error does not take', async () => {
  const fresh = await createTestDatabase();
  const settings = { DATABASE_URL: fresh, PORT: '0' };
  const failed = await run(['api'], settings, /is ready/, { redirected: '2>/dev/full' });
  expect(failed.code).toBe(1);
  expect(failed.out).toMatch(/"level":50,.*ENOSPC.*BOOTSTRAP_API_KEY/);
  const { err } = await run(['api'], settings, /is ready/);
  expect(err).toMatch(/\n {2}tnl_ak_\w{43}\n/);
});

test('a database that goes away in the middle of a start is told in one line, too', async () => {
  // Through the first one it is migrated.
  const DATABASE_URL = await breakableWayTo(databaseUrl, (count) => count > 1);
  const { code, err } = await run(['api'], { DATABASE_URL, PORT: '0' });
  expect(err).toMatch(/^tunnel-operator failed: DATABASE_URL: cannot use the database at [^\n]*ECONNRESET[^\n]*\n$/);
  expect(code).toBe(1);
});

describe('migrate', () => {
  test('waits for a database that is not there yet', async () => {
    let refused = 0;
    // An empty one: other tests have migrated theirs. Like a Service whose Pod is starting, it leads nowhere at first.
    const DATABASE_URL = await breakableWayTo(await createTestDatabase(), (count) => {
      refused = count;
      return count <= 2;
    });
    const { code, out, err } = await run(['migrate', '--wait', '30s'], { DATABASE_URL });
    expect(err).toMatch(/^tunnel-operator failed: DATABASE_URL: .*ECONNRESET.*; trying again\n$/);
    expect(out).toContain('applied 0001');
    expect({ code, refused }).toEqual({ code: 0, refused: 3 });
  });

  test('does not wait for what will not come by itself, such as another password', async () => {
    const wrong = at((url) => {
      url.password = 'not-this-one';
    });
    const { code, err } = await run(['migrate', '--wait', '30s'], wrong());
    expect(code).toBe(1);
    expect(err).not.toContain('trying again');
  });

  // As process 1 of a container it would not be ended by the signal itself.
  test('listens to the signal that ends a container', async () => {
    const nowhere = at((url) => {
      url.port = '1';
    });
    const { code } = await run(['migrate', '--wait', '1h'], nowhere(), /trying again/);
    expect(code).toBe(143);
  });
});
