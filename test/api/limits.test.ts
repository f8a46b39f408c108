/** The limits that docs/api/limits.md promises are the ones in force. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MAX_HEAD_MS, TIMEOUTS } from '../../src/api/app.ts';
import { BYTES_IN_FLIGHT, MAX_PAGE_BYTES } from '../../src/api/guard/bytes-in-flight.ts';
import { MAX_HEAD_BYTES } from '../../src/api/guard/client-errors.ts';
import { CONNECTION_LIMITS } from '../../src/api/guard/connections.ts';
import { LOAD_LIMITS } from '../../src/api/guard/load-shedding.ts';
import { RATE_LIMITS } from '../../src/api/guard/rate-limit.ts';

const page = readFileSync('docs/api/limits.md', 'utf8');
/** The documented limits, by the name of what they limit. */
const documented = new Map(
  [...page.matchAll(/^\| (.+?) \| (.+?) \|/gm)].map(([, what = '', limit = '']) => [what, limit]),
);

const number = (n: number) => n.toLocaleString('en');
const MIB = 1024 ** 2;

test.each([
  ['Requests of one API key', `${RATE_LIMITS.perKey} per second`],
  ['Requests of all API keys of one user or bot', `${RATE_LIMITS.perOwner} per second`],
  ['Requests of one address (IPv6: one /64) without a valid key', `${RATE_LIMITS.perAddress} per second`],
  ['Connections', `${number(CONNECTION_LIMITS.most)}; `],
  ['Headers of a request, with its first line', `${MAX_HEAD_BYTES / 1024} KiB, `],
  ['Time to receive the headers of a request', `${MAX_HEAD_MS / 1000} s, `],
  ['Time to receive a request', `${TIMEOUTS.request / 1000} s, `],
  ['Time from its headers to the response', `${TIMEOUTS.handler / 1000} s, `],
  ['Bytes in flight of one API key, or of one address without a valid one', `${BYTES_IN_FLIGHT.perKey / MIB} MiB, `],
  [
    'Bytes in flight of all keys of one owner, or of all addresses together without a valid key',
    `${BYTES_IN_FLIGHT.perOwner / MIB} MiB, `,
  ],
  ['Bytes in flight of all callers', `${BYTES_IN_FLIGHT.inAll / MIB} MiB, `],
  ['One page of a list', `${MAX_PAGE_BYTES / MIB} MiB, `],
  [
    `Mean delay of the event loop over ${LOAD_LIMITS.sampleMs / 1000} s`,
    `${LOAD_LIMITS.eventLoopDelayMs / 1000} s, then 503`,
  ],
  ['Memory of the process', LOAD_LIMITS.rssBytes === 0 ? 'none' : number(LOAD_LIMITS.rssBytes)],
])('%s: %s', (what, limit) => {
  expect(documented.get(what)).toMatch(new RegExp(`^${RegExp.escape(limit)}`));
});

test('request limits are counted in windows of a second', () => {
  expect(RATE_LIMITS.windowMs).toBe(1000);
  expect(page).toContain('counted in windows of a second');
});

test('an idle connection stays open longer than the minute for which load balancers keep it', () => {
  expect(TIMEOUTS.keepAlive).toBeGreaterThan(60_000);
});

test('the handler timeout is longer than those of a connection and a statement, whose errors say more', () => {
  const [statement = 0, wait = 0] = (documented.get('One statement; the wait for a connection to the database') ?? '')
    .matchAll(/(\d+) s/g)
    .map(([, seconds]) => Number(seconds) * 1000);
  expect(statement + wait).toBeGreaterThan(0);
  expect(TIMEOUTS.handler).toBeGreaterThan(statement + wait);
});
