import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { apiSettings } from '../../src/api/settings.ts';
import { operatorSettings } from '../../src/operator/settings.ts';
import { flagName, readSettings, type Settings } from '../../src/settings/settings.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const failure = z.object({ code: z.number(), stderr: z.string() });

const folder = await mkdtemp(join(tmpdir(), 'settings-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The message with which the command line refuses settings. */
async function refusal(args: string[], env: Record<string, string> = {}): Promise<string> {
  const environment = { PATH: process.env.PATH, HOME: folder, ...env };
  const run = promisify(execFile)(process.execPath, [MAIN, ...args], { env: environment, timeout: 30_000 });
  const { code, stderr } = failure.parse(await run.catch((error: unknown) => error));
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Invalid settings:\n/);
  expect(stderr).not.toMatch(/^\s+at /m);
  return stderr;
}

function read(settings: Settings, flag: string, value: string): unknown {
  const [name = '', setting] = Object.entries(settings).find((entry) => entry[1].flag?.startsWith(`${flag} `)) ?? [];
  if (setting === undefined) throw new Error(`there is no flag ${flag}`);
  return readSettings({ [name]: setting }, { [flagName(flag)]: value }, {})[name];
}

describe('settings', () => {
  test.each([
    ['--database-statement-timeout', '0s', '100ms to 10m'],
    ['--database-connect-timeout', '5000', '100ms to 10m'],
    ['--request-timeout', '11m', '100ms to 10m'],
    ['--handler-timeout', '-1s', '0s to 10m'],
    ['--max-event-loop-delay', '61s', '0s to 1m'],
  ])('of the API reject %s %s', (flag, value, range) => {
    const message = `${flag} is "${value}", but must be a duration from ${range}, such as 90s or 1h30m`;
    expect(() => read(apiSettings, flag, value)).toThrow(new RegExp(`^${message}$`));
  });

  test.each([
    ['--resync-interval', '0s', '1s to 480h'],
    ['--resync-interval', '481h', '1s to 480h'],
    ['--watch-silence-timeout', '999ms', '1s to 24h'],
    ['--api-timeout', '0s', '100ms to 10m'],
    ['--kube-timeout', 'soon', '100ms to 10m'],
    ['--leader-election-lease-duration', '0s', '1s to 1h'],
    ['--shutdown-timeout', '9999999999999h', '0s to 1h'],
  ])('of the operator reject %s %s', (flag, value, range) => {
    const message = `${flag} is "${value}", but must be a duration from ${range}, such as 90s or 1h30m`;
    expect(() => read(operatorSettings, flag, value)).toThrow(new RegExp(`^${message}$`));
  });

  test.each([
    ['http://api?a=b', 'must have no query and no fragment'],
    ['http://api/#a', 'must have no query and no fragment'],
    ['http://user:hidden@api/', 'must have no user and no password'],
    ['http://hidden@api', 'must have no user and no password'],
    ['http://user:hid@den@api', 'must have no user and no password'],
  ])('of the operator reject --api-url %s', (value, reason) => {
    const said = () => read(operatorSettings, '--api-url', value);
    expect(said).toThrow(reason);
    expect(said).not.toThrow(/hid|den/);
  });

  test('of the operator accept an --api-url with a path', () => {
    expect(read(operatorSettings, '--api-url', 'https://api/a@b/')).toBe('https://api/a@b');
  });

  test('of the operator accept only the id of a user or bot as --accept-new-owner', () => {
    const id = 'bot_01k9zq3v5hf8svx2r4c6y7n0wd';
    expect(read(operatorSettings, '--accept-new-owner', id)).toBe(id);
    expect(() => read(operatorSettings, '--accept-new-owner', 'true')).toThrow(
      /^--accept-new-owner is "true", but must be an id that starts with usr_ or bot_/,
    );
  });

  test.each(['-', 'One', 'one,', 'a b'])('of the operator reject --namespace %s', (value) => {
    expect(() => read(operatorSettings, '--namespace', value)).toThrow(/must be names separated by commas$/);
  });

  test('of the operator accept only a label selector as --shard-selector', () => {
    expect(String(read(operatorSettings, '--shard-selector', 'b=2,a'))).toBe('a,b in (2)');
    expect(() => read(operatorSettings, '--shard-selector', 'a=(')).toThrow(
      /must be a label selector, such as shard=a/,
    );
  });

  test('have defaults within their bounds', () => {
    const { resyncMs, leaseMs, port } = readSettings(
      operatorSettings,
      { apiUrl: 'http://api' },
      { TUNNEL_API_KEY: 'k' },
    );
    expect([resyncMs, leaseMs, port]).toEqual([300_000, 15_000, 8081]);
  });
});

describe('the command line', () => {
  test('migrates only PostgreSQL', async () => {
    const said = await refusal(['migrate', '--database-url', 'foo://name:hidden@host/db']);
    expect(said).toMatch(/--database-url must be a postgres:\/\/ URL/);
    expect(said).not.toMatch(/hidden/);
  });

  const operator = ['operator', '--api-url', 'http://127.0.0.1:1'];
  const key = { TUNNEL_API_KEY: 'some-key' };

  test.each([['export']])('names an API key that no request can carry, without showing it: %s', async (...command) => {
    const said = await refusal([...command, '--api-url', 'http://127.0.0.1:1'], { TUNNEL_API_KEY: 'hidden\n' });
    expect(said).toMatch(/TUNNEL_API_KEY must be printable ASCII characters: no spaces, and no line break at the end/);
    expect(said).not.toContain('hidden');
  });

  test('names a kubeconfig that does not exist', async () => {
    const said = await refusal([...operator, '--kubeconfig', join(folder, 'nowhere')], key);
    expect(said).toMatch(/--kubeconfig or KUBECONFIG is ".*nowhere", which cannot be loaded: ENOENT/);
  });

  test.each([
    ['is not YAML', 'users: [{ token: hidden\n', 'cannot be loaded'],
    ['has no cluster', 'apiVersion: v1\nkind: Config\n', 'has no current context with a cluster'],
  ])('names a kubeconfig that %s, without showing its content', async (_, content, reason) => {
    const file = join(folder, 'kubeconfig');
    await writeFile(file, content);
    const said = await refusal(operator, { ...key, KUBECONFIG: file });
    expect(said).toContain(`--kubeconfig or KUBECONFIG is ${JSON.stringify(file)}, which ${reason}`);
    expect(said.trim().split('\n')).toHaveLength(2);
    expect(said).not.toContain('hidden');
  });
});

describe('the output of a command', () => {
  test('may be closed early: the command exits as if by SIGPIPE, without an error message', async () => {
    const child = spawn(process.execPath, [MAIN, 'crds'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect({ said, code }).toEqual({ said: '', code: 141 });
  });
});
