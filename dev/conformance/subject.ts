/** A family as the rows of conventions speak of it. */
import { withArticle, words } from '../../src/api/errors/naming.ts';
import type { Field, Resource } from '../../src/resources/definition/resource.ts';
import type { Body } from '../../src/resources/definition/samples.ts';
import { listPath, neededBy } from '../fixtures/samples.ts';
import { post, type Step } from './row.ts';

/** A family in the words of its rows. */
export interface Subject {
  readonly family: Resource;
  /** As in a sentence: `an IP policy`. */
  readonly one: string;
  readonly many: string;
  /** Address of the list. */
  readonly path: string;
  /** Address of the resource that is created as `made`. */
  readonly address: string;
  readonly least: Body;
  /** The resources that the path and the least body refer to. */
  readonly given: Readonly<Record<string, Step>>;
  /** The same, and the resource with the least body, as `made`. */
  readonly made: Readonly<Record<string, Step>>;
}

export function subjectOf(family: Resource): Subject {
  const { name, table, samples } = family;
  const path = listPath(family);
  const { least } = samples;
  const given = givenFor(family, least);
  const made = { ...given, made: post(path, least) };
  return { family, one: withArticle(name), many: words(table), path, address: `${path}/{made.id}`, least, given, made };
}

/** The requests that must precede one with this body. */
export const givenFor = (family: Resource, body: Body) =>
  Object.fromEntries(neededBy(family, body).map((other) => [other.name, post(listPath(other), other.samples.least)]));

export const fieldsOf = (family: Resource, isMeant: (field: Field) => boolean) =>
  Object.entries(family.fields).filter(([, field]) => isMeant(field));

/** The same, with another number. */
export const other = (body: Body): Body => JSON.parse(JSON.stringify(body).replaceAll(/\{(n|hex)\}/g, '{$1_other}'));

/** At the beginning of a sentence. */
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
