import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../dev/processes/wait.ts';
import { freePort } from '../src/postgres/ports.ts';
import { createTestDatabase } from './harness.ts';

const SECRETS = {
  BOOTSTRAP_API_KEY: 'tnl_ak_given_0123456789012345678901234',
  ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
};

function run(statements: string, format: string, redirected = '') {
  const log = new URL('../src/log.ts', import.meta.url).href;
  const program = `
    import { createLogger } from ${JSON.stringify(log)};
    const log = createLogger({ level: 'info', format: '${format}' });
    ${statements}`;
  const words = ['-c', `exec "$@" ${redirected}`, 'sh', process.execPath, '--input-type=module', '--eval', program];
  return spawnSync('/bin/sh', words, { encoding: 'utf8', timeout: 30_000 });
}

/** The standard output of a program that logs these statements. */
function logged(statements: string, format = 'json', quiet = true): string {
  const { stdout, stderr } = run(statements, format);
  if (quiet) expect(stderr).toBe('');
  return stdout;
}

const lineOf = (statements: string): Record<string, unknown> => JSON.parse(logged(statements));

describe('the log', () => {
  test('shows no value with a secret name, at any depth and of any type', () => {
    const line = lineOf(`log.info({
      token_id: 'i', note: '"token":"x"', token: 'tnl_cr_a', request: { headers: { Authorization: 'Bearer b', 'idempotency-key': 'c', host: 'd' } },
      list: [{ in: { very: { deep: { client_secret: 'e', apiKey: { of: 'f' }, password: ['g'] } } } }],
    }, 'seen')`);
    expect(line).toMatchObject({
      level: 30,
      msg: 'seen',
      token_id: 'i',
      note: '"token":"x"',
      token: '[redacted]',
      request: { headers: { Authorization: '[redacted]', 'idempotency-key': '[redacted]', host: 'd' } },
      list: [{ in: { very: { deep: { client_secret: '[redacted]', apiKey: '[redacted]', password: '[redacted]' } } } }],
    });
  });

  test('shows no such value of a child logger or of an error', () => {
    const error = "Object.assign(new Error('failed'), { code: 'E1', secret: 's' })";
    const line = lineOf(`log.child({ api_key: 'k' }).error({ err: ${error} }, 'a "token": in words')`);
    expect(line).toMatchObject({
      api_key: '[redacted]',
      err: { message: 'failed', code: 'E1', secret: '[redacted]' },
      msg: 'a "token": in words',
    });
  });

  test('shows what an error says, but not the objects attached to it', () => {
    const refused = (host: string) =>
      `Object.assign(new Error('refused by ${host}'), { client: { url: 'postgres://u:pw@h' } })`;
    const several = `new AggregateError([${refused('a')}, ${refused('b')}], 'nobody answers')`;
    const text = logged(`log.child({}).warn({ err: Object.assign(${several}, { client: [{ url: 'pw' }] }) }, 'lost')`);
    expect(JSON.parse(text).err).toEqual({
      type: 'AggregateError',
      message: 'nobody answers',
      stack: expect.stringContaining('nobody answers'),
      aggregateErrors: ['a', 'b'].map((host) => ({
        type: 'Error',
        message: `refused by ${host}`,
        stack: expect.stringContaining(host),
      })),
    });
  });

  test('shows no secret on a terminal either', () => {
    const text = logged(`log.info({ at: { token: 'hidden' }, name: 'shown' }, 'seen')`, 'pretty');
    expect(text).toContain('seen');
    expect(text).toContain('shown');
    expect(text).toContain('[redacted]');
    expect(text).not.toContain('hidden');
  });

  test.each([
    ['that ends by itself', ''],
    ['that calls process.exit', 'process.exit(3);'],
    ['that an error ends', "throw new Error('unexpected');"],
    ['that an error in another turn ends', "setImmediate(() => { throw new Error('unexpected'); });"],
  ])('has all lines of a program %s', (_, end) => {
    const lines = logged(`for (let n = 0; n < 5000; n++) log.info({ n }, 'a line'); ${end}`, 'json', false).split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map((line) => JSON.parse(line).n)).toEqual(Array.from({ length: 5000 }, (__, n) => n));
  });
});

test.runIf(existsSync('/dev/full'))(
  'the API keeps running while its log cannot be written, and stops when told to',
  async () => {
    const port = await freePort();
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [fileURLToPath(new URL('../src/main.ts', import.meta.url)), 'api'], {
      env: { PATH: process.env.PATH, DATABASE_URL: await createTestDatabase(), PORT: String(port), ...SECRETS },
      stdio: ['ignore', full, 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    closeSync(full);
    const ready = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await waitFor('the API', ready);
    expect(await ready()).toBe(true);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  },
);
