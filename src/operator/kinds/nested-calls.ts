/**
 * Calls for a family whose resources live in those of another. Their ids here are `PARENT/ID`, so that an id alone leads
 * to the resource.
 */
import { z } from 'zod';
import type { CallOptions } from '../../client/call-options.ts';
import { etagOf, isReplay, remember } from '../../client/entity-tags.ts';
import { isNotFound } from '../../client/errors.ts';
import { idOf } from '../../resources/definition/id.ts';
import type { Parent } from '../../resources/definition/resource.ts';
import type { Remote } from '../managed/declaration/external.ts';
import type { FamilyCalls } from './external-of-family.ts';

export function nestedCalls<R extends Remote>(
  parents: { list(options?: CallOptions): AsyncIterable<{ id: string }> },
  within: (parentId: string) => FamilyCalls<R>,
  { parent: whole, prefix }: { prefix: string; parent: Parent },
): FamilyCalls<R> {
  const { parameter } = whole;
  const own = idOf(prefix);
  const at = (id: string) => {
    const { parent, own } = partsOfId(id);
    return { calls: within(parent), parent, own };
  };
  const named = (parent: string, answered: R): R =>
    remember({ ...answered, id: `${parent}/${answered.id}` }, { etag: etagOf(answered), replayed: isReplay(answered) });
  const isId = (id: string) => {
    const parts = partsOfId(id);
    return whole.of.id.safeParse(parts.parent).success && own.safeParse(parts.own).success;
  };
  async function* parentsOf(ids: ReadonlySet<string> | undefined, options: CallOptions | undefined) {
    if (ids) yield* new Set([...ids].filter(isId).map((id) => partsOfId(id).parent));
    else for await (const { id } of parents.list(options)) yield id;
  }
  return {
    isId,
    // The parent is in the address.
    idOf: ({ id, uri }) => `${uri.split('/').at(-3) ?? ''}/${id}`,
    async create({ [parameter]: given, ...body }, options) {
      const parent = z.string().parse(given);
      return named(parent, await within(parent).create(body, options));
    },
    async get(id, options) {
      const { calls, parent, own } = at(id);
      return named(parent, await calls.get(own, options));
    },
    async update(id, { [parameter]: _, ...body }, options) {
      const { calls, parent, own } = at(id);
      return named(parent, await calls.update(own, body, options));
    },
    async delete(id, options) {
      const { calls, own } = at(id);
      await calls.delete(own, options);
    },
    async *list(options, ids) {
      for await (const id of parentsOf(ids, options)) {
        try {
          for await (const each of within(id).list(options)) yield named(id, each);
        } catch (error) {
          // The parent has been deleted, with everything in it.
          if (!isNotFound(error)) throw error;
        }
      }
    },
  };
}

/** An id without a slash has an empty parent, which does not exist. */
export function partsOfId(id: string): { parent: string; own: string } {
  const slash = id.indexOf('/');
  return slash < 0 ? { parent: '', own: id } : { parent: id.slice(0, slash), own: id.slice(slash + 1) };
}
