/** HTTP response backends: a fixed response, without an upstream. */
import { z } from 'zod';
import { described, field, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { headers, withoutSecrets } from './formats/response-headers.ts';
import { bytes } from './formats/text.ts';

/** Most bytes of a fixed body. A page of a list has up to 100 of them. */
export const MAX_RESPONSE_BODY = 65_536;

const statusCode = z
  .int('must be a whole number')
  .min(200, 'must be the status of a final response, from 200 to 599')
  .max(599, 'must be the status of a final response, from 200 to 599')
  .meta({ description: 'HTTP status of the response, from 200 to 599. Default 200.', examples: [503] });

const body = bytes(MAX_RESPONSE_BODY).meta({
  description: 'Body of the response. Default empty.',
  examples: ['down for maintenance'],
});

const shownHeaders = z
  .record(z.string(), z.string())
  .nullable()
  .meta({
    description: 'Headers of the response, with names in lower case. Null if none were set.',
    examples: [{ 'content-type': 'text/plain' }],
  });

export const httpResponseBackend = resource({
  name: 'http_response_backend',
  title: 'HTTPResponseBackend',
  prefix: 'bkdhr',
  path: '/backends/http_response',
  collection: 'backends',
  table: 'http_response_backends',
  tag: 'Backends',
  description: 'A backend that answers every request with the same response.',
  fields: {
    ...described('What the response is for.'),
    body: field(body, z.nullable(body), 'optional', true, ''),
    headers: {
      ...field(shownHeaders, z.nullable(headers), 'optional', true, null, 'jsonb'),
      shorten: withoutSecrets,
    },
    status_code: field(statusCode, z.nullable(statusCode), 'optional', true, 200),
  },
  samples: {
    least: {},
    full: { ...DESCRIBED, body: 'down for maintenance', status_code: 503, headers: { 'content-type': 'text/plain' } },
    change: { ...CHANGED, body: 'moved', status_code: 404, headers: { 'x-changed': 'yes' } },
  },
});

/** Why this body cannot go with this status, if it cannot (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5). */
export function contentProblem(status: unknown, content: unknown): string | undefined {
  const empty = status === 204 || status === 205 || status === 304;
  return empty && content !== '' ? `must be empty: a response with status ${status} has no content` : undefined;
}
