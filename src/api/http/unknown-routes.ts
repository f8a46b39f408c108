/** Requests to a path or method that does not exist. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { UNKNOWN_PATH } from '../../resources/definition/errors.ts';
import { ApiError, notFound } from '../errors/errors.ts';
import { sendError } from './error-handler.ts';

export interface KnownMethods {
  /** Sorted; none for a path that does not exist. */
  of(path: string): string[];
  /** Whether the path is a route that lacks the method. The router then takes its last segment for an id. */
  lacks(path: string, method: string): boolean;
}

/** Collects the routes that are added from now on. */
export function collectMethods(app: FastifyInstance): KnownMethods {
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
    const route = routes.get(url) ?? { pattern, methods: new Set() };
    for (const each of [method].flat()) route.methods.add(each);
    // For the second form of a path (`/docs/`), Fastify announces only the HEAD that it adds to every GET.
    if (route.methods.has('HEAD')) route.methods.add('GET');
    routes.set(url, route);
  });
  return {
    of(path) {
      const literal = routes.get(path);
      const matching = literal ? [literal] : [...routes.values()].filter(({ pattern }) => pattern.test(path));
      return [...new Set(matching.flatMap(({ methods }) => [...methods]))].sort();
    },
    lacks: (path, method) => routes.get(path)?.methods.has(method) === false,
  };
}

/** The path of a request, without its query and without the server that a target in absolute form names (RFC 9112, 3.2.2). */
export function pathOf({ url }: { url: string }): string {
  const end = url.indexOf('?');
  const target = end === -1 ? url : url.slice(0, end);
  return target.replace(ABSOLUTE, '') || '/';
}

const ABSOLUTE = /^https?:\/\/[^/]+/i;

/**
 * Responds to unknown paths and methods before their body is read.
 * @param count counts such a request; it throws when there are too many
 */
export function addUnknownRoutes(
  app: FastifyInstance,
  methods: KnownMethods,
  count: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): void {
  app.setNotFoundHandler(answerUnknown(methods));
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404 && !methods.lacks(pathOf(request), request.method)) return;
    await count(request, reply);
    answerUnknown(methods)(request, reply);
    return reply;
  });
}

/** 404, or 405 with the methods of a path that exists. */
export function answerUnknown(known: KnownMethods) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const methods = known.of(pathOf(request));
    const allow = methods.join(', ');
    // A route that supports the method may not have found the rest of the path: a file, for example.
    const error =
      methods.length === 0 || methods.includes(request.method)
        ? notFound('This path does not exist.', UNKNOWN_PATH)
        : new ApiError('METHOD_NOT_ALLOWED', `This path supports only ${allow}.`, { allow }, { allow });
    sendError(error, request, reply);
  };
}
