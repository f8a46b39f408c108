/** Entity tags (RFC 9110, sections 8.8.3 and 13.1): the revision of a resource, quoted. */
import { ApiError, invalidRequest } from './errors.ts';

export type Tags = '*' | readonly string[];

export function etagOf(revision: number): string {
  return `"${revision}"`;
}

const TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** The tags of an If-Match or If-None-Match header; undefined when there is none. */
export function parseTags(header: string, value: string | undefined): Tags | undefined {
  if (value === undefined) return undefined;
  if (value.trim() === '*') return '*';
  // Our own tags have no comma, so a list splits at every one.
  const tags = value
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  if (tags.length === 0 || !tags.every((tag) => TAG.test(tag))) {
    throw invalidRequest({ [header]: 'must be "*" or entity tags in double quotes, as the ETag header had them' });
  }
  return tags;
}

/** Throws PRECONDITION_FAILED when the resource is not at a revision that the caller accepts (strong comparison). */
export function checkIfMatch(tags: Tags | undefined, revision: number): void {
  if (tags === undefined || tags === '*' || tags.includes(etagOf(revision))) return;
  throw new ApiError('PRECONDITION_FAILED', 'The resource has changed since; read it again.', {
    etag: etagOf(revision),
  });
}

/** Whether the caller has this revision already (weak comparison). */
export function isUnchanged(tags: Tags | undefined, revision: number): boolean {
  if (tags === undefined) return false;
  return tags === '*' || tags.some((tag) => tag.replace(/^W\//, '') === etagOf(revision));
}
