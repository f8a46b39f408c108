/** The OpenAPI document, and a reference to browse that needs no other host. Strangers may ask for both, within a limit. */
import { gzipSync } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import swagger, { type StaticDocumentSpec } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { sha256Hex } from '../../resources/formats/sha256.ts';
import { SHARED } from '../http/bytes-in-flight.ts';
import { parseTags } from '../http/entity-tags.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import type { Json } from './schemas.ts';

/** A form of the document, with a tag of its own (RFC 9110, section 8.8.3.3). */
interface Representation {
  bytes: Buffer;
  tag: string;
}

type Coding = 'gzip' | 'identity';

/** Two ends of a tunnel. */
const ICON = {
  filename: 'icon.svg',
  rel: 'icon',
  type: 'image/svg+xml',
  sizes: 'any',
  content:
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M3 28V16a13 13 0 0 1 26 0v12h-6V16a7 7 0 0 0-14 0v12z" fill="#1d4e89"/><path d="M13 28V17a3 3 0 0 1 6 0v11z" fill="#f2a541"/></svg>',
};

/** The document as it is sent, made once. */
function representations(text: string): Readonly<Record<Coding, Representation>> {
  const digest = sha256Hex(text).slice(0, 32);
  const bytes = Buffer.from(text);
  return {
    identity: { bytes, tag: `"${digest}"` },
    gzip: { bytes: gzipSync(bytes), tag: `"${digest}-gzip"` },
  };
}

const titleOf = (document: Json) => z.object({ info: z.object({ title: z.string() }) }).parse(document).info.title;

export async function addDocs(app: FastifyInstance, document: Json, rateLimiter: RateLimiter): Promise<void> {
  const text = JSON.stringify(document);
  const forms = representations(text);
  await app.register(async (scope) => {
    scope.addHook('onRequest', (request, reply) => rateLimiter.countStranger(request, reply));
    scope.get('/openapi.json', async (request, reply) => {
      request.documentedPath = '/openapi.json';
      request.charge = SHARED;
      const { 'accept-encoding': accepted = '', 'if-none-match': known } = request.headers;
      const coding = negotiate<Coding>(accepted, ['gzip', 'identity']) ?? 'identity';
      const { bytes, tag } = forms[coding];
      reply.headers({ etag: tag, vary: 'accept-encoding', 'cache-control': 'no-cache' });
      const tags = parseTags('If-None-Match', known) ?? [];
      if (tags === '*' || tags.some((each) => each.replace(/^W\//, '') === tag)) return reply.code(304).send();
      if (coding === 'gzip') reply.header('content-encoding', coding);
      return reply.type('application/json; charset=utf-8').send(bytes);
    });
    // Its types know OpenAPI up to 3.0; it hands the document on without reading it.
    const specification = { document } as unknown as StaticDocumentSpec;
    // The page asks for the document by a path of its own.
    scope.setReplySerializer((payload) => (payload === document ? text : JSON.stringify(payload)));
    await scope.register(swagger, { mode: 'static', specification });
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      // Without the bar of the standalone layout, which has the framework's name and a field for other documents.
      uiConfig: { deepLinking: true, validatorUrl: null, layout: 'BaseLayout' },
      theme: { title: `${titleOf(document)} · tunnel-operator`, favicon: [ICON] },
    });
  });
}
