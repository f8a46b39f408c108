/** The OpenAPI 3.1 document, from the same operations and schemas that serve the requests. */
import { z } from 'zod';
import { ERROR_STATUS, type ErrorCode, errorBody } from '../resources/errors.ts';
import { idempotencyKey } from '../resources/idempotency.ts';
import type { AnyOperation } from './operation.ts';

/** A JSON document; its members are plain data. */
export type Json = { [member: string]: unknown };

const TAGS: Record<string, string> = {
  'IP policies': 'Named sets of rules about source addresses.',
  'Tunnel credentials': 'Authtokens with which tunnel agents authenticate, and what each may bind.',
  'Users and keys': 'Who may call this API, and with which keys.',
  'Idempotency keys': 'Certainty about creates whose answer was lost.',
};

/** Errors that every operation may answer with. */
const COMMON: readonly ErrorCode[] = ['INVALID_REQUEST', 'UNAUTHENTICATED', 'INTERNAL_ERROR', 'UNAVAILABLE'];
const WITH_BODY: readonly ErrorCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

export function openApiDocument(operations: readonly AnyOperation[], version = '2'): Json {
  const schemas = components(operations);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: describe(operation) };
  }
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tunnel management API',
      version,
      summary: 'Configuration of a tunnelling and ingress platform.',
      description:
        'Requests carry `Authorization: Bearer <API key>`. Lists are newest first and paged by `before_id`. ' +
        'Every error has the same body, whose `details` name what is wrong.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that this document came from.' }],
    security: [{ apiKey: [] }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key.' } },
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: errorResponses(),
      schemas,
    },
  };
}

function describe(operation: AnyOperation): Json {
  const { success, body, method, tagged, creates } = operation;
  const own = method === 'GET' ? 'IfNoneMatch' : 'IfMatch';
  const parameters = [
    ...Object.entries(operation.params).map(([name, { schema, description }]) => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: inline(schema),
    })),
    ...queryParameters(operation.query),
    ...(creates ? [ref('parameters', 'IdempotencyKey')] : []),
    ...(tagged && !creates ? [ref('parameters', own)] : []),
    ref('parameters', 'ServiceVersion'),
    ref('parameters', 'RequestId'),
  ];
  const errors = new Set([
    ...COMMON,
    ...(body ? WITH_BODY : []),
    ...(operation.access === 'admin' || creates ? (['PERMISSION_DENIED'] as const) : []),
    ...(Object.keys(operation.params).length > 0 ? (['NOT_FOUND'] as const) : []),
    ...(operation.errors ?? []),
  ]);
  return {
    operationId: operation.operationId,
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    tags: [operation.tag],
    ...(operation.access === 'admin' ? { 'x-access': 'admin' } : {}),
    parameters,
    ...(body ? { requestBody: { required: method === 'PUT', content: json(body) } } : {}),
    responses: {
      [success.status]: {
        description: success.description,
        headers: headers(operation),
        ...(success.schema ? { content: json(success.schema) } : {}),
      },
      ...(tagged && method === 'GET' ? { 304: { description: 'The caller has this revision already.' } } : {}),
      ...responsesOf(errors),
    },
  };
}

function headers({ tagged, creates, success }: AnyOperation): Json {
  return {
    'X-Request-Id': ref('headers', 'RequestId'),
    ...(tagged && success.schema ? { ETag: ref('headers', 'ETag') } : {}),
    ...(creates
      ? { Location: ref('headers', 'Location'), 'Idempotency-Replayed': ref('headers', 'IdempotencyReplayed') }
      : {}),
  };
}

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

const json = (schema: z.ZodType) => ({ 'application/json': { schema: ref('schemas', nameOf(schema)) } });

/** One response per status; 409 has two codes. */
function responsesOf(codes: ReadonlySet<ErrorCode>): Json {
  const byStatus = new Map<number, string>();
  for (const code of codes) {
    const status = ERROR_STATUS[code];
    byStatus.set(status, byStatus.has(status) ? 'Conflicting' : pascal(code));
  }
  return Object.fromEntries([...byStatus].map(([status, name]) => [status, ref('responses', name)]));
}

const MEANING: Record<ErrorCode, string> = {
  INVALID_REQUEST: 'The request is malformed; `details` name every bad field, parameter or header.',
  UNAUTHENTICATED: 'The API key is missing, unknown, expired, or its owner is inactive.',
  PERMISSION_DENIED: 'The caller may not do this.',
  NOT_FOUND: 'There is no such resource, or the caller may not know of it.',
  METHOD_NOT_ALLOWED: 'The path exists, but not for this method.',
  CONFLICT: 'The change conflicts with what exists, or the idempotency key is closed.',
  RESOURCE_IN_USE: 'Other resources, which `details` name, refer to this one.',
  PRECONDITION_FAILED: 'The resource has changed since the revision in If-Match.',
  PAYLOAD_TOO_LARGE: 'The body is too large.',
  UNSUPPORTED_MEDIA_TYPE: 'The body is not JSON in UTF-8.',
  IDEMPOTENCY_KEY_REUSED: 'The idempotency key was used for another request; `details.resource_id` is what that made.',
  RATE_LIMITED: 'Too many requests; ask again after the time in Retry-After.',
  INTERNAL_ERROR: 'A fault of the service; `details.request_id` identifies it.',
  UNAVAILABLE: 'A passing condition; ask again after the time in Retry-After.',
};

function errorResponses(): Json {
  const entry = (codes: ErrorCode[], description: string) => {
    const [code = 'INTERNAL_ERROR'] = codes;
    const retry = code === 'UNAVAILABLE' || code === 'RATE_LIMITED';
    const status_code = ERROR_STATUS[code];
    const example = { error_code: code, status_code, msg: description, details: { request_id: 'b7c1f2' } };
    return {
      description,
      headers: {
        'X-Request-Id': ref('headers', 'RequestId'),
        ...(retry ? { 'Retry-After': ref('headers', 'RetryAfter') } : {}),
      },
      content: { 'application/json': { schema: ref('schemas', nameOf(errorBody)), example } },
    };
  };
  const codes = Object.keys(MEANING) as ErrorCode[];
  const unused: ErrorCode[] = ['METHOD_NOT_ALLOWED', 'RATE_LIMITED'];
  return {
    ...Object.fromEntries(
      codes.filter((code) => !unused.includes(code)).map((code) => [pascal(code), entry([code], MEANING[code])]),
    ),
    Conflicting: entry(['CONFLICT', 'RESOURCE_IN_USE'], `${MEANING.CONFLICT} ${MEANING.RESOURCE_IN_USE}`),
  };
}

const pascal = (code: string) =>
  code
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join('');

const PARAMETERS = {
  ServiceVersion: {
    name: 'Service-Version',
    in: 'header',
    description: 'Version of this API. Absent means the current one.',
    schema: { type: 'string', enum: ['2'] },
    example: '2',
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: 'Identifies the request in logs and errors; made up when absent.',
    schema: { type: 'string', maxLength: 128 },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes the create safe to repeat: same key and body, same answer.',
    schema: inline(idempotencyKey),
    example: '0b0f6c1e-6f0b-4c0c-9f57-6a3a3f0f6b1d',
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'ETags; the change is made only if the resource is at one of them.',
    schema: { type: 'string' },
    example: '"1"',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'ETags; the answer is 304 if the resource is still at one of them.',
    schema: { type: 'string' },
    example: '"1"',
  },
};

const HEADERS = {
  RequestId: { description: 'Identifies the request.', schema: { type: 'string' } },
  ETag: { description: 'The revision of the resource, for If-Match and If-None-Match.', schema: { type: 'string' } },
  Location: { description: 'The address of the new resource.', schema: { type: 'string', format: 'uri' } },
  IdempotencyReplayed: {
    description: '`true` when the answer is that of an earlier request under the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
  RetryAfter: { description: 'Seconds to wait.', schema: { type: 'string' } },
};

function queryParameters(query: z.ZodType | undefined): Json[] {
  if (!query) return [];
  const { properties = {} } = z
    .object({ properties: z.record(z.string(), z.record(z.string(), z.unknown())).optional() })
    .parse(z.toJSONSchema(query, { io: 'input' }));
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    ...QUERY[name],
    schema,
    ...QUERY_SCHEMA[name],
  }));
}

const QUERY: Record<string, Json> = {
  limit: { description: 'Most items of the page.' },
  before_id: { description: 'Only items after this one, which need not exist any more.' },
};
/** A query is text, of which the schema can only give the pattern; to readers it is a number. */
const QUERY_SCHEMA: Record<string, Json> = {
  limit: { schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 } },
};

function inline(schema: z.ZodType): Json {
  const { $schema, ...rest } = z.record(z.string(), z.unknown()).parse(z.toJSONSchema(schema, { io: 'input' }));
  return rest;
}

/** Every body is a component, so that generated clients have names for them. */
function nameOf(schema: z.ZodType): string {
  const id = z.globalRegistry.get(schema)?.id;
  if (id === undefined) throw new Error('a schema of the API without a name');
  return id;
}

function components(operations: readonly AnyOperation[]): Json {
  const bodies = operations.flatMap(({ body }) => (body ? [body] : []));
  const views = operations.flatMap(({ success }) => (success.schema ? [success.schema] : []));
  return { ...jsonSchemas(bodies, 'input'), ...jsonSchemas([...views, errorBody], 'output') };
}

const registryOutput = z.object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) });

function jsonSchemas(schemas: readonly z.ZodType[], io: 'input' | 'output'): Json {
  const registry = z.registry<{ id: string }>();
  for (const schema of new Set(schemas)) registry.add(schema, { id: nameOf(schema) });
  const made = registryOutput.parse(
    z.toJSONSchema(registry, { io, uri: (id) => `#/components/schemas/${id}` }),
  ).schemas;
  // What only other schemas refer to, zod puts aside under one name.
  const { __shared: shared, ...named } = made;
  const all = { ...named, ...z.record(z.string(), z.unknown()).parse(shared?.$defs ?? {}) };
  const text = JSON.stringify(all, (key, value: unknown) => (key === '$schema' || key === '$id' ? undefined : value));
  return z
    .record(z.string(), z.unknown())
    .parse(JSON.parse(text.replaceAll('#/components/schemas/__shared#/$defs/', '#/components/schemas/')));
}
