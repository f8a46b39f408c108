/** Calls for one list. */
import { z } from 'zod';
import { parameterOf } from '../resources/definition/filter.ts';
import type { CallOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { ApiUnreachableError, unusableResponse } from './errors.ts';
import type { ApiResponse } from './response.ts';
import type { Transport } from './transport.ts';

/** Where a page starts. */
export interface PageStart {
  /** After the resource with this id. */
  beforeId: string;
  /** Only in a list by `metadata_prefix`: the beginning of that resource's metadata. */
  beforeMetadata?: string | undefined;
}

export interface Page<T> {
  items: T[];
  /** To pass with the same options for the next page; undefined at the end. */
  next: PageStart | undefined;
}

/** What a list is limited to. */
export interface FilteredBy<Filters> extends CallOptions {
  filter?: Filters | undefined;
  /** RFC 3339. */
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
}

export interface PageFilteredBy<Filters> extends FilteredBy<Filters>, Partial<PageStart> {
  limit?: number | undefined;
}

export interface ListClient<T, Filters> {
  /** One page, newest first, of at most `limit` (1–100, default 100). */
  page(options?: PageFilteredBy<Filters>): Promise<Page<T>>;
  /** All of them, newest first, page by page. */
  list(options?: FilteredBy<Filters>): AsyncGenerator<T, void, undefined>;
}

const unknowns = z.array(z.unknown());
const nextPage = z.string().nullable();
const envelopes = new Map<string, ReturnType<typeof newEnvelope>>();
const newEnvelope = (collection: string) => z.object({ [collection]: unknowns, next_page_uri: nextPage });

/** One for all clients: a program with a client for each of many accounts would have most of its memory in these. */
function envelopeOf(collection: string): ReturnType<typeof newEnvelope> {
  const envelope = envelopes.get(collection) ?? newEnvelope(collection);
  envelopes.set(collection, envelope);
  return envelope;
}

const entriesOf = (filter: Readonly<Record<string, string | undefined>> = {}) => Object.entries(filter);
/** Only the query is used, so the address may be relative. */
const ANYWHERE = 'http://localhost';

/** @param view reads an item, as if it had been answered alone */
export function listClient<T, Filters extends Readonly<Record<string, string | undefined>>>(
  transport: Transport,
  { path, collection }: Readonly<Record<'path' | 'collection', string>>,
  view: (answer: ApiResponse) => T,
): ListClient<T, Filters> {
  const envelope = envelopeOf(collection);

  async function page(options: PageFilteredBy<Filters> = {}) {
    const { limit, beforeId, beforeMetadata, filter, createdAfter, createdBefore, ...call } = options;
    const query = {
      ...Object.fromEntries(entriesOf(filter).map(([name, value]) => [parameterOf(name), value])),
      created_after: createdAfter,
      created_before: createdBefore,
      limit,
      before_metadata: beforeMetadata,
      before_id: beforeId,
    };
    const answer = await transport.send({ method: 'GET', path, query, ...call });
    const list = read(envelope, answer);
    // Items of a list have no ETag.
    const items = unknowns.parse(list[collection]).map((body) => view({ ...answer, body, etag: undefined }));
    const uri = nextPage.parse(list.next_page_uri);
    if (uri === null) return { items, next: undefined };
    const next = URL.parse(uri, ANYWHERE)?.searchParams;
    const nextId = next?.get('before_id');
    if (!nextId || nextId === beforeId) {
      const { status } = answer;
      const detail = "the body's next_page_uri: does not lead to another page";
      throw unusableResponse({ answer: `${status} with JSON of another form`, detail, status });
    }
    return { items, next: { beforeId: nextId, beforeMetadata: next?.get('before_metadata') ?? undefined } };
  }

  return {
    page,
    async *list(options = {}) {
      const { listTimeoutMs = Number.POSITIVE_INFINITY } = transport;
      const startedAt = performance.now();
      let start: PageStart | undefined;
      do {
        if (performance.now() - startedAt > listTimeoutMs)
          throw new ApiUnreachableError(`GET ${path}: the list has not ended in ${listTimeoutMs / 1000} s`);
        const current: Page<T> = await page({ ...options, ...start });
        yield* current.items;
        start = current.next;
      } while (start !== undefined);
    },
  };
}
