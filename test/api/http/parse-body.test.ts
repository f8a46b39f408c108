/** How the body of an operation is parsed. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { parseBody } from '../../../src/api/http/validation.ts';
import { SET_BY_SERVICE, setByService, showing } from '../../../src/resources/definition/read-only.ts';

const RULES = z.strictObject({
  name: z.string().max(3).optional(),
  rules: z
    .array(z.strictObject({ cidr: z.string().min(1) }))
    .max(2)
    .optional(),
});
const READ_ONLY = {
  members: { id: SET_BY_SERVICE, kind: { reason: 'cannot be changed' }, shown: showing('rules') },
  inside: { rules: setByService(['id']) },
};

function bodyOf(body: unknown, { creates = false, params = {}, schema = RULES }: Partial<typeof AS_UPDATE> = {}) {
  try {
    return parseBody({ schema, readOnly: READ_ONLY, creates }, body, params);
  } catch (error) {
    if (error instanceof ApiError) return { details: error.details, fixed: error.fixed };
    throw error;
  }
}
const AS_UPDATE = { creates: false, params: {}, schema: RULES };

/** Reasons that may be logged unchanged. */
const refusedFor = (details: Record<string, string>) => ({ details, fixed: details });

describe('a body', () => {
  test.each([
    ['absent', undefined, {}],
    ['complete', { name: 'a', rules: [{ cidr: 'b' }] }, { name: 'a', rules: [{ cidr: 'b' }] }],
  ])('may be %s', (_, body, expected) => {
    expect(bodyOf(body)).toEqual({ body: expected, sentBack: [] });
  });

  test.each([
    ['null', null],
    ['an array', []],
    ['a string', 'x'],
  ])('must not be %s', (kind, body) => {
    expect(bodyOf(body)).toEqual(refusedFor({ body: `must be a JSON object, not ${kind}` }));
  });

  test('may repeat path parameters or leave them empty, but not contradict them', () => {
    const params = { policy: 'p_1', rule: 'r_1' };
    for (const more of [{ policy: 'p_1' }, { policy: 'p_1', rule: 'r_1' }, { policy: '', rule: null }]) {
      expect(bodyOf({ name: 'a', ...more }, { params })).toEqual({ body: { name: 'a' }, sentBack: [] });
    }
    expect(bodyOf({ policy: 'p_1', rule: 'r_2' }, { params })).toEqual(
      refusedFor({ '/rule': 'must equal the "rule" in the path' }),
    );
  });

  test('is refused for at most 50 problems', () => {
    const members = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n]));
    const unknown = Array.from({ length: 50 }, (_, n) => [`/k${n}`, 'unknown field']);
    expect(bodyOf(members)).toEqual(refusedFor(Object.fromEntries(unknown)));
  });

  test('is refused with additional fixed reasons, which are safe to log', () => {
    const schema = z.strictObject({
      a: z.string().refine(() => false, 'must not be secret'),
      b: z
        .record(
          z.string().refine(() => false, 'must not be secret'),
          z.string(),
        )
        .meta({ maxProperties: 3 }),
    });
    const readOnly = { members: {}, inside: {} };
    const body = { a: 'secret', b: { secret: 'x' } };
    expect(() => parseBody({ schema, readOnly, creates: false }, body, {})).toThrow(
      expect.objectContaining({
        details: { '/a': 'must not be secret', '/b/secret': 'the name: must not be secret' },
        fixed: { '/a': 'is not valid', '/b/secret': 'has a bad name or element' },
      }),
    );
  });
});

describe('read-only members of a body', () => {
  test('are passed on, to be compared with what is stored', () => {
    expect(bodyOf({ name: 'a', id: 'x', rules: [{ cidr: 'b', id: 'y' }] })).toEqual({
      body: { name: 'a', rules: [{ cidr: 'b' }] },
      sentBack: [
        { path: ['rules', 0, 'id'], at: ['rules', 0, 'id'], value: 'y', ...SET_BY_SERVICE },
        { path: ['id'], at: ['id'], value: 'x', ...SET_BY_SERVICE },
      ],
    });
  });

  test('are not reported while other members are invalid', () => {
    expect(bodyOf({ id: 'x', name: 5, other: 1 })).toEqual(
      refusedFor({ '/name': 'must be a string, not a number', '/other': 'unknown field' }),
    );
  });

  test('are refused on create, unless they are null or empty', () => {
    expect(bodyOf({ name: 'a', id: null, kind: '' }, { creates: true })).toEqual({
      body: { name: 'a' },
      sentBack: [],
    });
    expect(bodyOf({ kind: 'x' }, { creates: true })).toEqual(refusedFor({ '/kind': 'cannot be changed' }));
    expect(bodyOf({ kind: 'x', name: 5 }, { creates: true })).toEqual(
      refusedFor({ '/name': 'must be a string, not a number', '/kind': 'cannot be changed' }),
    );
  });
});

describe('a member that stands for another', () => {
  test('is read as that one, and problems name the place where it was sent', () => {
    expect(bodyOf({ name: 'a', shown: [{ cidr: 'b', id: 'y' }] })).toEqual({
      body: { name: 'a', rules: [{ cidr: 'b' }] },
      sentBack: [
        { path: ['rules', 0, 'id'], at: ['shown', 0, 'id'], value: 'y', ...SET_BY_SERVICE },
        { path: ['shown'], at: ['shown'], value: [{ cidr: 'b', id: 'y' }], reason: 'shows rules; set that' },
      ],
    });
    expect(bodyOf({ shown: [{ cidr: '' }] })).toEqual(refusedFor({ '/shown/0/cidr': 'must not be empty' }));
    expect(bodyOf({ shown: ['b'] })).toEqual(refusedFor({ '/shown/0': 'must be an object, not a string' }));
    expect(bodyOf({ shown: 'b', name: 5 })).toEqual({
      details: { '/shown': 'shows rules; set that', '/name': 'must be a string, not a number' },
      fixed: { '/shown': 'is not valid', '/name': 'must be a string, not a number' },
    });
  });

  test.each([
    ['when that one is sent as well', { rules: [{ cidr: 'b' }], shown: [{ cidr: 'c' }] }, { rules: [{ cidr: 'b' }] }],
    ['when it is null', { name: 'a', shown: null }, { name: 'a' }],
  ])('sets nothing %s', (_, body, expected) => {
    expect(bodyOf(body)).toMatchObject({ body: expected });
  });
});
