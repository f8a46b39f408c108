/** Every event type: three for each family and each module, and those of certificates. */

import { distance } from 'fastest-levenshtein';
import type { Refusal } from '../../resources/definition/errors.ts';
import type { EventType } from '../../resources/definition/event-type.ts';
import { eventTypes } from '../../resources/definition/resource.ts';
import {
  CERTIFICATE_EVENTS,
  certificateEventType,
  EVENT_SUBJECTS,
  type EventSubject,
} from '../../resources/event-subjects.ts';
import { withArticle, words } from '../errors/naming.ts';

export interface Catalogue {
  readonly types: readonly EventType[];
  /** Why a type is unknown, with suggestions; undefined if it is known. */
  problem(type: string): Refusal | undefined;
}

/** The catalogue of this release. */
export const CATALOGUE = catalogue(EVENT_SUBJECTS);

function catalogue(subjects: readonly EventSubject[]): Catalogue {
  const ofSubjects = subjects.flatMap(({ name, family, module }) => {
    const one = withArticle(family);
    const subject = module === undefined ? one.replace(/^a/, 'A') : `The ${words(module)} module of ${one}`;
    return Object.entries(eventTypes(name)).map(([kind, type]) => ({ type, description: `${subject} was ${kind}.` }));
  });
  const ofCertificates = Object.entries(CERTIFICATE_EVENTS).map(([kind, description]) => ({
    type: certificateEventType(kind),
    description,
  }));
  const types = [...ofSubjects, ...ofCertificates];
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
