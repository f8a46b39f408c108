/** Pages of lists as responses show them. */
import { z } from 'zod';
import type { Resource } from '../../resources/definition/resource.ts';
import { words } from '../errors/naming.ts';
import { MAX_PAGE_BYTES } from '../guard/bytes-in-flight.ts';
import type { Page, Row } from '../store/repository.ts';

interface List {
  /** Name of the array. */
  name: string;
  uri: string;
  /** The query of the next page, after this row. */
  next: (last: Row) => string;
}

/**
 * A page as JSON: as many rows as fit into its byte limit, and at least one. Serialised here, since the limit needs the
 * length of each item, and serialising the items again would double the time.
 */
export function pageJson({ rows, more }: Page, show: (row: Row) => object, { name, uri, next }: List): string {
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
  const nextPage = hasNext ? `${uri}?${next(last)}` : null;
  return `{${JSON.stringify(name)}:[${items.join()}],"uri":${JSON.stringify(uri)},"next_page_uri":${JSON.stringify(nextPage)}}`;
}

/** The envelope of a family's list. */
export function listView(resource: Pick<Resource, 'collection' | 'table' | 'title'> & { readonly view: z.ZodType }) {
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
