/** How references and sources may be written in a spec; inputs.test.ts has what they are read as. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Reference, Source } from '../../../../src/operator/managed/declaration/input.ts';
import { refTo, sourceOf, tlsSecretRef } from '../../../../src/operator/managed/declaration/input-schemas.ts';

const policy = { title: 'IPPolicy', prefix: 'ipp' };
const edge = { title: 'TLSEdge', prefix: 'edgtls' };
const one = refTo([policy], 'A policy.');
const two = refTo([policy, edge], 'One of them.');
const text = z.string().max(5);
const source = sourceOf(text);
const long = (length: number) => 'a'.repeat(length);
const problem = (schema: z.ZodType, given: unknown) => schema.safeParse(given).error?.issues[0]?.message;

describe('a reference', () => {
  test.each([
    ['a name of one letter', { name: 'a' }, true],
    ['the longest name', { name: long(253) }, true],
    ['a longer name', { name: long(254) }, false],
    ['an empty name', { name: '' }, false],
    ['a namespace of one letter', { name: 'a', namespace: 'b' }, true],
    ['the longest namespace', { name: 'a', namespace: long(63) }, true],
    ['a longer namespace', { name: 'a', namespace: long(64) }, false],
    ['an empty namespace', { name: 'a', namespace: '' }, false],
  ])('may have %s or not', (_, given, expected) => {
    expect(one.safeParse(given).success).toBe(expected);
  });

  test('names its kind only where there are several', () => {
    expect(two.parse({ kind: 'IPPolicy', name: 'a' })).toEqual(new Reference({ kind: 'IPPolicy', name: 'a' }));
    expect(one.safeParse({ kind: 'IPPolicy', name: 'a' }).success).toBe(false);
    expect(two.safeParse({ kind: 'Other', name: 'a' }).success).toBe(false);
  });

  test('says what it must name', () => {
    expect(problem(one, {})).toBe('must name a IPPolicy, or have an id');
    expect(problem(two, { name: 'a' })).toBe('must name a IPPolicy or TLSEdge, or have an id');
  });

  test('by id may be to any of the kinds, or has the form that the one kind has', () => {
    const id = 'edgtls_01jd0000000000000000000000';
    expect(two.parse({ id })).toBe(id);
    const own = refTo([{ ...policy, id: z.literal('own') }], 'A policy.');
    expect(own.parse({ id: 'own' })).toBe('own');
    expect(own.safeParse({ id: 'ipp_01jd0000000000000000000000' }).success).toBe(false);
    expect(refTo([{ ...policy, id: z.literal('own') }, edge], 'One of them.').parse({ id })).toBe(id);
  });

  test('is immutable where that is declared', () => {
    const bound = refTo([policy], 'A policy.', { isImmutable: true });
    expect(bound.parse({ name: 'a' })).toMatchObject({ isImmutable: true });
    expect(one.parse({ name: 'a' })).toMatchObject({ isImmutable: false });
  });
});

describe('a source', () => {
  const from = (key: string) => ({ secretKeyRef: { name: 'app', key } });

  test.each([
    ['a key of one letter', from('k'), true],
    ['the longest key', from(long(253)), true],
    ['a longer key', from(long(254)), false],
    ['an empty key', from(''), false],
    ['a name of one letter', { configMapKeyRef: { name: 'a', key: 'k' } }, true],
    ['no name', { configMapKeyRef: { key: 'k' } }, false],
    ['no key', { configMapKeyRef: { name: 'a' } }, false],
    ['an empty text', { value: '' }, true],
  ])('may have %s or not', (_, given, expected) => {
    expect(source.safeParse(given).success).toBe(expected);
  });

  test('says what it must have', () => {
    const both = { value: 'a', ...from('k') };
    for (const given of [{}, both]) {
      expect(problem(source, given)).toBe('must have exactly one of value, secretKeyRef and configMapKeyRef');
    }
  });

  test('knows what its text must be', () => {
    expect(source.parse(from('k'))).toEqual(new Source({ kind: 'Secret', name: 'app', key: 'k' }, text));
  });

  test('is all keys of a Secret that is named alone', () => {
    const tls = tlsSecretRef({ 'tls.crt': text, 'tls.key': text });
    expect(tls.parse({ name: 'a' })).toEqual({
      'tls.crt': new Source({ kind: 'Secret', name: 'a', key: 'tls.crt' }, text),
      'tls.key': new Source({ kind: 'Secret', name: 'a', key: 'tls.key' }, text),
    });
    expect(tls.safeParse({}).success).toBe(false);
  });
});
