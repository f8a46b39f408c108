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
  ['/target/webhook', { target: {} }],
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
