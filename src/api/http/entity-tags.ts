/** Entity tags (RFC 9110, sections 8.8.3 and 13.1): the revision of a resource, quoted. */
import { ApiError, invalidByRule } from '../errors/errors.ts';

export type Tags = '*' | readonly string[];

export function etagOf(revision: number): string {
  return `"${revision}"`;
}

/** A tag, or nothing, and the comma after it. A tag may itself contain commas. */
const ELEMENT = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;

/** The tags of an If-Match or If-None-Match header; undefined when there is none. */
export function parseTags(header: string, value: string | undefined): Tags | undefined {
  if (value === undefined) return undefined;
  if (value.trim() === '*') return '*';
  const tags: string[] = [];
  for (ELEMENT.lastIndex = 0; ELEMENT.lastIndex < value.length; ) {
    const element = ELEMENT.exec(value);
    if (!element) throw malformed(header);
    if (element[1] !== undefined) tags.push(element[1]);
  }
  if (tags.length === 0) throw malformed(header);
  return tags;
}

const malformed = (header: string) =>
  invalidByRule({ [header]: 'must be "*" or entity tags in double quotes, as in the ETag header' });

/** Throws PRECONDITION_FAILED when the resource is not at a revision that the caller accepts (strong comparison). */
export function checkIfMatch(tags: Tags | undefined, revision: number): void {
  if (tags === undefined || tags === '*' || tags.includes(etagOf(revision))) return;
  throw new ApiError('PRECONDITION_FAILED', 'The resource has changed in the meantime; read it again.', {
    etag: etagOf(revision),
  });
}

/** Whether the caller has this revision already (weak comparison). */
export function isUnchanged(tags: Tags | undefined, revision: number): boolean {
  if (tags === undefined) return false;
  return tags === '*' || tags.some((tag) => tag.replace(/^W\//, '') === etagOf(revision));
}
