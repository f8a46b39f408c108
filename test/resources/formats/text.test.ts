import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import {
  byteLength,
  bytes,
  chars,
  instant,
  lines,
  oneLine,
  text,
  visible,
} from '../../../src/resources/formats/text.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 40 });
const storable = (value: string) => value.isWellFormed() && !value.includes('\u0000');

describe('a limit in bytes', () => {
  test('counts the bytes of UTF-8', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 0, max: 60 }), (value, max) => {
        fc.pre(storable(value));
        expect(byteLength(value)).toBe(Buffer.byteLength(value));
        expect(bytes(max).safeParse(value).success).toBe(Buffer.byteLength(value) <= max);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['a', 1],
    ['é', 2],
    ['€', 3],
    ['🙂', 4],
  ])('is exact if the last character is %s (%i bytes)', (character, size) => {
    for (const max of [255, 4096]) {
      const filled = 'x'.repeat(max - size) + character;
      expect(bytes(max).safeParse(filled).success).toBe(true);
      expect(bytes(max).safeParse(`x${filled}`).error?.issues[0]?.message).toContain(`is ${max + 1}`);
    }
  });
});

describe('a limit in characters', () => {
  test('counts code points, so that an emoji counts as one', () => {
    expect(chars(3).safeParse('🙂🙂🙂').success).toBe(true);
    expect(chars(2).safeParse('🙂🙂🙂').success).toBe(false);
  });
});

test('text is accepted exactly if the database can store it', () => {
  fc.assert(fc.property(anyText, (value) => void expect(text().safeParse(value).success).toBe(storable(value))));
  expect(text().safeParse('\ud83d').success).toBe(false);
});

describe('text for people', () => {
  const message = (schema: z.ZodString, value: string) => schema.safeParse(value).error?.issues[0]?.message;
  const all = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code)).filter((each) =>
    each.isWellFormed(),
  );
  const isControl = (character: string) => /\p{Cc}/u.test(character);
  const isBidirectional = (character: string) => /[\u202a-\u202e\u2066-\u2069]/.test(character);

  test('has no control characters in one line', () => {
    const wrong = all.filter((each) => !oneLine(text()).safeParse(`a${each}b`).success);
    expect(wrong).toEqual(all.filter((each) => isControl(each) || isBidirectional(each)));
    expect(message(oneLine(text()), 'a\n')).toMatch(/^must not contain line breaks/);
  });

  test('has tabs and newlines only in several lines', () => {
    const wrong = all.filter((each) => !lines(text()).safeParse(`a${each}b`).success);
    expect(wrong).toEqual(all.filter((each) => (isControl(each) && !'\t\n'.includes(each)) || isBidirectional(each)));
    expect(lines(text()).parse('a\r\n\r\n')).toBe('a\r\n\r\n');
    expect(message(lines(text()), 'a\r')).toMatch(/carriage return/);
  });

  test.each(['', ' ', '\u00a0\u3000', '\u200b', '\u2028\ufeff'])('is not a name if it is %j', (name) =>
    expect(message(visible(text()), name)).toMatch(/^must not be (empty|blank)$/),
  );
  test.each(['a', ' a ', '.', '例', '🐈'])('is a name if it is %j', (name) =>
    expect(visible(text()).parse(name)).toBe(name),
  );
});

describe('a timestamp in a request', () => {
  test('is read as the same instant in UTC with milliseconds, for every offset', () => {
    const date = fc.date({ min: new Date('0002-01-01'), max: new Date('9998-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(date, fc.integer({ min: -14 * 60, max: 14 * 60 }), (at, minutes) => {
        const local = new Date(at.getTime() + minutes * 60_000).toISOString().replace('Z', '');
        const size = Math.abs(minutes);
        const offset = `${minutes < 0 ? '-' : '+'}${String(Math.floor(size / 60)).padStart(2, '0')}:${String(size % 60).padStart(2, '0')}`;
        expect(instant().parse(local + offset)).toBe(at.toISOString());
      }),
    );
  });

  test.each([
    ['2026-11-21t10:00:00z', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21t10:00:00.5+01:00', '2026-11-21T09:00:00.500Z'],
  ])('may be in lower case: %s', (value, shown) => expect(instant().parse(value)).toBe(shown));

  test.each([
    ['2016-12-31T23:59:60Z', /^must not be a leap second.* 59.* 00/],
    ['2016-12-31t23:59:60.5+00:00', /leap second/],
    ['2026-11-21T10:00:00', /offset.*, as in 2026-11-21T10:00:00Z/],
    ['tomorrow', /, as in 2026-11-21T10:00:00Z/],
  ])('cannot be "%s", and the message says what is expected', (value, message) =>
    expect(instant().safeParse(value).error?.issues[0]?.message).toMatch(message),
  );

  test.each([
    '',
    'now',
    '2026-02-29T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    '9999-12-31T23:59:59-14:00',
  ])('cannot be "%s"', (value) => expect(instant().safeParse(value).success).toBe(false));
});
