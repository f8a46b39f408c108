/** Links of the OpenAPI document: what a client may do with a resource that it has just created. */
import { z } from 'zod';
import type { Operation } from '../http/operation.ts';
import type { Json } from './schemas.ts';

/** By operation id, those on the resource that `creating` answers with, and on the lists inside it. */
export function linksOf(creating: Operation, operations: readonly Operation[]): Json {
  const known = Object.fromEntries(Object.keys(creating.params).map((name) => [name, `$request.path.${name}`]));
  const links = operations.flatMap(({ path, params, operationId, summary }) => {
    const own = path.startsWith(`${creating.path}/{`) ? /^\{(\w+)\}/.exec(path.slice(creating.path.length + 1)) : null;
    if (own?.[1] === undefined) return [];
    const all: Json = { ...known, [own[1]]: `$response.body#/${memberFor(own[1], creating)}` };
    // What lives further down needs an id that this answer does not have.
    if (Object.keys(params).some((name) => !(name in all))) return [];
    return [[operationId, { operationId, description: summary, parameters: all }]];
  });
  return Object.fromEntries(links);
}

/** A resource that goes by another member than its id has a parameter of that name. */
function memberFor(parameter: string, { success }: Operation): string {
  return success.schema instanceof z.ZodObject && parameter in success.schema.shape ? parameter : 'id';
}
