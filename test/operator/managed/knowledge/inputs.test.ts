/** What a spec takes from elsewhere: found, indexed, permitted and replaced. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { KubeError } from '../../../../src/operator/kube/kube-error.ts';
import { ObjectStore } from '../../../../src/operator/kube/object-store.ts';
import { digester } from '../../../../src/operator/managed/declaration/digest.ts';
import { inputsOf, Reference, replaceInputs, Source } from '../../../../src/operator/managed/declaration/input.ts';
import { refTo, sourceOf } from '../../../../src/operator/managed/declaration/input-schemas.ts';
import { Inputs } from '../../../../src/operator/managed/knowledge/inputs.ts';
import { notPermitted, permits } from '../../../../src/operator/managed/knowledge/reference-grants.ts';
import { objectKey, ReferenceIndex, targetOf } from '../../../../src/operator/managed/knowledge/reference-index.ts';
import { object as anObject } from '../../objects.ts';

const policy = new Reference({ kind: 'IPPolicy', name: 'office' });
const secret = new Source({ kind: 'Secret', name: 'app', key: 'token' }, z.string().max(5, 'is too long'));

test('the inputs of a spec are found at any depth, with the path that a user writes', () => {
  const spec = { a: [{ ref: policy }], b: { c: secret, d: 'text', 'x-y': secret }, e: null };
  expect(inputsOf(spec)).toEqual([
    { path: 'spec.a[0].ref', input: policy },
    { path: 'spec.b.c', input: secret },
    { path: 'spec.b["x-y"]', input: secret },
  ]);
  expect(replaceInputs(spec, (_, path) => path)).toEqual({
    a: [{ ref: 'spec.a[0].ref' }],
    b: { c: 'spec.b.c', d: 'text', 'x-y': 'spec.b["x-y"]' },
    e: null,
  });
});

describe('a reference', () => {
  const one = refTo([{ title: 'IPPolicy', prefix: 'ipp' }], 'A policy.');
  const two = refTo(
    [
      { title: 'IPPolicy', prefix: 'ipp' },
      { title: 'TLSEdge', prefix: 'edgtls' },
    ],
    'One of them.',
  );
  const id = 'ipp_01jd0000000000000000000000';

  test.each([
    ['by name', one, { name: 'office' }, policy],
    [
      'by name elsewhere',
      one,
      { name: 'x', namespace: 'n' },
      new Reference({ kind: 'IPPolicy', name: 'x', namespace: 'n' }),
    ],
    ['by id', one, { id }, id],
    ['to one of two kinds', two, { kind: 'TLSEdge', name: 'x' }, new Reference({ kind: 'TLSEdge', name: 'x' })],
  ])('%s is read', (_, schema, given, wanted) => expect(schema.parse(given)).toEqual(wanted));

  test.each([
    ['nothing', one, {}],
    ['both', one, { name: 'x', id }],
    ['the id of another kind', one, { id: 'edgtls_01jd0000000000000000000000' }],
    ['no kind where there are two', two, { name: 'x' }],
    ['another member', one, { name: 'x', uid: 'y' }],
  ])('with %s is refused', (_, schema, given) => expect(schema.safeParse(given).success).toBe(false));
});

test.each([
  [{ value: 'abc' }, 'abc'],
  [{ secretKeyRef: { name: 'app', key: 'token' } }, { kind: 'Secret', name: 'app', key: 'token' }],
  [{ configMapKeyRef: { name: 'app', key: 'token' } }, { kind: 'ConfigMap', name: 'app', key: 'token' }],
  [{}, undefined],
  [{ value: 'abc', secretKeyRef: { name: 'a', key: 'b' } }, undefined],
  [{ value: 'longer than five' }, undefined],
])('a source %j is %j', (given, wanted) => {
  const parsed = sourceOf(z.string().max(5)).safeParse(given).data;
  if (wanted === undefined || typeof wanted === 'string') expect(parsed).toBe(wanted);
  else expect(parsed).toMatchObject(wanted);
});

test('the index knows who refers to what, and forgets it', () => {
  const index = new ReferenceIndex();
  const [route, edge, other] = [
    objectKey('HTTPSEdgeRoute', 'a', 'r'),
    objectKey('HTTPSEdge', 'a', 'e'),
    objectKey('HTTPSEdge', 'b', 'e'),
  ];
  index.set(route, new Set([edge, other]));
  expect([...index.referrersOf(edge)]).toEqual([route]);
  expect(index.crossingInto('b')).toEqual([route]);
  expect(index.crossingInto('a')).toEqual([]);
  expect(index.crossingInto(undefined)).toEqual([route]);
  index.set(route, new Set([edge]));
  expect([...index.referrersOf(other)]).toEqual([]);
  expect([...index.crossingInto('b'), ...index.crossingInto(undefined)]).toEqual([]);
  index.set(route, new Set());
  expect([...index.referrersOf(edge), ...index.targetsOf(route)]).toEqual([]);
});

test('the index keeps who else refers to the same, and finds all by the kind of what they refer to', () => {
  const index = new ReferenceIndex();
  const [route, other] = [objectKey('HTTPSEdgeRoute', 'a', 'r'), objectKey('HTTPSEdgeRoute', 'a', 'other')];
  const [edge, office] = [objectKey('HTTPSEdge', 'a', 'e'), objectKey('IPPolicy', 'a', 'office')];
  index.set(route, new Set([edge, office]));
  index.set(other, new Set([edge]));
  expect(index.referrersOfKind('HTTPSEdge')).toEqual([route, other]);
  expect(index.referrersOfKind('IPPolicy')).toEqual([route]);
  index.set(route, new Set([office]));
  expect([...index.referrersOf(edge)]).toEqual([other]);
  expect([...index.targetsOf(route)]).toEqual([office]);
});

test.each([
  ['an object in its namespace', policy, 'IPPolicy/here/office'],
  ['an object in another', new Reference({ kind: 'IPPolicy', name: 'a', namespace: 'there' }), 'IPPolicy/there/a'],
  ['a Secret', secret, 'Secret/here/app'],
])('what takes something from %s is indexed by that', (_, input, expected) => {
  expect(targetOf({ input }, 'here')).toBe(expected);
});

const grant = (from: object, to: object, namespace = 'there') => ({
  metadata: { name: 'g', namespace, uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    from: [{ group: 'tunnel-operator.dev', kind: 'TLSEdge', namespace: 'here', ...from }],
    to: [{ group: 'tunnel-operator.dev', kind: 'IPPolicy', ...to }],
  },
});

describe('a ReferenceGrant', () => {
  const crossing = {
    from: { kind: 'TLSEdge', namespace: 'here' },
    to: { kind: 'IPPolicy', namespace: 'there', name: 'office' },
  };
  const { spec, ...rest } = grant({}, {});
  const severalKinds = { ...rest, spec: { ...spec, to: [{ group: '', kind: 'Secret' }, ...spec.to] } };

  test('that is missing is told as it would stand in a manifest, unless it may be there', () => {
    expect(notPermitted(crossing, undefined)).toBe(
      'no ReferenceGrant in namespace there permits references from TLSEdge in namespace here to IPPolicy office: have one created there, with spec: {from: [{group: tunnel-operator.dev, kind: TLSEdge, namespace: here}], to: [{group: tunnel-operator.dev, kind: IPPolicy, name: office}]}',
    );
    expect(notPermitted(crossing, 'not listed yet')).toBe(
      'no ReferenceGrant in namespace there is known to permit references from TLSEdge in namespace here to IPPolicy office: not listed yet',
    );
  });

  test.each([
    ['of the kinds', grant({}, {}), true],
    ['of the name', grant({}, { name: 'office' }), true],
    ['of an empty name', grant({}, { name: '' }), true],
    ['of another name', grant({}, { name: 'home' }), false],
    ['in the namespace of the referrer', grant({}, {}, 'here'), false],
    ['from another namespace', grant({ namespace: 'elsewhere' }, {}), false],
    ['from another kind', grant({ kind: 'HTTPSEdge' }, {}), false],
    ['from another group', grant({ group: 'example.com' }, {}), false],
    ['to another group', grant({}, { group: '' }), false],
    ['to one of several kinds', severalKinds, true],
    ['without a spec', { ...grant({}, {}), spec: undefined }, false],
  ])('%s: %s', (_, given, wanted) => expect(permits(given, crossing)).toBe(wanted));
});

test('whoever may declare modules for an object is asked for, where a grant lets them be, and no others', async () => {
  const of = (kind: string, namespace: string) => grant({ kind, namespace }, { kind: 'HTTPSEdgeRoute' });
  const grants = [of('HTTPSEdgeRouteModules', 'elsewhere'), of('TLSEdgeModules', 'third')];
  const asked: string[] = [];
  const inputs = new Inputs({
    index: new ReferenceIndex(),
    sources: { versionOf: () => undefined, reader: () => async () => ({ text: '', resourceVersion: '' }) },
    grants: new Map(grants.entries()),
    catchUpOnGrants: async (namespace) => {
      asked.push(`grants in ${namespace}`);
      throw new KubeError(403, 'Forbidden', 'not allowed');
    },
    digest: digester('key'),
  });
  const peer = (kind: string, ownerKind?: string) =>
    inputs.addPeer(kind, {
      store: new ObjectStore(),
      ownerKind,
      catchUp: async (namespace) => void asked.push(`${kind} in ${namespace}`),
      enqueue: () => {},
    });
  peer('HTTPSEdgeRouteModules', 'HTTPSEdgeRoute');
  peer('TLSEdgeModules', 'TLSEdge');
  peer('HTTPSEdge');
  await inputs.catchUpOnModules('HTTPSEdgeRoute', anObject({ metadata: { namespace: 'there' } }));
  expect(asked).toEqual(['grants in there', 'HTTPSEdgeRouteModules in there', 'HTTPSEdgeRouteModules in elsewhere']);
});

describe('from the caches', () => {
  const digest = digester('key');
  const version: { now?: string } = { now: '7' };
  const inputs = new Inputs({
    index: new ReferenceIndex(),
    sources: {
      versionOf: () => version.now,
      reader: () => async () => {
        throw new Error('nothing is read');
      },
    },
    grants: new ObjectStore(),
    digest,
  });
  const object = anObject();
  const used = {
    field: 'spec.token',
    kind: 'Secret' as const,
    name: 'app',
    resourceVersion: '7',
    digest: digest(object.metadata.uid, 'spec.token', 'abc'),
  };

  test('a text is known by its digest, until its Secret changes', () => {
    const spec = inputs.fromCaches('APIKey', object, { token: secret }, [used]);
    const { token } = z.object({ token: z.instanceof(Object) }).parse(spec);
    expect(token).toMatchObject({});
    const known = token as { isText(text: unknown): boolean };
    expect([known.isText('abc'), known.isText('abd'), known.isText(undefined)]).toEqual([true, false, false]);
    for (const now of ['8', undefined]) {
      expect(
        inputs.fromCaches('APIKey', object, { token: secret }, [{ ...used, resourceVersion: String(now) }]),
      ).toBeUndefined();
    }
    expect(inputs.fromCaches('APIKey', object, { token: secret }, [])).toBeUndefined();
  });

  test('a digest tells nothing without the key, and nothing about another object or field', () => {
    const all = [
      digest('u', 'spec.a', 't'),
      digest('v', 'spec.a', 't'),
      digest('u', 'spec.b', 't'),
      digest('u', 'spec.a', 's'),
      digester('other')('u', 'spec.a', 't'),
    ];
    expect(new Set(all).size).toBe(all.length);
    expect(digest('u', 'spec.a', 't')).toBe(all[0]);
  });
});
