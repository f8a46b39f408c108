import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import Fastify from 'fastify';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { addDocs } from '../../../src/api/openapi/page.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test('a file of the reference is read once, and once more if there was no descriptor', async () => {
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  const unused = () => Promise.reject(new Error('not for strangers'));
  const limiter = { countStranger: async () => undefined, authenticate: unused, count: unused, countUnrouted: unused };
  await addDocs(app, { info: { title: 'x' } }, limiter);
  await app.ready();
  const read = vi.spyOn(files, 'readFile').mockRejectedValueOnce(new Error('EMFILE'));
  syncBuiltinESMExports();
  const statuses: number[] = [];
  for (let n = 0; n < 4; n++) statuses.push((await app.inject('/docs/static/index.css')).statusCode);
  expect(statuses).toEqual([500, 200, 200, 200]);
  expect(read).toHaveBeenCalledTimes(2);
});
