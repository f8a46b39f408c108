/** Keyset paging: newest first, cut at an id, never at an offset. */
import { z } from 'zod';
import { idOf } from '../../resources/definition/id.ts';
import { emptyIsAbsent } from '../../resources/definition/none.ts';
import type { Resource } from '../../resources/definition/resource.ts';
import { words } from '../errors/naming.ts';
import { MAX_PAGE_BYTES } from '../guard/bytes-in-flight.ts';
import type { Page, Row } from '../store/repository.ts';

export const MAX_LIMIT = 100;

const LIMIT_RULE = `must be a number from 1 to ${MAX_LIMIT}`;

/** Query parameters of a list. */
export function pageQuery(resource: Resource) {
  return z.strictObject({
    limit: emptyIsAbsent(
      z
        .string()
        .regex(/^[1-9]\d{0,2}$/, LIMIT_RULE)
        .transform(Number)
        .refine((limit) => limit <= MAX_LIMIT, LIMIT_RULE),
    ),
    before_id: emptyIsAbsent(idOf(resource.prefix)),
  });
}

interface List {
  /** Name of the array. */
  name: string;
  /** The limit of the request. */
  limit: number;
  uri: string;
}

/**
 * A page as JSON: as many rows as fit into its byte limit, and at least one. Serialised here, since the limit needs the
 * length of each item, and serialising the items again would double the time.
 */
export function pageJson({ rows, more }: Page, show: (row: Row) => object, { name, limit, uri }: List): string {
  const items: string[] = [];
  let bytes = 0;
  for (const row of rows) {
    const item = JSON.stringify(show(row));
    bytes += Buffer.byteLength(item) + 1;
    if (bytes > MAX_PAGE_BYTES && items.length > 0) break;
    items.push(item);
  }
  const last = rows[items.length - 1];
  const hasNext = last !== undefined && (more || items.length < rows.length);
  const next = hasNext ? `${uri}?before_id=${last.id}&limit=${limit}` : null;
  return `{${JSON.stringify(name)}:[${items.join()}],"uri":${JSON.stringify(uri)},"next_page_uri":${JSON.stringify(next)}}`;
}

/** The envelope of a family's list. */
export function listView(resource: Resource) {
  return z
    .object({
      [resource.collection]: z
        .array(resource.view)
        .meta({ description: `The ${words(resource.table)} on this page, newest first.` }),
      uri: z.url().meta({ description: 'Address of the list.' }),
      next_page_uri: z.url().nullable().meta({ description: 'Address of the next page. Null on the last page.' }),
    })
    .meta({ id: `${resource.title}List` });
}
