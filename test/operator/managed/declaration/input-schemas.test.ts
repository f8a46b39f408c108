/** How references and sources are written in a spec, and how they are read. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { inputsOf, Reference, replaceInputs, Source } from '../../../../src/operator/managed/declaration/input.ts';
import { refTo, sourceOf, tlsSecretRef } from '../../../../src/operator/managed/declaration/input-schemas.ts';

const policy = { title: 'IPPolicy', prefix: 'ipp' };
const edge = { title: 'TLSEdge', prefix: 'edgtls' };
const one = refTo([policy], 'A policy.');
const two = refTo([policy, edge], 'One of them.');
const text = z.string().max(5);
const source = sourceOf(text);
const long = (length: number) => 'a'.repeat(length);
const problem = (schema: z.ZodType, given: unknown) => schema.safeParse(given).error?.issues[0]?.message;
const id = 'ipp_01jd0000000000000000000000';
const edgeId = 'edgtls_01jd0000000000000000000000';
const reference = (name: string, namespace?: string, kind = 'IPPolicy') => new Reference({ kind, name, namespace });

describe('a reference', () => {
  const own = refTo([{ ...policy, id: z.literal('own') }], 'A policy.');
  test.each<[string, z.ZodType, object, Reference | string]>([
    ['by name', one, { name: 'a' }, reference('a')],
    ['by the longest name', one, { name: long(253) }, reference(long(253))],
    ['in a namespace', one, { name: 'a', namespace: long(63) }, reference('a', long(63))],
    ['by id', one, { id }, id],
    ['by an id of its own form', own, { id: 'own' }, 'own'],
    ['to one of two kinds', two, { kind: 'TLSEdge', name: 'a' }, reference('a', undefined, 'TLSEdge')],
    ['to one of two kinds by id', two, { id: edgeId }, edgeId],
  ])('%s is read', (_, schema, given, expected) => expect(schema.parse(given)).toEqual(expected));

  test.each<[string, z.ZodType, object]>([
    ['nothing', one, {}],
    ['name and id', one, { name: 'a', id }],
    ['a name that is too long', one, { name: long(254) }],
    ['an empty name', one, { name: '' }],
    ['a namespace that is too long', one, { name: 'a', namespace: long(64) }],
    ['an empty namespace', one, { name: 'a', namespace: '' }],
    ['the id of another kind', one, { id: edgeId }],
    ['an id of another form', own, { id }],
    ['a superfluous kind', one, { kind: 'IPPolicy', name: 'a' }],
    ['a wrong kind', two, { kind: 'Other', name: 'a' }],
    ['no kind where there are two', two, { name: 'a' }],
    ['another member', one, { name: 'a', uid: 'y' }],
  ])('with %s is refused', (_, schema, given) => expect(schema.safeParse(given).success).toBe(false));

  test('says what it must name, and whether it is immutable', () => {
    expect(problem(one, {})).toBe('must name a IPPolicy, or have an id');
    expect(problem(two, { name: 'a' })).toBe('must name a IPPolicy or TLSEdge, or have an id');
    const bound = refTo([policy], 'A policy.', { isImmutable: true });
    expect([bound, one].map((schema) => schema.parse({ name: 'a' }))).toMatchObject([
      { isImmutable: true },
      { isImmutable: false },
    ]);
  });
});

describe('a source', () => {
  const from = (key: string) => ({ secretKeyRef: { name: 'app', key } });
  const secret = (name: string, key: string) => new Source({ kind: 'Secret', name, key }, text);

  test.each<[string, object, Source | string]>([
    ['a text', { value: 'abc' }, 'abc'],
    ['an empty text', { value: '' }, ''],
    ['the longest key', from(long(253)), secret('app', long(253))],
    [
      'a ConfigMap',
      { configMapKeyRef: { name: 'a', key: 'k' } },
      new Source({ kind: 'ConfigMap', name: 'a', key: 'k' }, text),
    ],
  ])('is %s', (_, given, expected) => expect(source.parse(given)).toEqual(expected));

  const message = 'must have exactly one of value, secretKeyRef and configMapKeyRef';
  test.each<[string, object, string?]>([
    ['nothing', {}, message],
    ['two members', { value: 'a', ...from('k') }, message],
    ['a text that is too long', { value: 'abcdef' }],
    ['a key that is too long', from(long(254))],
    ['an empty key', from('')],
    ['no name', { configMapKeyRef: { key: 'k' } }],
    ['no key', { configMapKeyRef: { name: 'a' } }],
  ])('with %s is refused', (_, given, expected) => {
    expect(problem(source, given)).toEqual(expected ?? expect.any(String));
  });

  test('takes all keys of a TLS Secret', () => {
    const tls = tlsSecretRef({ 'tls.crt': text, 'tls.key': text });
    const expected = { 'tls.crt': secret('a', 'tls.crt'), 'tls.key': secret('a', 'tls.key') };
    expect(tls.parse({ name: 'a' })).toEqual(expected);
    expect(tls.safeParse({}).success).toBe(false);
  });

  test('is found and replaced at any depth, with the path that a user writes', () => {
    const [ref, c] = [reference('a'), secret('app', 'k')];
    const spec = { a: [{ ref }], b: { c, d: 'text', 'x-y': c }, e: null };
    const paths = ['spec.a[0].ref', 'spec.b.c', 'spec.b["x-y"]'];
    expect(inputsOf(spec).map(({ path }) => path)).toEqual(paths);
    const replaced = replaceInputs(spec, (_, path) => path);
    expect(replaced).toEqual({ a: [{ ref: paths[0] }], b: { c: paths[1], d: 'text', 'x-y': paths[2] }, e: null });
  });
});
