/** Sends bad input to every operation: the answer is a clear 4xx, and nothing is stored. */
import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Step } from '../../dev/conformance/row.ts';
import { SECTIONS } from '../../dev/conformance/sections.ts';
import { fill } from '../../dev/fixtures/placeholders.ts';
import { errorBody } from '../../src/resources/definition/errors.ts';
import { newId } from '../../src/resources/definition/id.ts';
import { document } from '../api/openapi/openapi-check.ts';
import { badBodies } from './bad-bodies.ts';
import { type Documented, readContract } from './coverage.ts';
import { prepare } from './play.ts';
import { richest } from './valid-request.ts';
import { createWorld } from './world.ts';

const BODY_LIMIT = 32 * 1024;
const world = await createWorld({ bodyLimit: BODY_LIMIT });
const { api } = world;
const { admin } = api;
const contract = readContract(document);

/** A request that would succeed; what it refers to has been created. */
async function ready(operation: Documented): Promise<Step> {
  const row = richest(operation, contract, SECTIONS);
  return fill(row.ask, await prepare(row, world.callers, world.values()));
}

const tables = (await api.rows("select tablename from pg_tables where schemaname = 'public' order by 1")).map(
  ({ tablename }) => String(tablename),
);
const everything = tables
  .map(
    (name) =>
      `select '${name}' as name, count(*), sum(hashtextextended((to_jsonb(t) - 'last_used_at')::text, 0)) as hash from ${name} t`,
  )
  .join(' union all ');
/** A digest of every table: any change of any row changes it, except that a key was used, which is recorded later. */
const stored = () => api.rows(everything);

describe.each(contract.operations.filter(({ takes }) => takes))('$name', (operation) => {
  test('refuses invalid bodies, and says where they are wrong', async () => {
    const { method, path, body } = await ready(operation);
    const before = await stored();
    for (const { what, text, status, contentType = 'application/json', place } of badBodies(body, BODY_LIMIT)) {
      const reply = await admin.send(method, path, { body: text, headers: { 'content-type': contentType } });
      expect(reply.status, `${what}: ${reply.text}`).toBe(status);
      const named = Object.keys(reply.error.details);
      expect(
        named.filter((name) => name.startsWith(place)),
        `${what}: ${reply.text}`,
      ).not.toEqual([]);
    }
    expect(await stored()).toEqual(before);
  });
});

const inPath = contract.operations.filter(({ name }) => name.includes('{'));

describe.each(inPath)('$name', (operation) => {
  test('answers 400 or 404 for invalid ids', async () => {
    const step = await ready(operation);
    const before = await stored();
    for (const [index, segment] of operation.name.split(' ')[1]?.split('/').entries() ?? []) {
      if (!segment.startsWith('{')) continue;
      for (const bad of badSegments(step.path.split('/')[index] ?? '')) {
        const path = step.path.split('/').with(index, bad).join('/');
        const reply = await admin.send(step.method, path, { body: step.body });
        expect([400, 404], `${path}: ${reply.text}`).toContain(reply.error.status_code);
        expect(reply.headers).not.toHaveProperty('x-evil');
      }
    }
    expect(await stored()).toEqual(before);
  });
});

const badSegments = (good: string) => [
  'nonsense',
  newId('zz'),
  good.toUpperCase(),
  `${good}x`,
  `${good}%00`,
  `${good}%20`,
  `${good}%0d%0aX-Evil:%201`,
  '%2e%2e%2f%2e%2e',
  '%ff',
  "'%20or%201=1--",
  '😀',
  'x'.repeat(2_000),
];

describe.each(contract.operations.filter(({ query }) => query.includes('before_id')))('$name', (operation) => {
  test('refuses invalid cursors and limits, and names the parameter', async () => {
    const { path } = await ready(operation);
    const list = path.split('?', 1)[0];
    const cursors = ['nonsense', newId('zz'), '%00', "'", '%0d%0aX-Evil:%201', 'x'.repeat(5_000)];
    const limits = ['0', '-1', '101', '1e1', '0x10', '%205', '1.5', 'NaN', '٣', '9'.repeat(30), '5%00'];
    for (const cursor of cursors) {
      const { error } = await admin.get(`${list}?before_id=${cursor}`);
      expect(error.details, cursor).toHaveProperty('?before_id');
    }
    for (const limit of limits) {
      const { error } = await admin.get(`${list}?limit=${limit}`);
      expect(error.details, limit).toHaveProperty('?limit');
    }
    const twice = await admin.get(`${list}?limit=1&limit=2`);
    expect(twice.error.details['?limit']).toBe('must be given only once');
  });
});

describe('a header', () => {
  let address: URL;
  beforeAll(async () => {
    address = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));
  });

  /** Sends a create with this header line, byte for byte, and returns what comes back. */
  function exchange(line: string): Promise<string> {
    const auth = /^authorization/i.test(line) ? '' : `authorization: Bearer ${admin.key}\r\n`;
    const head = `POST /ip_policies HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${auth}content-type: application/json\r\n`;
    return new Promise((done, failed) => {
      let answer = '';
      const socket = connect(Number(address.port), address.hostname);
      // Keep the connection open: the server does not answer a client that has ended it.
      socket.write(Buffer.from(`${head}content-length: 2\r\n${line}\r\n\r\n{}`, 'latin1'));
      socket.setEncoding('latin1').on('data', (chunk) => {
        answer += chunk;
      });
      socket.on('error', failed).on('close', () => done(answer));
    });
  }

  const names = ['X-Request-Id', 'Idempotency-Key', 'If-Match', 'Service-Version', 'Authorization', 'Content-Type'];
  const values = ['a\rX-Evil: 1', 'a\nX-Evil: 1', 'a\0b', 'a\x01b', 'a\x7fb'];

  test.each(names.flatMap((name) => values.map((value) => [name, value] as const)))(
    '%s with %j cannot inject anything into the response',
    async (name, value) => {
      const before = await stored();
      const answer = await exchange(`${name}: ${value}`);
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      expect(head).not.toMatch(/x-evil/i);
      expect(errorBody.parse(JSON.parse(body)).status_code).toBe(Number(head.split(' ')[1]));
      expect(head).toMatch(/^HTTP\/1.1 4/);
      expect(await stored()).toEqual(before);
    },
  );

  test('is echoed only if it is harmless', async () => {
    for (const value of ['<script>', 'ü', 'a b', 'x'.repeat(129), '"; rm']) {
      const [head] = (await exchange(`X-Request-Id: ${value}`)).split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1.1 \d{3} /);
      expect(head).not.toContain(value);
    }
  });
});
