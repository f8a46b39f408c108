/** A family as the rows of the conformance table speak of it. */
import { withArticle, words } from '../../src/api/errors/naming.ts';
import type { Resource } from '../../src/resources/definition/resource.ts';
import type { Body } from '../../src/resources/definition/samples.ts';
import { listPath, neededBy } from '../fixtures/samples.ts';
import { post, type Step } from './row.ts';

export interface Subject {
  /** As in a sentence: `an IP policy`. */
  readonly one: string;
  readonly many: string;
  /** Address of the list. */
  readonly path: string;
  readonly least: Body;
  /** What the path and the least body refer to. */
  readonly given: Readonly<Record<string, Step>>;
}

export function subjectOf(family: Resource): Subject {
  const { name, table, samples } = family;
  const { least } = samples;
  return { one: withArticle(name), many: words(table), path: listPath(family), least, given: givenFor(family, least) };
}

/** The requests that come before one with this body. */
export const givenFor = (family: Resource, body: Body) =>
  Object.fromEntries(neededBy(family, body).map((other) => [other.name, post(listPath(other), other.samples.least)]));
