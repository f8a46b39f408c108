/** The methods that the paths of an instance support. */
import type { FastifyInstance } from 'fastify';

export interface KnownMethods {
  /** Sorted; none for a path that does not exist. */
  of(path: string): string[];
  /** Whether the path is a route by itself that lacks the method: the router then takes its last segment for an id. */
  lacks(path: string, method: string): boolean;
}

/** Knows the routes that are added from now on. */
export function collectMethods(app: FastifyInstance): KnownMethods {
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
    const route = routes.get(url) ?? { pattern, methods: new Set() };
    for (const each of [method].flat()) route.methods.add(each);
    // Of the second form of a path (`/docs/`), Fastify announces only the HEAD that it adds to every GET.
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

/**
 * The path of a request, without its query. Without the server, too, which a target in absolute form names (RFC 9112,
 * section 3.2.2): the router drops it, and what is stored by its path must not depend on it.
 */
export function pathOf({ url }: { url: string }): string {
  const end = url.indexOf('?');
  const target = end === -1 ? url : url.slice(0, end);
  return target.replace(ABSOLUTE, '') || '/';
}

const ABSOLUTE = /^https?:\/\/[^/]+/i;
