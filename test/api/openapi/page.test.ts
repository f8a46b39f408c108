import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import Fastify from 'fastify';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { addDocs } from '../../../src/api/openapi/page.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

async function serve(document: Record<string, unknown>) {
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  const unused = () => Promise.reject(new Error('not for strangers'));
  const limiter = { countStranger: async () => undefined, authenticate: unused, count: unused, countUnrouted: unused };
  await addDocs(app, document, limiter);
  await app.ready();
  return app;
}

test('the document is serialised in advance, not for each request', async () => {
  const made = vi.fn(() => ({ title: 'x' }));
  const app = await serve({ info: { title: 'x', toJSON: made } });
  const before = made.mock.calls.length;
  for (const path of ['/openapi.json', '/docs/json', '/openapi.json', '/docs/json']) {
    expect((await app.inject(path)).json()).toEqual({ info: { title: 'x' } });
  }
  expect(before).toBeGreaterThan(0);
  expect(made).toHaveBeenCalledTimes(before);
});

test('a file of the reference is read once, and again only after a failed read', async () => {
  const app = await serve({ info: { title: 'x' } });
  const read = vi.spyOn(files, 'readFile').mockRejectedValueOnce(new Error('EMFILE'));
  syncBuiltinESMExports();
  const statuses: number[] = [];
  for (let n = 0; n < 4; n++) statuses.push((await app.inject('/docs/static/index.css')).statusCode);
  expect(statuses).toEqual([500, 200, 200, 200]);
  expect(read).toHaveBeenCalledTimes(2);
});

test.each(['/docs', '/docs/', '/docs/static/swagger-ui.css', '/docs/static/nothing', '/docs/json', '/openapi.json'])(
  '%s runs nothing of others, and no other page can frame it',
  async (path) => {
    const app = await serve({ info: { title: 'x' } });
    const { headers } = await app.inject(path);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' });
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]),
    );
  },
);
