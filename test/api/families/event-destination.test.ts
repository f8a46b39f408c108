import { expect, test } from 'vitest';
import { eventDestination } from '../../../src/resources/event-destination.ts';
import { startTestApi } from '../harness.ts';

const { admin } = await startTestApi();
const PATH = '/event_destinations';
const target = { webhook: { url: 'https://hooks.example.com/tunnels?key=1' } };

test('a replay shows the signing secret', async () => {
  const headers = { 'idempotency-key': 'destination' };
  const first = await admin.post(PATH, { target }, headers);
  expect(first.as(eventDestination.view).signing_secret).toMatch(/^whsec_/);
  const again = await admin.post(PATH, { target }, headers);
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect(again.text).toBe(first.text);
});

test.each([
  ['/target', { target: 'https://hooks.example.com' }],
  ['/target', { target: {} }],
  ['/target/email', { target: { ...target, email: 'a@example.com' } }],
  ['/target/webhook/url', { target: { webhook: {} } }],
  ['/target/webhook/url', { target: { webhook: { url: 'https://user:secret@hooks.example.com' } } }],
  ['/signing_secret', { signing_secret: `whsec_${Buffer.alloc(65).toString('base64')}` }],
  ['/signing_secret', { signing_secret: `whsec_${'A'.repeat(43)}` }],
  ['/signing_secret', { signing_secret: Buffer.alloc(32).toString('base64') }],
])('a wrong %s is refused by name: %o', async (pointer, wrong) => {
  const { error } = await admin.post(PATH, { target, ...wrong });
  expect(error.error_code).toBe('INVALID_REQUEST');
  expect(error.details).toHaveProperty([pointer]);
});

test('a URL that the settings no longer allow can stay, but not be set anew', async () => {
  const open = await startTestApi({
    platform: { eventHttpHosts: ['broker.internal'], eventAllowNetworks: ['10.0.0.0/8'] },
  });
  const created = await Promise.all(
    ['http://broker.internal/a', 'https://10.0.0.1/a'].map((url) =>
      open.admin.post(PATH, { target: { webhook: { url } } }),
    ),
  );
  const strict = await startTestApi({ databaseUrl: open.databaseUrl });
  for (const { id, target: stored } of created.map((reply) => reply.as(eventDestination.view))) {
    const path = `${PATH}/${id}`;
    expect((await strict.admin.patch(path, { description: 'x', target: stored })).status).toBe(200);
    const other = { webhook: { url: `${stored.webhook?.url}/b` } };
    const { error } = await strict.admin.patch(path, { target: other });
    expect(error.details).toMatchObject({
      '/target/webhook/url': expect.stringMatching(/EVENT_(HTTP_HOSTS|ALLOW_NETWORKS)/),
    });
  }
});
