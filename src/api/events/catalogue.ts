/** Every event type: three per family. */

import { distance } from 'fastest-levenshtein';
import type { Refusal } from '../../resources/definition/errors.ts';
import type { EventType } from '../../resources/definition/event-type.ts';
import { eventTypes, type Resource } from '../../resources/definition/resource.ts';
import { FAMILIES } from '../../resources/families.ts';
import { withArticle } from '../errors/naming.ts';

export interface Catalogue {
  readonly types: readonly EventType[];
  /** Why a type is unknown, with suggestions; undefined if it is known. */
  problem(type: string): Refusal | undefined;
}

/** The catalogue of this release. */
export const CATALOGUE = catalogue(FAMILIES);

/** The catalogue of these families. */
function catalogue(families: readonly Resource[]): Catalogue {
  const types = families.flatMap(({ name }) => {
    const subject = withArticle(name).replace(/^a/, 'A');
    return Object.entries(eventTypes(name)).map(([kind, type]) => ({ type, description: `${subject} was ${kind}.` }));
  });
  const known = new Set<string>(types.map(({ type }) => type));
  return {
    types,
    problem: (type) =>
      known.has(type)
        ? undefined
        : {
            reason: `"${type.slice(0, 64)}" is not an event type; the most similar ones are ${nearest(type, [...known]).join(', ')}`,
            fixed: 'is not an event type',
          },
  };
}

const SUGGESTED = 3;

/** The most similar of `known`, most similar first. */
export function nearest(type: string, known: readonly string[]): string[] {
  return known
    .toSorted()
    .map((each) => ({ each, far: distance(type, each) }))
    .toSorted((a, b) => a.far - b.far)
    .slice(0, SUGGESTED)
    .map(({ each }) => each);
}
