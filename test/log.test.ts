import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';

/** What a program that logs this way prints; the logger writes to its standard output. */
function logged(statements: string, format: 'json' | 'pretty' = 'json', quiet = true): string {
  const log = new URL('../src/log.ts', import.meta.url).href;
  const program = `
    import { createLogger } from ${JSON.stringify(log)};
    const log = createLogger({ level: 'info', format: '${format}' });
    ${statements}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  if (quiet) expect(stderr).toBe('');
  return stdout;
}

const lineOf = (statements: string): Record<string, unknown> => JSON.parse(logged(statements));

describe('the log', () => {
  test('shows no value of a secret name, however deep and whatever it is', () => {
    const line = lineOf(`log.info({
      token: 'tnl_cr_a', request: { headers: { Authorization: 'Bearer b', 'idempotency-key': 'c', host: 'd' } },
      list: [{ in: { very: { deep: { client_secret: 'e', apiKey: { of: 'f' }, password: ['g'] } } } }],
    }, 'seen')`);
    expect(line).toMatchObject({
      level: 30,
      msg: 'seen',
      token: '[redacted]',
      request: { headers: { Authorization: '[redacted]', 'idempotency-key': '[redacted]', host: 'd' } },
      list: [{ in: { very: { deep: { client_secret: '[redacted]', apiKey: '[redacted]', password: '[redacted]' } } } }],
    });
  });

  test('nor one that a child logger was given, or that hangs on an error', () => {
    const error = "Object.assign(new Error('failed'), { config: { secret: 's' } })";
    const line = lineOf(`log.child({ api_key: 'k' }).error({ err: ${error} }, 'a "token": in words')`);
    expect(line).toMatchObject({
      api_key: '[redacted]',
      err: { message: 'failed', config: { secret: '[redacted]' } },
      msg: 'a "token": in words',
    });
  });

  test('keeps what only looks like one', () => {
    const line = lineOf(`log.info({ token_id: 'i', note: '"token":"x"', token: null }, 'token: none')`);
    expect(line).toMatchObject({ token_id: 'i', note: '"token":"x"', token: null, msg: 'token: none' });
  });

  test('shows none on a terminal either', () => {
    const text = logged(`log.info({ at: { token: 'hidden' }, name: 'shown' }, 'seen')`, 'pretty');
    expect(text).toContain('seen');
    expect(text).toContain('shown');
    expect(text).toContain('[redacted]');
    expect(text).not.toContain('hidden');
  });

  test.each([
    ['that ends by itself', ''],
    ['that is told to end', 'process.exit(3);'],
    ['that an error ends', "throw new Error('unexpected');"],
    ['that an error in another turn ends', "setImmediate(() => { throw new Error('unexpected'); });"],
  ])('has all lines of a program %s', (_, end) => {
    const lines = logged(`for (let n = 0; n < 5000; n++) log.info({ n }, 'a line'); ${end}`, 'json', false).split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map((line) => JSON.parse(line).n)).toEqual(Array.from({ length: 5000 }, (__, n) => n));
  });
});
