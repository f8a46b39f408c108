import type { RequestListener } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { startWebServer } from '../../dev/acme/web-server.ts';
import { createAcmeClient } from '../../src/acme/client.ts';
import { generateAccountKey, readAccountKey } from '../../src/acme/jose.ts';

const key = readAccountKey(generateAccountKey());
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** A client of a server that answers requests for accounts as given. */
async function clientOf(answer: RequestListener, { directory = {}, nonces = true } = {}) {
  const server = await startWebServer((incoming, outgoing) => {
    const urls = {
      newNonce: `${server.url}/nonce`,
      newAccount: `${server.url}/account`,
      newOrder: `${server.url}/order`,
    };
    if (incoming.url === '/dir') return outgoing.end(JSON.stringify({ ...urls, ...directory }));
    if (nonces) outgoing.setHeader('replay-nonce', 'n');
    if (incoming.url === '/nonce') return outgoing.end();
    return answer(incoming, outgoing);
  });
  const client = createAcmeClient({ directoryUrl: `${server.url}/dir`, userAgent: 'test/1', timeoutMs: 500 });
  cleanups.push(server.stop, client.close);
  return { client, server };
}
const register = async (answer: RequestListener, options?: Parameters<typeof clientOf>[1]) => {
  const { client } = await clientOf(answer, options);
  return client.register(key, { contacts: [] });
};

const problem =
  (body: object, status = 403, headers = {}): RequestListener =>
  (_, outgoing) =>
    outgoing.writeHead(status, headers).end(JSON.stringify(body));
const limited = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many orders' };

test.each<[string, RequestListener, object]>([
  [
    'a problem with parts',
    problem({
      ...{ type: 'urn:ietf:params:acme:error:compound', detail: 'two' },
      subproblems: [
        {
          type: 'urn:ietf:params:acme:error:caa',
          detail: 'forbids it',
          identifier: { type: 'dns', value: 'a.example' },
        },
        { type: 'about:blank' },
      ],
    }),
    { type: 'compound', status: 403, message: 'compound: two; a.example: forbids it; about:blank' },
  ],
  [
    'a wait in seconds',
    problem(limited, 429, { 'retry-after': '120' }),
    { type: 'rateLimited', retryAfterMs: 120_000 },
  ],
  [
    'a wait until a date',
    problem(limited, 503, { 'retry-after': 'Wed, 01 Jan 2200 00:00:00 GMT' }),
    { status: 503, retryAfterMs: expect.closeTo(Date.parse('2200-01-01T00:00:00Z') - Date.now(), -5) },
  ],
  [
    'a wait until a date in the past',
    problem(limited, 429, { 'retry-after': 'Wed, 01 Jan 2020 00:00:00 GMT' }),
    { retryAfterMs: 0 },
  ],
  ['a wait that is no time', problem(limited, 429, { 'retry-after': 'soon' }), { retryAfterMs: null }],
  [
    'a page of a proxy',
    (_, outgoing) => outgoing.writeHead(502, { 'content-type': 'text/html' }).end('<html>'),
    {
      type: null,
      status: 502,
      detail: expect.stringMatching(/^the response of 127\.0\.0\.1:\d+, status 502, gives no reason$/),
    },
  ],
  ['a redirect', (_, outgoing) => outgoing.writeHead(301, { location: '/elsewhere' }).end(), { status: 301 }],
  [
    'no place of the account',
    (_, outgoing) => outgoing.end('{}'),
    { detail: expect.stringContaining('did not say where') },
  ],
  [
    'an end without a response',
    (incoming) => incoming.socket.destroy(),
    { status: null, detail: expect.stringContaining('could not be reached') },
  ],
  [
    'no response',
    () => undefined,
    { detail: expect.stringMatching(/could not be reached: no response within 0.5 s$/) },
  ],
  ['2 MB', (_, outgoing) => outgoing.end('x'.repeat(2_000_000)), { detail: 'a response is longer than 1048576 bytes' }],
])('%s is told', async (_, answer, expected) => {
  await expect(register(answer)).rejects.toMatchObject({ name: 'AcmeError', ...expected });
});

test('a nonce that is refused is replaced', async () => {
  let refused = 0;
  const url = await register((_, outgoing) => {
    const isLast = ++refused > 15;
    if (isLast) outgoing.writeHead(201, { location: 'https://ca.example/account/1' }).end('{}');
    else outgoing.writeHead(400).end(JSON.stringify({ type: 'urn:ietf:params:acme:error:badNonce' }));
  });
  expect({ url, refused }).toEqual({ url: 'https://ca.example/account/1', refused: 16 });
});

test('a server that refuses every nonce is given up', async () => {
  await expect(register(problem({ type: 'urn:ietf:params:acme:error:badNonce' }, 400))).rejects.toMatchObject({
    type: 'badNonce',
  });
});

test('a server without nonces is told', async () => {
  await expect(register(problem({}), { nonces: false })).rejects.toMatchObject({
    detail: expect.stringContaining('gave no nonce'),
  });
});

test('a directory without an address is told, and read again', async () => {
  const { client, server } = await clientOf(problem({}), { directory: { newOrder: 'nowhere' } });
  const wanted = `the response of ${new URL(server.url).host}, status 200, is not what RFC 8555 describes: newOrder: Invalid URL`;
  await expect(client.directory()).rejects.toMatchObject({ detail: wanted });
  await expect(client.directory()).rejects.toMatchObject({ detail: wanted });
});

test('a directory at another address is not there', async () => {
  const client = createAcmeClient({ directoryUrl: 'http://127.0.0.1:1/dir', userAgent: 'test/1' });
  cleanups.push(client.close);
  await expect(client.directory()).rejects.toMatchObject({ detail: expect.stringContaining('ECONNREFUSED') });
});

test('what the client does not know is ignored', async () => {
  const { client, server } = await clientOf((_, outgoing) => {
    const challenges = [
      { type: 'dns-persist-01', url: 'https://ca.example/c', status: 'pending', 'issuer-domain-names': [] },
    ];
    const identifier = { type: 'dns', value: 'a.example' };
    outgoing.end(JSON.stringify({ status: 'odd', identifier, challenges, more: 1 }));
  });
  const seen = await client.authorization({ key, url: 'https://ca.example/account/1' }, `${server.url}/authorization`);
  expect(seen).toMatchObject({ status: 'odd', challenges: [{ type: 'dns-persist-01', status: 'pending' }] });
});

test('an authority that does not say when to renew has no window', async () => {
  const { client } = await clientOf(problem({}));
  expect(await client.renewalWindow('a.b')).toBeUndefined();
});
