/** Entity tags in headers, and how they compare with a revision. */
import { expect, test } from 'vitest';
import { checkIfMatch, etagOf, isUnchanged, parseTags, type Tags } from '../../../src/api/http/entity-tags.ts';

test.each<[string | undefined, Tags | undefined]>([
  [undefined, undefined],
  [' * ', '*'],
  ['"7"', ['"7"']],
  ['"7", W/"8",,"a,b" ', ['"7"', 'W/"8"', '"a,b"']],
  ['""', ['""']],
])('%j has the tags %j', (header, tags) => {
  expect(parseTags('If-Match', header)).toEqual(tags);
});

test.each(['', ' ', ',', '7', '"7', '"7" "8"', '"7", x', '*, "7"'])('%j is malformed', (header) => {
  expect(() => parseTags('If-Match', header)).toThrow(
    expect.objectContaining({ details: { 'If-Match': expect.stringContaining('entity tags in double quotes') } }),
  );
});

test.each<[Tags | undefined, matches: boolean, isKnown: boolean]>([
  [undefined, true, false],
  ['*', true, true],
  [[etagOf(7)], true, true],
  [['"6"', etagOf(7)], true, true],
  [[`W/${etagOf(7)}`], false, true],
  [['"6"', `W/${etagOf(7)}`], false, true],
  [['"6"'], false, false],
])('with %j, revision 7 may be changed: %j, and is known: %j', (tags, matches, isKnown) => {
  const check = () => checkIfMatch(tags, 7);
  if (matches) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: 'PRECONDITION_FAILED', details: { etag: '"7"' } }));
  expect(isUnchanged(tags, 7)).toBe(isKnown);
});
