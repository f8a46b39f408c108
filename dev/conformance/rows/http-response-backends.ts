import { httpResponseBackend } from '../../../src/resources/http-response-backend.ts';
import { longest } from '../field-conventions.ts';
import { created, get, invalid, ok, patch, post, type Row, type Section } from '../row.ts';

const path = '/backends/http_response';

const withoutContent = (status_code: number): Row => ({
  rule: `A fixed response with the status ${status_code} has no body`,
  given: { made: post(path, { body: 'x' }) },
  ask: post(path, { status_code, body: 'x' }),
  answer: invalid({ '/body': /must be empty/ }),
  later: [
    [patch(`${path}/{made.id}`, { status_code }), invalid({ '/body': /must be empty/ })],
    [patch(`${path}/{made.id}`, { status_code, body: '' }), ok({ status_code, body: '' })],
  ],
});
const refusedHeader = (rule: string, name: string, value: unknown, reason: RegExp): Row => ({
  rule,
  ask: post(path, { headers: { [name]: value } }),
  answer: invalid({ [`/headers/${name}`]: reason }),
});

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'v']));

const SECRET = { authorization: 'Basic Og==', 'x-trace': 'a' };
const ONCE = { headers: { 'idempotency-key': 'once-{unique}' } };

export const httpResponseBackends: Section = {
  title: 'HTTP response backends',
  family: httpResponseBackend,
  rows: [
    {
      rule: 'Names of headers are returned in lower case',
      ask: post(path, { headers: { 'Content-Type': 'text/plain', 'X-TRACE': 'a b' } }),
      answer: created({ headers: { 'content-type': 'text/plain', 'x-trace': 'a b' } }),
      later: [
        [post(path, { headers: { 'X-Trace': '' } }), created({ headers: { 'x-trace': '', 'X-Trace': undefined } })],
      ],
    },
    {
      rule: 'A header whose name says that it is secret is shown as it was sent, also when the create is repeated',
      given: { made: post(path, { headers: SECRET }, ONCE) },
      ask: post(path, { headers: SECRET }, ONCE),
      answer: created({ id: '{made.id}', headers: SECRET }),
      later: [[get(`${path}/{made.id}`), ok({ headers: SECRET })]],
    },
    {
      rule: 'An update replaces all headers together',
      given: { made: post(path, { headers: { 'x-a': 'b' } }) },
      ask: patch(`${path}/{made.id}`, { headers: { 'x-c': 'd' } }),
      answer: ok({ headers: { 'x-c': 'd', 'x-a': undefined } }),
    },
    ...[204, 205, 304].map(withoutContent),
    refusedHeader('The name of a header is a token', 'bad name', 'v', /not a header name/),
    {
      rule: 'A header may be set only once, however its name is written',
      ask: post(path, { headers: { 'X-A': '1', 'x-a': '2' } }),
      answer: invalid({ '/headers/x-a': /same header as "X-A"/ }),
    },
    {
      rule: 'A fixed response has at most 64 headers',
      ask: post(path, { headers: many(64) }),
      answer: created({ headers: many(64) }),
      later: [[post(path, { headers: many(65) }), invalid({ '/headers': /at most 64/ })]],
    },
    {
      rule: 'The names and values of all headers have at most 8192 bytes in total',
      ask: post(path, { headers: { x: 'v'.repeat(8191) } }),
      answer: created({ headers: { x: 'v'.repeat(8191) } }),
      later: [[post(path, { headers: { x: 'v'.repeat(8192) } }), invalid({ '/headers': /8192 bytes/ })]],
    },
    {
      rule: 'The body of a fixed response has at most 65536 bytes',
      ask: post(path, { body: longest(65536, 'bytes') }),
      answer: created({ body: longest(65536, 'bytes') }),
      later: [[post(path, { body: `${longest(65536, 'bytes')}x` }), invalid({ '/body': /65536 bytes/ })]],
    },
  ],
};
