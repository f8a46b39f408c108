/** Answers of something that is not the management API: a web server, a login page, a proxy in between. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiUnreachableError, createClient } from '../../src/client/client.ts';

const SECRET = 'tnl_at_that_somebody_else_answered';
const HTML = 'text/html; charset=utf-8';
const JSON_TYPE = 'application/json';

let answer: { status: number; headers: Record<string, string>; body: string };
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(answer.status, answer.headers).end(answer.body);
});
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
const client = createClient({
  baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  apiKey: 'any',
  retries: 0,
});
afterAll(async () => {
  await client.close();
  await new Promise((done) => server.close(done));
});

const calls = {
  create: () => client.ipPolicies.create({}),
  get: () => client.ipPolicies.get('ipp_x'),
  list: () => client.ipPolicies.page(),
  update: () => client.ipPolicies.update('ipp_x', {}),
  delete: () => client.ipPolicies.delete('ipp_x'),
  'replacing rules': () => client.replaceRules('ipp_x', { rules: [] }),
  'closing a key': () => client.closeIdempotencyKey('x'),
};

async function failure(call: () => Promise<unknown>): Promise<ApiUnreachableError> {
  const error = await call().catch((thrown: unknown) => thrown);
  if (!(error instanceof ApiUnreachableError)) throw new Error(`no ApiUnreachableError: ${error}`);
  return error;
}

describe.each([
  ['an error page', 502, HTML, `<p>${SECRET}`, '502 with text/html'],
  ['a page', 200, HTML, `<p>${SECRET}`, '200 with text/html'],
  ['a page that calls itself JSON', 200, JSON_TYPE, `{"token": ${SECRET}`, '200 with application/json'],
  ['a page without a type', 200, '', SECRET, '200 with a body of unknown type'],
  ['a redirect', 302, HTML, '', '302 without a body'],
  ['nothing', 200, JSON_TYPE, '', '200 without a body'],
  ['an error that is not ours', 403, JSON_TYPE, `{"error":"${SECRET}"}`, '403 with application/json'],
])('%s', (_, status, type, body, said) => {
  beforeEach(() => {
    answer = { status, headers: { ...(type && { 'content-type': type }), location: 'https://example.com/' }, body };
  });

  test.each(Object.entries(calls))('as the answer to %s is named, and not quoted', async (_, call) => {
    const error = await failure(call);
    expect(error.message).toContain(`answered ${said}; is that the management API?`);
    expect(error).toMatchObject({ answer: said, status });
    const lines: string[] = [];
    pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }).warn({ err: error }, error.message);
    expect(lines.join()).toContain(said);
    expect(lines.join()).not.toContain(SECRET);
  });
});

const { delete: _, ...withBody } = calls;

test.each(Object.entries(withBody))('204 is no answer to %s', async (_, call) => {
  answer = { status: 204, headers: {}, body: '' };
  expect((await failure(call)).message).toContain('answered 204 without a body; is that the management API?');
});

test.each(Object.entries(withBody))('{} is no answer to %s', async (_, call) => {
  answer = { status: 200, headers: { 'content-type': JSON_TYPE }, body: '{}' };
  expect((await failure(call)).message).toContain(
    'answered 200 with JSON of another form; is that the management API?',
  );
});
test('{} is no answer to delete', async () => {
  answer = { status: 200, headers: { 'content-type': JSON_TYPE }, body: '{}' };
  expect((await failure(calls.delete)).message).toContain('answered 200 with application/json; is that');
});
