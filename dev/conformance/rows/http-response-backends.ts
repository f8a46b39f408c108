import { httpResponseBackend } from '../../../src/resources/http-response-backend.ts';
import { longest } from '../description-rows.ts';
import {
  created,
  del,
  get,
  invalid,
  noContent,
  ok,
  patch,
  post,
  put,
  type Row,
  refTo,
  refused,
  type Section,
} from '../row.ts';

const path = '/backends/http_response';
const answersWith = (status_code: number): Row => ({
  rule: `A fixed response may have the status ${status_code}`,
  ask: post(path, { status_code }),
  answer: created({ status_code }),
});
const refusedStatus = (status_code: unknown, why: string): Row => ({
  rule: `A fixed response may not have the status ${JSON.stringify(status_code)}: ${why}`,
  ask: post(path, { status_code }),
  answer: invalid({ '/status_code': /./ }),
});
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
const OF_THE_CONNECTION = [
  'Connection',
  'Content-Length',
  'Keep-Alive',
  'Proxy-Authenticate',
  'Proxy-Authorization',
  'Proxy-Connection',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Upgrade',
];
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'v']));
const whole = { body: 'down for maintenance', headers: { 'content-type': 'text/plain' }, status_code: 503 };

export const httpResponseBackends: Section = {
  title: 'HTTP response backends',
  family: httpResponseBackend,
  rows: [
    {
      rule: 'A fixed response has a body, headers and a status',
      given: { made: post(path, whole) },
      ask: get(`${path}/{made.id}`),
      answer: ok(whole),
    },
    {
      rule: 'Every field of a fixed response is optional: by default it is 200 without body and headers',
      ask: post(path, {}),
      answer: created({ body: '', headers: null, status_code: 200 }),
    },
    {
      rule: 'Names of headers are returned in lower case',
      ask: post(path, { headers: { 'Content-Type': 'text/plain', 'X-TRACE': 'a b' } }),
      answer: created({ headers: { 'content-type': 'text/plain', 'x-trace': 'a b' } }),
      later: [
        [post(path, { headers: { 'X-Trace': '' } }), created({ headers: { 'x-trace': '', 'X-Trace': undefined } })],
      ],
    },
    {
      rule: 'Headers that were never set are null; an empty map stays an empty map',
      given: { made: post(path, { headers: { 'x-a': 'b' } }) },
      ask: post(path, { headers: {} }),
      answer: created({ headers: {} }),
      later: [[patch(`${path}/{made.id}`, { headers: null }), ok({ headers: null })]],
    },
    {
      rule: 'An update replaces all headers together',
      given: { made: post(path, { headers: { 'x-a': 'b' } }) },
      ask: patch(`${path}/{made.id}`, { headers: { 'x-c': 'd' } }),
      answer: ok({ headers: { 'x-c': 'd', 'x-a': undefined } }),
    },
    {
      rule: 'An update of the status leaves body and headers alone',
      given: { made: post(path, whole) },
      ask: patch(`${path}/{made.id}`, { status_code: 404 }),
      answer: ok({ ...whole, status_code: 404 }),
    },
    ...[200, 301, 404, 599].map(answersWith),
    refusedStatus(100, 'that ends no exchange'),
    refusedStatus(199, 'those below 200 end no exchange'),
    refusedStatus(600, 'there is none above 599'),
    refusedStatus(200.5, 'it is no whole number'),
    refusedStatus('200', 'it is a text'),
    ...[204, 205, 304].map(withoutContent),
    refusedHeader('The name of a header is a token', 'bad name', 'v', /not a header name/),
    refusedHeader('The value of a header has no line breaks', 'x-a', 'a\r\nset-cookie: b', /printable ASCII/),
    refusedHeader('The value of a header is in ASCII', 'x-a', 'smörgås', /printable ASCII/),
    refusedHeader('The value of a header must not have surrounding white space', 'x-a', ' a', /printable ASCII/),
    refusedHeader('The value of a header is a text', 'x-a', 1, /must be a string/),
    ...OF_THE_CONNECTION.map((name) =>
      refusedHeader(
        `The header ${name} cannot be set: it belongs to the connection`,
        name,
        'x',
        /reserved for the connection/,
      ),
    ),
    refusedHeader('The header __proto__ cannot be set: readers of JSON drop it', '__PROTO__', 'x', /JSON/),
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
    {
      rule: 'A backend that an edge serves cannot be deleted',
      given: {
        made: post(path, {}),
        edge: post('/edges/tls', {}),
        served: put('/edges/tls/{edge.id}/backend', { backend_id: '{made.id}' }),
      },
      ask: del(`${path}/{made.id}`),
      answer: refused('RESOURCE_IN_USE', { tls_edge: '{edge.id}' }),
      later: [
        [get('/edges/tls/{edge.id}/backend'), ok({ backend: refTo(path, 'made') })],
        [del('/edges/tls/{edge.id}/backend'), noContent],
        [del(`${path}/{made.id}`), noContent],
      ],
    },
  ],
};
