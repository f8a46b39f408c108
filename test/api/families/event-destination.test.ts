import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventDestination } from '../../../src/resources/event-destination.ts';
import { BASE, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const PATH = '/event_destinations';
const target = { webhook: { url: 'https://hooks.example.com/tunnels?key=1' } };

const create = async (body: object = {}) => (await admin.post(PATH, { target, ...body })).as(eventDestination.view);

describe('an event destination', () => {
  test('is created, shown, listed, changed and deleted', async () => {
    const sent = { description: 'd', metadata: 'm', format: 'json', target };
    const created = await create(sent);
    const { id, uri, created_at, signing_secret } = created;
    expect(created).toEqual({ ...sent, id, uri, created_at, signing_secret });
    expect(id).toMatch(/^ed_/);
    expect(uri).toBe(`${BASE}${PATH}/${id}`);
    const shown = { ...created, signing_secret: null };
    expect((await admin.get(`${PATH}/${id}`)).as(eventDestination.view)).toEqual(shown);
    const list = z.object({ event_destinations: z.array(eventDestination.view) });
    expect((await admin.get(PATH)).as(list).event_destinations).toContainEqual(shown);
    const moved = { webhook: { url: 'https://other.example.com/' } };
    const changed = (await admin.patch(`${PATH}/${id}`, { target: moved })).as(eventDestination.view);
    expect(changed).toEqual({ ...shown, target: moved });
    expect((await admin.delete(`${PATH}/${id}`)).status).toBe(204);
    expect((await admin.get(`${PATH}/${id}`)).status).toBe(404);
  });

  test('gets a signing secret, shown once and kept sealed', async () => {
    const { id, signing_secret } = await create();
    expect(signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const [row] = await api.rows('select sealed_signing_secret as sealed from event_destinations where id = $1', [id]);
    expect(row?.sealed).toMatch(/^v1\.tests\./);
    const everything = await api.rows(
      'select t::text as line from event_destinations t union all select e::text from events e',
    );
    for (const { line } of everything) expect(line).not.toContain(signing_secret ?? '');
    expect(api.logs.join('\n')).not.toContain(signing_secret ?? '');
  });

  test('takes a signing secret, and replays show it', async () => {
    const signing_secret = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
    const headers = { 'idempotency-key': 'destination' };
    const body = { target, signing_secret };
    const first = (await admin.post(PATH, body, headers)).as(eventDestination.view);
    expect(first.signing_secret).toBe(signing_secret);
    const again = await admin.post(PATH, body, headers);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.as(eventDestination.view)).toEqual(first);
  });

  test.each([
    ['/target', { target: undefined }],
    ['/target', { target: 'https://hooks.example.com' }],
    ['/target/webhook', { target: {} }],
    ['/target/email', { target: { ...target, email: 'a@example.com' } }],
    ['/target/webhook/url', { target: { webhook: {} } }],
    ['/target/webhook/url', { target: { webhook: { url: 'http://hooks.example.com' } } }],
    ['/target/webhook/url', { target: { webhook: { url: 'https://user:secret@hooks.example.com' } } }],
    ['/target/webhook/url', { target: { webhook: { url: 'https://hooks.example.com/#part' } } }],
    ['/target/webhook/url', { target: { webhook: { url: 'https://hooks.example.com/a b' } } }],
    ['/target/webhook/url', { target: { webhook: { url: `https://hooks.example.com/${'x'.repeat(2048)}` } } }],
    ['/target/webhook/url', { target: { webhook: { url: 'hooks.example.com' } } }],
    ['/target/webhook/url', { target: { webhook: { url: 'https:hooks.example.com' } } }],
    ['/target/webhook/url', { target: { webhook: { url: 'https://hooks.example.com\\@evil.example' } } }],
    ['/target/webhook/url', { target: { webhook: { url: 'https://hooks.example.com/é' } } }],
    ['/target/webhook/url', { target: { webhook: { url: 'https://bücher.example/' } } }],
    ['/target/webhook/url', { target: { webhook: { url: 'https://hooks.example.com/%zz' } } }],
    ['/format', { format: 'xml' }],
    ['/signing_secret', { signing_secret: 'whsec_short' }],
    ['/signing_secret', { signing_secret: Buffer.alloc(32).toString('base64') }],
    ['/signing_secret', { signing_secret: 7 }],
    ['/description', { description: 'é'.repeat(128) }],
    ['/metadata', { metadata: 'x'.repeat(4097) }],
  ])('a wrong %s is refused by name: %o', async (pointer, wrong) => {
    const { error } = await admin.post(PATH, { target, ...wrong });
    expect(error.error_code).toBe('INVALID_REQUEST');
    expect(error.details).toHaveProperty([pointer]);
  });

  test('keeps its signing secret for life', async () => {
    const { id } = await create();
    const { error } = await admin.patch(`${PATH}/${id}`, { signing_secret: `whsec_${'A'.repeat(32)}` });
    expect(error.details['/signing_secret']).toBe('cannot be changed');
  });
});
