/** Links of the OpenAPI document: what a client may do with a resource that it has just created. */
import { z } from 'zod';
import type { Operation } from '../http/operation.ts';
import type { Json } from './schemas.ts';

/** Links by operation id: the operations on the resource that `creating` returns, and on the lists inside it. */
export function linksOf(creating: Operation, operations: readonly Operation[]): Json {
  const known = Object.fromEntries(Object.keys(creating.params).map((name) => [name, `$request.path.${name}`]));
  const links = operations.flatMap(({ path, params, operationId, summary }) => {
    const own = path.startsWith(`${creating.path}/{`) ? /^\{(\w+)\}/.exec(path.slice(creating.path.length + 1)) : null;
    if (own?.[1] === undefined) return [];
    const all: Json = { ...known, [own[1]]: `$response.body#/${memberFor(own[1], creating)}` };
    // Operations further down need an id that this response lacks.
    if (Object.keys(params).some((name) => !(name in all))) return [];
    return [[operationId, { operationId, description: summary, parameters: all }]];
  });
  return Object.fromEntries(links);
}

/** A resource that is identified by a member other than `id` has a path parameter of that name. */
function memberFor(parameter: string, { success }: Operation): string {
  return success.schema instanceof z.ZodObject && parameter in success.schema.shape ? parameter : 'id';
}
