/** Keyset paging: newest first, cut at an id, never at an offset. */
import { z } from 'zod';
import { idOf } from '../../resources/definition/id.ts';
import type { Resource } from '../../resources/definition/resource.ts';

export const MAX_LIMIT = 100;

const LIMIT_RULE = `must be a number from 1 to ${MAX_LIMIT}`;

/** Query parameters of a list. */
export function pageQuery(resource: Resource) {
  return z.strictObject({
    limit: z
      .string()
      .regex(/^[1-9]\d{0,2}$/, LIMIT_RULE)
      .transform(Number)
      .refine((limit) => limit <= MAX_LIMIT, LIMIT_RULE)
      .optional(),
    before_id: idOf(resource.prefix).optional(),
  });
}

/** A page, from up to one row more than `limit`; the extra row only shows that there is a next page. */
export function pageOf<T extends { id: string }>(rows: readonly T[], limit: number, address: string) {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, uri: address, next_page_uri: more ? `${address}?before_id=${last.id}&limit=${limit}` : null };
}

/** The envelope of a family's list. */
export function listView(resource: Resource) {
  return z
    .object({
      [resource.collection]: z.array(resource.view),
      uri: z.url().meta({ description: 'Address of the list.' }),
      next_page_uri: z.url().nullable().meta({ description: 'Address of the next page; null on the last page.' }),
    })
    .meta({ id: `${resource.title}List` });
}
