/** The five operations of a family, from its definition: create, list, get, update, delete. */
import { z } from 'zod';
import { emptyIsAbsent } from '../../resources/definition/none.ts';
import { readOnlyInCreate, readOnlyInUpdate } from '../../resources/definition/read-only.ts';
import type { Resource } from '../../resources/definition/resource.ts';
import { camel, withArticle, words } from '../errors/naming.ts';
import { operation, type PathParameter } from '../http/operation.ts';
import { belongingTo, createFamily, type Family, idParameter, singleParameters } from './family.ts';
import type { Hooks } from './hooks.ts';
import { listQuery } from './list-query.ts';
import { create, get, list, remove, update } from './operations.ts';
import { listView } from './paging.ts';

/** Of the DELETE of families whose deletion may take long. */
const cascadeQuery = z.strictObject({
  cascade: emptyIsAbsent(z.enum(['true', 'false']).transform((text) => text === 'true')).meta({
    description: 'Whether all that belongs to it is deleted as well.',
  }),
});

/** A family with its five operations; more can be added. */
export function mount<R extends Resource>(resource: R, hooks: Hooks<R> = {}): Family<R> {
  const family = createFamily(resource, hooks);
  const { path, parent } = resource;
  const one = words(resource.name);
  // Two families may share the name of their lists, but not that of their tables.
  const many = words(resource.table);
  const above: Record<string, PathParameter> = parent ? { [parent.parameter]: idParameter(parent.of) } : {};
  const params = singleParameters(resource);
  const common = belongingTo(resource);
  const single = { path: `${path}/{id}`, params, tagged: true, ...common } as const;
  const shown = { status: 200, description: `The ${one}.`, schema: resource.view } as const;

  family.add(
    operation({
      ...common,
      method: 'POST',
      path,
      params: above,
      operationId: camel(`create_${resource.name}`),
      summary: `Create ${withArticle(resource.name)}`,
      description: [
        hooks.aboutCreate,
        family.shownOnce && `Only this response shows the \`${family.shownOnce}\`; store it.`,
        'With an `Idempotency-Key`, repeating the request creates nothing more and returns the same response.',
      ]
        .filter(Boolean)
        .join(' '),
      body: resource.create as z.ZodType<Record<string, unknown>>,
      readOnly: readOnlyInCreate(resource.fields),
      success: { status: 201, description: `The new ${one}.`, schema: resource.view },
      creates: true,
      manages: 'optionally',
      tagged: true,
      errors: [
        'CONFLICT',
        'IDEMPOTENCY_KEY_REUSED',
        ...(resource.access === 'platform' ? [] : (['QUOTA_EXCEEDED'] as const)),
      ],
      handle: (call, api) => create(api, family, call),
    }),
  );
  family.add(
    operation({
      ...common,
      method: 'GET',
      path,
      params: above,
      operationId: camel(`list_${resource.table}`),
      summary: `List ${many}`,
      description: [
        `Lists the ${many}, newest first.`,
        resource.access === 'owner' && 'Callers who are not admins see only their own.',
        'Follow `next_page_uri` until it is null.',
      ]
        .filter(Boolean)
        .join(' '),
      query: listQuery(family),
      success: { status: 200, description: `A page of ${many}.`, schema: listView(resource) },
      handle: (call, api) => list(api, family, call),
    }),
  );
  family.add(
    operation({
      ...single,
      method: 'GET',
      operationId: camel(`get_${resource.name}`),
      summary: `Get ${withArticle(resource.name)}`,
      description: `Returns the ${one}, with its revision in \`ETag\`.`,
      success: shown,
      handle: (call, api) => get(api, family, call),
    }),
  );
  family.add(
    operation({
      ...single,
      method: 'PATCH',
      operationId: camel(`update_${resource.name}`),
      summary: `Update ${withArticle(resource.name)}`,
      description:
        'Changes only the fields in the body. Null resets an optional field to its default. The body may also repeat ' +
        'read-only members as GET shows them.',
      body: resource.update as z.ZodType<Record<string, unknown>>,
      readOnly: readOnlyInUpdate(resource.fields),
      manages: 'optionally',
      success: shown,
      errors: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED'],
      handle: (call, api) => update(api, family, call),
    }),
  );
  family.add(
    operation({
      ...single,
      method: 'DELETE',
      operationId: camel(`delete_${resource.name}`),
      summary: `Delete ${withArticle(resource.name)}`,
      description: hooks.aboutDelete ?? `Fails with 409 while other resources refer to the ${one}.`,
      manages: 'optionally',
      success: { status: 204, description: 'Deleted.' },
      ...(hooks.beginDeletion && {
        query: cascadeQuery,
        accepted: { status: 202, description: `The ${one}, which is being deleted.`, schema: resource.view },
      }),
      errors: ['NOT_FOUND', 'CONFLICT', 'RESOURCE_IN_USE', 'PRECONDITION_FAILED'],
      handle: (call, api) => remove(api, family, call),
    }),
  );
  return family;
}
