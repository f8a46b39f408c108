/** The operations of every family: GET one, GET a page of 100 and, where the rival supports it, POST. */
import { isDeepStrictEqual } from 'node:util';
import { idOfRow } from '../../dev/database/fill.ts';
import { fill } from '../../dev/fixtures/placeholders.ts';
import { listPath, neededBy, numbered, type Sample } from '../../dev/fixtures/samples.ts';
import { MOUNTED, type Mounted } from '../../src/api/families/all.ts';
import type { Resource } from '../../src/resources/definition/resource.ts';
import type { LoadOrder } from '../load-process.ts';

export interface Case {
  /** The title of its row in the table. */
  title: string;
  family: Resource;
  /** The request, for a database with these samples. */
  requests(samples: ReadonlyMap<string, readonly Sample[]>): Pick<LoadOrder, 'method' | 'path' | 'body' | 'lists'>;
}

export const CASES: readonly Case[] = MOUNTED.flatMap((mounted): Case[] => {
  const family = mounted.resource;
  const { name, samples } = family;
  const title = listPath(family).replaceAll(/\{[\w.]+\}/g, '{id}');
  const firstOf = (made: ReadonlyMap<string, readonly Sample[]>) => {
    const first = made.get(name)?.[0];
    if (!first) throw new Error(`there is no sample of ${name}`);
    return first;
  };
  const reads: Case[] = [
    {
      title: `GET ${title}/{id}`,
      family,
      requests(made) {
        const { path, made: one } = firstOf(made);
        return { method: 'GET', path: `${path}/${one.id}` };
      },
    },
    {
      title: `GET ${title}?limit=100`,
      family,
      requests: (made) => ({ method: 'GET', path: `${firstOf(made).path}?limit=100` }),
    },
  ];
  if (!hasPlainCreate(mounted)) return reads;
  const create: Case = {
    title: `POST ${title}`,
    family,
    requests(made) {
      const needed = neededBy(family, samples.full).map((other) => other.name);
      const lists = needed.map((other) => [other, made.get(other)?.map((sample) => sample.made) ?? []] as const);
      return {
        method: 'POST',
        path: listPath(family),
        body: JSON.stringify(samples.full),
        lists: Object.fromEntries(lists),
      };
    },
  };
  return [...reads, create];
});

/** Whether the definition alone describes a create: no hooks take part, and the body is stored as it was sent. */
function hasPlainCreate({ resource, hooks }: Mounted): boolean {
  const { fields, samples } = resource;
  // Without derived fields, the hook sets nothing; it can only refuse.
  const derives = hooks.derive && Object.values(fields).some(({ onCreate }) => onCreate === 'derived');
  if (hooks.draft || hooks.prepare || hooks.beforeCreate || derives) return false;
  const ids = neededBy(resource, samples.full).map(({ name, prefix }) => [name, { id: idOfRow(prefix, 1) }] as const);
  const sent = fill(samples.full, { ...numbered(1), ...Object.fromEntries(ids) });
  return isDeepStrictEqual(resource.create.parse(sent), sent);
}
