/** No text, however long and of whatever it is made, keeps the process from everything else: checks are linear. */
import { expect, test } from 'vitest';
import { FAMILIES } from '../../../src/resources/families.ts';

/** What a pattern may repeat, between two others: there a search for its end begins anew at every place. */
const PIECES = [' ', '\t', '\n', '=', '.', '-', '/', 'a.', '%2F', '*.', ':', '\u200b'];
const LENGTH = 512 * 1024;
const texts = PIECES.flatMap((piece) => {
  const run = piece.repeat(LENGTH / piece.length);
  return [`a${run}b`, `ssh-rsa ${run}b`, `-----BEGIN CERTIFICATE-----${run}b`];
});

test.each(FAMILIES.map(({ name, fields }) => [name, fields] as const))('of %s', (_, fields) => {
  for (const { input } of Object.values(fields)) {
    // Whether they are taken or refused. What is quadratic would take minutes for one of them.
    for (const text of texts) for (const given of [text, [text]]) expect(input.safeParse(given)).toBeDefined();
  }
});
