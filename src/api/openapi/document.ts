/** The OpenAPI 3.1 document, from the same operations and schemas that serve the requests. */
import { z } from 'zod';
import { ERROR_STATUS, type ErrorCode } from '../../resources/definition/errors.ts';
import { scopeOf } from '../../resources/scopes.ts';
import { OPERATIONS } from '../families/all.ts';
import { isWrite } from '../http/authorization.ts';
import { conditionOf, type Operation } from '../http/operation.ts';
import { errorResponses, HEADERS, INSTALLATION_HEADERS, PARAMETERS, pascal, RATE_LIMIT_HEADERS } from './components.ts';
import { exampleOf } from './examples.ts';
import { linksOf } from './links.ts';
import { components, inline, type Json, nameOf, ref, unfolded } from './schemas.ts';

const TAGS: Record<string, string> = {
  'IP policies': 'Sets of rules that allow or deny source addresses.',
  'Tunnel credentials': 'Authtokens that tunnel agents authenticate with, and what each may bind.',
  Backends: 'What serves the traffic of an endpoint.',
  'Endpoint configurations': 'Settings for endpoints of one type.',
  'Reserved domains': 'Host names reserved for endpoints, and their certificates.',
  'HTTPS edges': 'Where HTTPS is served: edges, their routes, and the modules of routes.',
  'TLS edges': 'Where TLS is served: edges and their modules.',
  Events: 'Event types, and which events are sent where.',
  'Certificate authorities': 'Authorities that client certificates are validated against.',
  'TLS certificates': 'Certificates that endpoints are served with.',
  'SSH certificates': 'Certificates that identify hosts to SSH clients.',
  Accounts: 'What belongs to one team.',
  'Users and keys': 'The users and bots of this API, and their keys.',
  'Idempotency keys': 'For finding resources whose creation response was lost.',
  'Resource managers': 'Which object of which cluster manages a resource.',
};

const SECURITY = 'An API key. If it has scopes, an operation needs the one that `x-scope` names.';
const IDEMPOTENCY = ['IdempotencyKey', 'IdempotencyScope', 'IdempotencySequence'];

/** Errors that every operation may answer with. */
const COMMON: readonly ErrorCode[] = [
  'INVALID_REQUEST',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'UNAVAILABLE',
];
const WITH_BODY: readonly ErrorCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'NOT_IMPLEMENTED'];

/** The document of the whole API. */
export const openApiDocument = (version = '2'): Json => documentOf(OPERATIONS, version);

function documentOf(operations: readonly Operation[], version: string): Json {
  const schemas = components(operations);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operation, operations, schemas),
    };
  }
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tunnel management API',
      version,
      summary: 'Manages tunnels, edges and domains, and who may use them.',
      description:
        'Send `Authorization: Bearer <API key>` with every request. Lists are newest first and paged by `before_id`. ' +
        'All errors have the same form, and their `details` say what is wrong. A create may leave out any field that may ' +
        'be null. For ids, enums and times, `""` means null.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that serves this document.' }],
    security: [{ apiKey: [] }],
    tags: tags.map((name) => ({ name, description: TAGS[name] })),
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: SECURITY } },
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: errorResponses(paths),
      schemas,
    },
  };
}

function describe(operation: Operation, all: readonly Operation[], schemas: Json): Json {
  const json = (schema: z.ZodType) => content(schema, schemas);
  const { access, success, accepted, body, method, tagged, creates, manages } = operation;
  const condition = conditionOf(operation);
  const parameters = [
    ...Object.entries(operation.params).map(([name, { schema, description }]) => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: inline(schema),
    })),
    ...queryParameters(operation.query),
    ...(creates ? IDEMPOTENCY.map((name) => ref('parameters', name)) : []),
    ...(manages ? [ref('parameters', manages === 'always' ? 'NeededResourceManager' : 'ResourceManager')] : []),
    ...(condition ? [ref('parameters', condition.replaceAll('-', ''))] : []),
    // Accounts belong to none.
    ...(access === 'platform' ? [] : [ref('parameters', 'Account')]),
    ref('parameters', 'ServiceVersion'),
    ref('parameters', 'RequestId'),
  ];
  const errors = new Set([
    ...COMMON,
    ...(method === 'GET' ? [] : WITH_BODY),
    ...(Object.keys(operation.params).length > 0 ? (['NOT_FOUND'] as const) : []),
    ...(manages ? (['CONFLICT'] as const) : []),
    ...(operation.errors ?? []),
  ]);
  return {
    operationId: operation.operationId,
    summary: operation.summary,
    description: operation.description,
    tags: [operation.tag],
    ...(operation.access === 'anyone' ? {} : { 'x-access': operation.access }),
    ...(operation.family === null ? {} : { 'x-scope': scopeOf(operation.family, isWrite(operation)) }),
    parameters,
    ...(body ? { requestBody: { required: !body.safeParse({}).success, content: json(body) } } : {}),
    responses: {
      [success.status]: {
        description: success.description,
        headers: headers(operation),
        ...(success.schema ? { content: json(success.schema) } : {}),
        ...(creates ? { links: linksOf(operation, all) } : {}),
      },
      ...(accepted && {
        [accepted.status]: {
          description: accepted.description,
          headers: headers({ ...operation, success: accepted }),
          content: json(accepted.schema),
        },
      }),
      ...(tagged && method === 'GET' ? { 304: { description: 'The resource still matches `If-None-Match`.' } } : {}),
      ...responsesOf(errors),
    },
  };
}

function headers({ tagged, creates, success }: Headed): Json {
  return {
    'X-Request-Id': ref('headers', 'RequestId'),
    ...INSTALLATION_HEADERS,
    ...RATE_LIMIT_HEADERS,
    ...(tagged && success.schema ? { ETag: ref('headers', 'ETag') } : {}),
    ...(creates
      ? { Location: ref('headers', 'Location'), 'Idempotency-Replayed': ref('headers', 'IdempotencyReplayed') }
      : {}),
  };
}

type Headed = Pick<Operation, 'tagged' | 'creates'> & { success: { schema?: z.ZodType } };

const content = (schema: z.ZodType, schemas: Json) => ({
  'application/json': { schema: ref('schemas', nameOf(schema)), example: exampleOf(nameOf(schema), schemas) },
});

/** One response per status; 409 has two codes. */
function responsesOf(codes: ReadonlySet<ErrorCode>): Json {
  const byStatus = new Map<number, string>();
  for (const code of codes) {
    const status = ERROR_STATUS[code];
    byStatus.set(status, byStatus.has(status) ? 'Conflicting' : pascal(code));
  }
  return Object.fromEntries([...byStatus].map(([status, name]) => [status, ref('responses', name)]));
}

function queryParameters(query: z.ZodType | undefined): Json[] {
  if (!query) return [];
  const { properties = {} } = z
    .object({ properties: z.record(z.string(), z.record(z.string(), z.unknown())).optional() })
    .parse(z.toJSONSchema(query, { io: 'input' }));
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    description,
    // An empty value counts as absent; an empty filter is refused.
    allowEmptyValue: query.safeParse({ [name]: '' }).success,
    schema: unfolded(schema),
    ...QUERY_SCHEMA[name],
  }));
}

/** The schema of a query parameter knows only the pattern of its text; readers should see a number. */
const QUERY_SCHEMA: Record<string, Json> = {
  limit: { schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 } },
};
