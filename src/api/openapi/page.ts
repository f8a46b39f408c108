/** Serves the OpenAPI document, and a browsable reference that loads nothing from other hosts. Neither needs a key. */
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import swagger, { type StaticDocumentSpec } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { stringify } from 'yaml';
import { z } from 'zod';
import { sha256Hex } from '../../resources/formats/sha256.ts';
import { SHARED } from '../guard/bytes-in-flight.ts';
import type { RateLimiter } from '../guard/rate-limit.ts';
import { parseTags } from '../http/entity-tags.ts';
import type { Json } from './schemas.ts';

const require = createRequire(import.meta.url);

/** One encoding of the document, with its own tag (RFC 9110, section 8.8.3.3). */
interface Representation {
  bytes: Buffer;
  tag: string;
}

type Coding = 'gzip' | 'identity';

/** The document in one format. */
interface Format {
  type: string;
  forms: Readonly<Record<Coding, Representation>>;
}

/**
 * The reference is a page in which people enter their keys: nothing but its own files may run in it, and no other page may
 * frame it. Its style sheet has images as `data:` URLs.
 */
const FOR_BROWSERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

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
function formatted(bytes: Buffer, type: string): Format {
  const digest = sha256Hex(bytes).slice(0, 32);
  return {
    type,
    forms: {
      identity: { bytes, tag: `"${digest}"` },
      gzip: { bytes: gzipSync(bytes), tag: `"${digest}-gzip"` },
    },
  };
}

function sendDocument({ type, forms }: Format, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.charge = SHARED;
  const { 'accept-encoding': accepted = '', 'if-none-match': known } = request.headers;
  const coding = negotiate<Coding>(accepted, ['gzip', 'identity']) ?? 'identity';
  const { bytes, tag } = forms[coding];
  reply.headers({ etag: tag, vary: 'accept-encoding', 'cache-control': 'no-cache' });
  const tags = parseTags('If-None-Match', known) ?? [];
  if (tags === '*' || tags.some((each) => each.replace(/^W\//, '') === tag)) return reply.code(304).send();
  if (coding === 'gzip') reply.header('content-encoding', coding);
  return reply.type(type).send(bytes);
}

const titleOf = (document: Json) => z.object({ info: z.object({ title: z.string() }) }).parse(document).info.title;

export async function addDocs(app: FastifyInstance, document: Json, rateLimiter: RateLimiter): Promise<void> {
  const json = formatted(Buffer.from(JSON.stringify(document)), 'application/json; charset=utf-8');
  // Made on the first request: it takes a while and is rarely requested.
  let yaml: Format | undefined;
  const inYaml = () => {
    yaml ??= formatted(Buffer.from(stringify(document, { aliasDuplicateObjects: false })), 'application/yaml');
    return yaml;
  };
  await app.register(async (scope) => {
    scope.addHook('onRequest', (request, reply) => rateLimiter.countStranger(request, reply));
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.headers(FOR_BROWSERS);
      done();
    });
    const config = { documentedPath: '/openapi.json' };
    scope.get('/openapi.json', { config }, async (request, reply) => sendDocument(json, request, reply));
    const fileOf = filesOf(join(dirname(require.resolve('@fastify/swagger-ui')), 'static'));
    // Replaces the plugin's own responses, which are made anew each time. The page requests the first.
    scope.addHook('onRequest', async (request, reply) => {
      const { url } = request.routeOptions;
      if (url === '/docs/json') return sendDocument(json, request, reply);
      if (url === '/docs/yaml') return sendDocument(inYaml(), request, reply);
      if (url !== FILES) return;
      const file = await fileOf(nameOf.parse(request.params)['*']);
      // The plugin's own response to a name outside of the folder would be another one.
      return file ? sendDocument(file, request, reply) : reply.callNotFound();
    });
    // The types of the plugin know OpenAPI up to 3.0, but it passes the document on without reading it.
    const specification = { document } as unknown as StaticDocumentSpec;
    await scope.register(swagger, { mode: 'static', specification });
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      // Without the bar of the standalone layout, which has the framework's name and a field for other documents.
      uiConfig: { layout: 'BaseLayout' },
      theme: { title: `${titleOf(document)} · tunnel-operator`, favicon: [ICON] },
    });
  });
}

/** The route of the page's files. */
const FILES = '/docs/static/*';

const nameOf = z.object({ '*': z.string() });

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * The page's files, by name. Each is read on the first request and kept. The plugin would keep a file open for each
 * request until its response is read, so clients that do not read would use up the descriptors.
 */
function filesOf(folder: string): (name: string) => Promise<Format> | undefined {
  const names = new Set(readdirSync(folder).filter((name) => extname(name) in TYPES));
  const read = new Map<string, Promise<Format>>();
  return (name) => {
    if (!names.has(name)) return undefined;
    let file = read.get(name);
    if (!file) {
      file = readFile(join(folder, name)).then((bytes) => formatted(bytes, TYPES[extname(name)] ?? ''));
      // The next request tries again: the process may have been out of descriptors.
      file.catch(() => read.delete(name));
      read.set(name, file);
    }
    return file;
  };
}
