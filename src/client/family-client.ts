/** Calls for one family. */
import type { FilterValues } from '../resources/definition/filter.ts';
import type { Create, Resource, Update, View } from '../resources/definition/resource.ts';
import type { CallOptions, ChangeOptions, CreateOptions } from './call-options.ts';
import { read } from './entity-tags.ts';
import { type FilteredBy, type ListClient, listClient, type PageFilteredBy } from './list-client.ts';
import { segment } from './path-segment.ts';
import type { ApiResponse } from './response.ts';
import type { Transport } from './transport.ts';

/** Which resources a list has: at most one filter besides the owner. */
export type ListOptions<R extends Resource> = FilteredBy<FilterValues<R>>;
export type PageOptions<R extends Resource> = PageFilteredBy<FilterValues<R>>;

/** The calls of one family. All throw ApiError or ApiUnreachableError. */
export interface FamilyClient<R extends Resource> extends ListClient<View<R>, FilterValues<R>> {
  create(body: Create<R>, options?: CreateOptions): Promise<View<R>>;
  get(id: string, options?: CallOptions): Promise<View<R>>;
  update(id: string, body: Update<R>, options?: ChangeOptions): Promise<View<R>>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
}

export function familyClient<R extends Resource>(transport: Transport, resource: R): FamilyClient<R> {
  const at = (id: string) => `${resource.path}/${segment(id)}`;
  // The output of R's schema is View<R>, which TypeScript cannot infer through the type parameter.
  const view = (answer: ApiResponse) => read(resource.view, answer) as View<R>;

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
    ...listClient<View<R>, FilterValues<R>>(transport, resource, view),
  };
}
