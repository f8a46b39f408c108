/** String schemas that all families share: what Postgres can store, and limits in bytes or in characters. */
import { z } from 'zod';

const NUL = '\u0000';
const encoder = new TextEncoder();

/** Length in UTF-8 bytes. */
export function byteLength(value: string): number {
  return encoder.encode(value).length;
}

/** Text that survives storage: no NUL character (Postgres refuses it) and no lone surrogate (not valid UTF-8). */
export function text() {
  return z
    .string()
    .refine((value) => !value.includes(NUL), 'must not contain a NUL character')
    .refine((value) => value.isWellFormed(), 'must be valid Unicode (it contains a lone surrogate)');
}

/**
 * Text of at most `max` UTF-8 bytes. `maxLength` in the JSON schema is implied (a character has at least one byte);
 * `x-max-bytes` carries the real rule to the OpenAPI document and the CRDs.
 */
export function bytes(max: number) {
  return (
    text()
      // A UTF-16 unit is at most three bytes, so most values need no encoding to be measured.
      .refine((value) => value.length * 3 <= max || byteLength(value) <= max, {
        error: (issue) => `must be at most ${max} bytes of UTF-8, but is ${byteLength(String(issue.input))}`,
      })
      .meta({ maxLength: max, 'x-max-bytes': max })
  );
}

/** Text of at most `max` characters (Unicode code points). */
export function chars(max: number) {
  return text()
    .refine((value) => [...value].length <= max, {
      error: (issue) => `must be at most ${max} characters, but is ${[...String(issue.input)].length}`,
    })
    .meta({ maxLength: max });
}

/**
 * JSON schema keywords that approximate checks in code, and never refuse what the code accepts. Only for the OpenAPI
 * document: the code has better messages, and the CRDs have CEL rules.
 */
export const form = (keywords: Readonly<Record<string, unknown>>) => ({ 'x-form': keywords });

/**
 * A string that matches a regular expression without flags.
 * @param says the same in words, with an example, for the CRDs
 */
export const pattern = (expression: RegExp, says: string) => form({ pattern: expression.source, 'x-message': says });

/** What a text must not contain. Expressions have no flags, and only syntax that the API server's RE2 shares. */
export interface Refused {
  found: RegExp;
  /** Where this matches as well, the text is accepted. */
  unless?: RegExp;
  /** Why, as in `must not …`. */
  says: string;
}

/** Documents for the CRDs what is refused. Code that has better messages checks it. */
export const refused = (...all: readonly Refused[]) => ({
  'x-refused': all.map(({ found, unless, says }) => ({ found: found.source, unless: unless?.source, says })),
});

/** Refuses such text. */
export function refusing<T extends z.ZodType<string>>(schema: T, ...all: readonly Refused[]): T {
  const checked = all.reduce(
    (each, { found, unless, says }) => each.refine((value) => !found.test(value) || unless?.test(value) === true, says),
    schema,
  );
  return checked.meta(refused(...all));
}

/** They make a text look different from what it is (Unicode Technical Report 36, section 3.2). */
const BIDIRECTIONAL: Refused = {
  found: /[\u202a-\u202e\u2066-\u2069]/,
  says: 'must not contain bidirectional controls (U+202A to U+202E, U+2066 to U+2069)',
};

/** Text that people see in one line: a terminal would execute control characters. */
export const oneLine = <T extends z.ZodType<string>>(schema: T): T =>
  refusing(
    schema,
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    { found: /[\u0000-\u001f\u007f-\u009f]/, says: 'must not contain line breaks or other control characters' },
    BIDIRECTIONAL,
  );

/** Text that may have several lines. */
export const lines = <T extends z.ZodType<string>>(schema: T): T =>
  refusing(
    schema,
    {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
      found: /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/,
      says: 'must not contain control characters other than tab and newline',
    },
    { found: /\r([^\n]|$)/, says: 'must not contain a carriage return without a newline after it' },
    BIDIRECTIONAL,
  );

/** Not a space of any script, nor a character of no width. RE2 knows only the spaces of ASCII as `\s`. */
const VISIBLE = /[^\s\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]/;
const BLANK = 'must not be blank';

/** Text with at least one character that people can see. */
export const visible = (schema: z.ZodString) =>
  schema
    .min(1, 'must not be empty')
    .refine((value) => VISIBLE.test(value), BLANK)
    .meta(pattern(VISIBLE, BLANK));

/** RFC 3339 in UTC with milliseconds, as every timestamp in a response is. */
export function timestamp() {
  return z.iso.datetime({ offset: true }).meta({ examples: ['2026-11-21T10:00:00.000Z'] });
}

/** RFC 3339, section 5.6, allows lower-case letters. */
const INSTANT = new RegExp(
  z.regexes.datetime({ offset: true }).source.replaceAll(/[TZ]/g, (letter) => `[${letter}${letter.toLowerCase()}]`),
);
const LEAP_SECOND = /:60(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

const noInstant = (input: unknown) =>
  LEAP_SECOND.test(String(input))
    ? 'must not be a leap second, which the service cannot store: give second 59, or 00 of the next minute'
    : 'must be a valid date and time with an offset from UTC, as in 2026-11-21T10:00:00Z (RFC 3339)';

/** A timestamp as requests carry it, with any offset; parsed to UTC with milliseconds. */
export function instant() {
  return z
    .string()
    .regex(INSTANT, { error: ({ input }) => noInstant(input) })
    .transform((value) => new Date(value.toUpperCase()).toISOString())
    .refine((value) => /^(?!0000)\d{4}-/.test(value), 'must be between the years 0001 and 9999 UTC')
    .meta({ examples: ['2026-11-21T10:00:00Z'], ...form({ format: 'date-time' }) });
}

/** Milliseconds since 1970; undefined if the text is not a timestamp. */
export function timeOf(value: string): number | undefined {
  return INSTANT.test(value) ? Date.parse(value.toUpperCase()) : undefined;
}

/** A timestamp as requests carry it, truncated to whole seconds. */
export function second() {
  const examples = ['2026-11-21T10:00:00Z'];
  return instant()
    .transform((value) => new Date(Math.floor(Date.parse(value) / 1000) * 1000).toISOString())
    .meta({ examples, ...form({ format: 'date-time' }) });
}

/** The same in responses, without a fraction of a second. */
export const shownSecond = () =>
  z.iso.datetime({ offset: true, precision: 0 }).meta({ examples: ['2026-11-21T10:00:00Z'] });

/** All times are stored with milliseconds; this drops them. */
export const showSecond = (stored: unknown) => (typeof stored === 'string' ? stored.replace(/\.\d+(?=Z$)/, '') : null);
