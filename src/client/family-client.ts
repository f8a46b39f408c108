/** Calls for one family. */
import { z } from 'zod';
import { type FilterValues, parameterOf } from '../resources/definition/filter.ts';
import type { Create, Resource, Update, View } from '../resources/definition/resource.ts';
import type { CallOptions, ChangeOptions, CreateOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { unusableResponse } from './errors.ts';
import { segment } from './path-segment.ts';
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

/** Which resources a list has. */
export interface ListOptions<R extends Resource> extends CallOptions {
  /** Only resources with these values; at most one besides the owner. */
  filter?: FilterValues<R> | undefined;
  /** RFC 3339. */
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
}

export interface PageOptions<R extends Resource> extends ListOptions<R>, Partial<PageStart> {
  limit?: number | undefined;
}

/** The calls of one family. All throw ApiError or ApiUnreachableError. */
export interface FamilyClient<R extends Resource> {
  create(body: Create<R>, options?: CreateOptions): Promise<View<R>>;
  get(id: string, options?: CallOptions): Promise<View<R>>;
  update(id: string, body: Update<R>, options?: ChangeOptions): Promise<View<R>>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  /** One page, newest first, of at most `limit` (1–100, default 100). */
  page(options?: PageOptions<R>): Promise<Page<View<R>>>;
  /** All of them, newest first, page by page. */
  list(options?: ListOptions<R>): AsyncGenerator<View<R>, void, undefined>;
}

const unknowns = z.array(z.unknown());
const nextPage = z.string().nullable();
const entriesOf = (filter: Readonly<Record<string, string | undefined>> = {}) => Object.entries(filter);
/** Only the query is used, so the address may be relative. */
const ANYWHERE = 'http://localhost';

export function familyClient<R extends Resource>(transport: Transport, resource: R): FamilyClient<R> {
  const at = (id: string) => `${resource.path}/${segment(id)}`;
  // The output of R's schema is View<R>, which TypeScript cannot infer through the type parameter.
  const view = (answer: ApiResponse) => read(resource.view, answer) as View<R>;
  const envelope = z.object({
    [resource.collection]: unknowns,
    next_page_uri: nextPage,
  });

  async function page(options: PageOptions<R> = {}) {
    const { limit, beforeId, beforeMetadata, filter, createdAfter, createdBefore, ...call } = options;
    const query = {
      ...Object.fromEntries(entriesOf(filter).map(([name, value]) => [parameterOf(name), value])),
      created_after: createdAfter,
      created_before: createdBefore,
      limit,
      before_metadata: beforeMetadata,
      before_id: beforeId,
    };
    const answer = await transport.send({ method: 'GET', path: resource.path, query, ...call });
    const list = read(envelope, answer);
    // Items of a list have no ETag.
    const items = unknowns.parse(list[resource.collection]).map((body) => view({ ...answer, body, etag: undefined }));
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
    async create(body, options = {}) {
      const answer = await transport.send({ method: 'POST', path: resource.path, body, ...options });
      return view(answer);
    },
    async get(id, options = {}) {
      const answer = await transport.send({ method: 'GET', path: at(id), ...options });
      return view(answer);
    },
    async update(id, body, options = {}) {
      const answer = await transport.send({ method: 'PATCH', path: at(id), body, ...options });
      return view(answer);
    },
    async delete(id, options = {}) {
      await transport.send({ method: 'DELETE', path: at(id), ...options });
    },
    page,
    async *list(options = {}) {
      let start: PageStart | undefined;
      do {
        const current: Page<View<R>> = await page({ ...options, ...start });
        yield* current.items;
        start = current.next;
      } while (start !== undefined);
    },
  };
}
