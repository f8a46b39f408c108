/** Calls for one family. */
import { z } from 'zod';
import type { Create, Resource, Update, View } from '../resources/definition/resource.ts';
import type { CallOptions, ChangeOptions, CreateOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { unusableResponse } from './errors.ts';
import { segment } from './path-segment.ts';
import type { ApiResponse } from './response.ts';
import type { Transport } from './transport.ts';

export interface Page<T> {
  items: T[];
  /** Id to pass as `beforeId` for the next page; undefined at the end. */
  next: string | undefined;
}

/** The calls of one family. All throw ApiError or ApiUnreachableError. */
export interface FamilyClient<R extends Resource> {
  create(body: Create<R>, options?: CreateOptions): Promise<View<R>>;
  get(id: string, options?: CallOptions): Promise<View<R>>;
  update(id: string, body: Update<R>, options?: ChangeOptions): Promise<View<R>>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  /** One page, newest first, of at most `limit` (1–100, default 100). */
  page(options?: CallOptions & { limit?: number; beforeId?: string | undefined }): Promise<Page<View<R>>>;
  /** All of them, newest first, page by page. */
  list(options?: CallOptions): AsyncGenerator<View<R>, void, undefined>;
}

const unknowns = z.array(z.unknown());
const nextPage = z.string().nullable();
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

  async function page(options: CallOptions & { limit?: number; beforeId?: string | undefined } = {}) {
    const { limit, beforeId, ...call } = options;
    const query = { limit, before_id: beforeId };
    const answer = await transport.send({ method: 'GET', path: resource.path, query, ...call });
    const list = read(envelope, answer);
    // Items of a list have no ETag.
    const items = unknowns.parse(list[resource.collection]).map((body) => view({ ...answer, body, etag: undefined }));
    const uri = nextPage.parse(list.next_page_uri);
    if (uri === null) return { items, next: undefined };
    const next = URL.parse(uri, ANYWHERE)?.searchParams.get('before_id');
    if (!next || next === beforeId) {
      const { status } = answer;
      const detail = "the body's next_page_uri: does not lead to another page";
      throw unusableResponse({ answer: `${status} with JSON of another form`, detail, status });
    }
    return { items, next };
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
      let beforeId: string | undefined;
      do {
        const current: Page<View<R>> = await page({ ...options, beforeId });
        yield* current.items;
        beforeId = current.next;
      } while (beforeId !== undefined);
    },
  };
}
