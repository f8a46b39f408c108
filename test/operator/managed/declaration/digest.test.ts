/** Digests of texts from Secrets and ConfigMaps, which statuses keep. */
import { expect, test } from 'vitest';
import { DigestedText, digester } from '../../../../src/operator/managed/declaration/digest.ts';

test('a digest is the same in every release, so an upgrade does not update every resource with a source', () => {
  expect(digester('tnl_ak_x')('uid', 'path', 'text')).toBe('s4Mg2TmeW4WHtE7JbSuWfK');
});

test('a digest differs with the key, object, path and text', () => {
  const digests = [
    digester('a')('uid', 'path', 'text'),
    digester('b')('uid', 'path', 'text'),
    digester('a')('uid-2', 'path', 'text'),
    digester('a')('uid', 'path-2', 'text'),
    digester('a')('uid', 'path', 'text-2'),
  ];
  expect(new Set(digests).size).toBe(digests.length);
});

test('a text known only by its digest equals that text alone', () => {
  const known = new DigestedText((text) => text === 'a');
  expect(['a', 'b', 1, undefined].map((text) => known.isText(text))).toEqual([true, false, false, false]);
  expect(new DigestedText(() => true).isText(1)).toBe(false);
});
