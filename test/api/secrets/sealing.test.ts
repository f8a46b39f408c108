import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { credential } from '../../../src/resources/credential.ts';
import { dumpOf } from '../dump.ts';
import { ADMIN_KEY, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin, anonymous } = api;

/** Everything secret that the calls below have used or been given. */
const secrets = new Set([ADMIN_KEY]);
/** All responses of the API, except those that must show a token. */
const answers: string[] = [];

const withToken = z.object({ id: z.string(), token: z.string() });

async function useEverything(): Promise<void> {
  const bot = await api.newBot();
  secrets.add(bot.key);
  const idempotency = { 'idempotency-key': 'idempotency-secret-77c1' };
  secrets.add(idempotency['idempotency-key']);
  const cred = (await bot.post('/credentials', { acl: ['bind:a.example'] }, idempotency)).as(withToken);
  await bot.post('/credentials', { acl: ['bind:a.example'] }, idempotency);
  const key = (await admin.post('/api_keys', { owner_id: bot.id }, { 'idempotency-key': 'another-secret-8d' })).as(
    withToken,
  );
  secrets.add('another-secret-8d').add(cred.token).add(key.token);

  const { token } = cred;
  const keep = async (reply: Promise<{ text: string }>) => void answers.push((await reply).text);
  await keep(bot.get('/credentials'));
  await keep(bot.get(`/credentials/${cred.id}`));
  await keep(bot.patch(`/credentials/${cred.id}`, { description: 'x' }));
  await keep(admin.get('/api_keys'));
  await keep(admin.post('/credentials/authenticate', { token, bind: 'a.example' }));
  await keep(admin.post('/credentials/authenticate', { token, bind: 'not valid', unknown: token }));
  await keep(admin.post('/credentials/authenticate', { token: [token] }));
  await keep(admin.post('/credentials', { token }));
  await keep(admin.post('/credentials', `{"token":"${token}"`));
  await keep(bot.post('/credentials', { acl: [] }, idempotency));
  await keep(anonymous.get('/ip_policies', { authorization: `Basic ${ADMIN_KEY}` }));
  await keep(anonymous.get('/ip_policies', { authorization: `Bearer ${ADMIN_KEY}x` }));
  await keep(bot.get('/bot_users'));
  await api.rows('alter table events add constraint broken check (false) not valid');
  await keep(bot.post('/credentials', {}, { 'idempotency-key': 'another-secret-8d' }));
  await api.rows('alter table events drop constraint broken');
  await keep(anonymous.get('/metrics'));
}

await useEverything();

/** The encodings in which a stored or logged secret would still be readable. */
const spellings = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('hex'),
];

const found = (text: string) =>
  [...secrets].filter((secret) => spellings(secret).some((spelling) => text.includes(spelling)));

describe('a token, an API key and an idempotency key do not appear', () => {
  test('in any table', async () => {
    const dump = await dumpOf(api);
    expect(dump.size).toBeGreaterThan(7);
    for (const [table, lines] of dump) expect(found(lines), table).toEqual([]);
  });

  test('in the log, even at its finest level', () => {
    expect(api.logs.length).toBeGreaterThan(15);
    expect(found(api.logs.join('\n'))).toEqual([]);
  });

  test('in a response, except the one that shows it once', () => {
    expect(found(answers.join('\n'))).toEqual([]);
  });
});

describe('a stored token', () => {
  test('is sealed for replays, differently each time', async () => {
    const headers = (n: number) => ({ 'idempotency-key': `sealed-${n}` });
    await admin.post('/credentials', {}, headers(1));
    await admin.post('/credentials', {}, headers(2));
    const rows = await api.rows('select sealed_token from idempotency_keys where sealed_token is not null');
    const sealed = rows.map(({ sealed_token }) => z.instanceof(Buffer).parse(sealed_token).toString('hex'));
    expect(sealed.length).toBeGreaterThanOrEqual(4);
    expect(new Set(sealed.map((text) => text.slice(0, 24))).size).toBe(sealed.length);
  });

  test('cannot be opened in the record of another resource', async () => {
    const headers = (n: number) => ({ 'idempotency-key': `swapped-${n}` });
    const first = (await admin.post('/credentials', {}, headers(1))).as(credential.view);
    const second = (await admin.post('/credentials', {}, headers(2))).as(credential.view);
    await api.rows(
      `update idempotency_keys a set sealed_token = b.sealed_token from idempotency_keys b
        where a.resource_id = $1 and b.resource_id = $2`,
      [first.id, second.id],
    );
    expect((await admin.post('/credentials', {}, headers(1))).as(credential.view).token).toBeNull();
  });
});
