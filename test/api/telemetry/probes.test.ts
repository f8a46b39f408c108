import { expect, test } from 'vitest';
import { startTestApi } from '../harness.ts';

const { anonymous, rows } = await startTestApi();

test('probes need no key', async () => {
  expect(JSON.parse((await anonymous.get('/healthz')).text)).toEqual({ status: 'ok' });
  expect(JSON.parse((await anonymous.get('/readyz')).text)).toEqual({ status: 'ready' });
});

test('the readiness probe fails while a migration of this release is missing', async () => {
  await rows('update schema_migrations set version = 100000 where version = 1');
  expect((await anonymous.get('/readyz')).error).toMatchObject({
    error_code: 'UNAVAILABLE',
    msg: expect.stringContaining('migrations'),
  });
  await rows('update schema_migrations set version = 1 where version = 100000');
  expect((await anonymous.get('/readyz')).status).toBe(200);
});
