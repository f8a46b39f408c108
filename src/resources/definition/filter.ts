/** Filters of lists, such as `filter[domain]=app.example.com`. They follow from the fields that are `filterable`. */
import { z } from 'zod';
import { text } from '../formats/text.ts';
import { withoutNone } from './none.ts';
import type { Fields, Filterable, Resource } from './resource.ts';

/** Characters of a text that a prefix can have, and that are indexed: a row of an index must fit into a third of a page. */
export const MAX_PREFIX = 128;

export interface Filter {
  /** As in `filter[name]`. */
  readonly name: string;
  readonly field: string;
  readonly by: Filterable;
  readonly schema: z.ZodType<string>;
}

type FilterName<F extends Fields> = {
  [K in keyof F & string]: F[K] extends { readonly filterable: 'prefix' }
    ? `${K}_prefix`
    : F[K] extends { readonly filterable: Filterable }
      ? K
      : never;
}[keyof F & string];

/** The values that a list of the family can be limited to. */
export type FilterValues<R extends Resource> = { readonly [N in FilterName<R['fields']>]?: string | undefined };

export const parameterOf = (name: string) => `filter[${name}]`;

/** The filters of a family, in the order of its fields. */
export function filtersOf({ fields }: Pick<Resource, 'fields'>): Filter[] {
  return Object.entries(fields).flatMap(([field, { filterable: by, input }]): Filter[] => {
    if (!by) return [];
    if (by === 'prefix') return [{ name: `${field}_prefix`, field, by, schema: prefix }];
    // As in requests, so that other spellings of a value find it as well.
    const value = withoutNone(input);
    const one = by === 'element' && value instanceof z.ZodArray ? z.pipe(value.element, z.string()) : undefined;
    return [{ name: field, field, by, schema: one ?? z.pipe(value, z.string()) }];
  });
}

const prefix = text()
  .min(1, 'must not be empty')
  .max(MAX_PREFIX, `must be at most ${MAX_PREFIX} characters`)
  .meta({ examples: ['{"team":"platform"'] });

/** The part of a text that its index has. PostgreSQL counts code points as well. */
export const indexedPart = (value: string) => [...value.slice(0, 2 * MAX_PREFIX)].slice(0, MAX_PREFIX).join('');
