/** Reads the DER of keys, and refuses what is malformed. */
import { expect, test } from 'vitest';
import { elementsOf, firstElement, MalformedDer, numberIn, TAG } from '../../../src/api/certificates/der.ts';
import { integer, none, octets, sequence } from './der.ts';

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

test.each([0, 1, 127, 128, 255, 256, 65_535])(
  'reads an element of %i bytes and ignores the bytes after it',
  (length) => {
    const content = Buffer.alloc(length, 7);
    const { tag, content: read } = firstElement(Buffer.concat([octets(content), none()]));
    expect(tag).toBe(TAG.octets);
    expect(read.equals(content)).toBe(true);
  },
);

test('reads the elements of a sequence to its end', () => {
  const all = elementsOf(firstElement(sequence(integer(1), octets(Buffer.alloc(200)), none())));
  expect(all.map(({ tag, content }) => [tag, content.length])).toEqual([
    [TAG.integer, 1],
    [TAG.octets, 200],
    [0x05, 0],
  ]);
  expect(elementsOf(firstElement(sequence()))).toEqual([]);
});

test.each([
  ['02 01 00', ''],
  ['02 03 00 00 00', ''],
  ['02 01 01', '01'],
  ['02 03 00 80 00', '8000'],
])('the number %s is %s without its leading zeros', (given, expected) => {
  expect(numberIn(firstElement(bytes(given))).toString('hex')).toBe(expected);
});

test.each([
  ['empty input', '', 'is truncated'],
  ['a tag alone', '30', 'is truncated'],
  ['less content than its length', '04 02 07', 'is truncated'],
  ['fewer length bytes than announced', '04 82 01', 'is truncated'],
  ['an indefinite length', '30 80 00 00', 'has a form that DER forbids'],
  ['a tag of several bytes', '1f 01 00', 'has a form that DER forbids'],
  ['a tag of several bytes for a sequence', '3f 01 00', 'has a form that DER forbids'],
])('refuses %s', (_, given, message) => {
  const read = () => firstElement(bytes(given));
  expect(read).toThrow(MalformedDer);
  expect(read).toThrow(message);
});

test('refuses an element of another type than the one asked for', () => {
  expect(() => elementsOf(firstElement(octets(Buffer.alloc(2))))).toThrow('has another element');
  expect(() => elementsOf(undefined)).toThrow('has another element');
  expect(() => numberIn(firstElement(octets(Buffer.alloc(2))))).toThrow('has no number');
  expect(() => numberIn(undefined)).toThrow('has no number');
});
