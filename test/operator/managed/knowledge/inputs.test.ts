/** Inputs of a spec, as a reconcile and a comparison resolve them, and the referrers of an object. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { KubeError } from '../../../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { DigestedText } from '../../../../src/operator/managed/declaration/digest.ts';
import { Reference, Source } from '../../../../src/operator/managed/declaration/input.ts';
import type { InputsOptions, Peer } from '../../../../src/operator/managed/knowledge/inputs.ts';
import { objectKey } from '../../../../src/operator/managed/knowledge/reference-index.ts';
import { object } from '../../objects.ts';
import { cluster, deletionTimestamp, digest, grant, policy, to } from './cluster.ts';

const textOf = (name: string, key = 'token') =>
  new Source({ kind: 'Secret', name, key }, z.string().max(5, 'is too long'));
const edge = object({ name: 'edge', kind: 'TLSEdge' });
const references = [
  { field: 'spec.other', id: 'ipp_0' },
  { field: 'spec.ref', id: 'ipp_1' },
];
const bound = object({ name: 'edge', kind: 'TLSEdge', status: { references } });
const boundToOther = object({ name: 'edge', kind: 'TLSEdge', status: { references: references.slice(0, 1) } });
const used = (field: string, name: string, text: string) => ({
  field,
  kind: 'Secret' as const,
  name,
  resourceVersion: '7',
  digest: digest(edge.metadata.uid, field, text),
});

test('a spec has ids in place of references, and texts in place of sources', async () => {
  const inputs = cluster({ IPPolicy: [policy('office', 'ipp_1')] }, { texts: { app: 'abc', long: 'longer' } });
  expect(await inputs.resolve('TLSEdge', edge, { ref: to('office'), token: textOf('app') })).toEqual({
    spec: { ref: 'ipp_1', token: 'abc' },
    inputs: { references: [{ field: 'spec.ref', id: 'ipp_1' }], sources: [used('spec.token', 'app', 'abc')] },
  });
  expect(await inputs.resolve('TLSEdge', edge, { a: 1 })).toEqual({ spec: { a: 1 }, inputs: undefined });
  await expect(inputs.resolve('TLSEdge', edge, { token: textOf('long') })).rejects.toMatchObject({
    reason: 'SourceInvalid',
    message: 'spec.token: the value of "token" in Secret long is too long',
  });
});

describe('a reference', () => {
  const inputs = cluster(
    {
      IPPolicy: [
        policy('office', 'ipp_1'),
        policy('new'),
        policy('leaving', 'ipp_1', { deletionTimestamp }),
        policy('there', 'ipp_2', { namespace: 'there' }),
        policy('gone', 'ipp_1', { deletionTimestamp, namespace: 'there' }),
      ],
    },
    {
      grants: new Map([grant('elsewhere', 'there'), grant('ns', 'there'), grant('ns', 'gone')].entries()),
      peers: { TLSEdge: { gap: (namespace) => (namespace === 'ns' ? 'not listed yet' : undefined) } },
    },
  );
  const forEver = { isImmutable: true };

  test.each([
    ['in the namespace', to('office'), edge, 'ipp_1', undefined],
    ['with the namespace', to('office', { namespace: 'ns' }), edge, 'ipp_1', undefined],
    ['permitted by one of the grants', to('there', { namespace: 'there' }), edge, 'ipp_2', undefined],
    ['bound to a policy that waits for it', to('leaving', forEver), bound, 'ipp_1', 'ns/leaving is being deleted'],
    ['bound across namespaces', to('gone', { ...forEver, namespace: 'there' }), bound, 'ipp_1', 'IPPolicy there/gone'],
  ])('%s resolves to the id', async (_, ref, from, id, remark) => {
    const resolved = await inputs.resolve('TLSEdge', from, { ref });
    expect(resolved.spec).toEqual({ ref: id });
    if (remark === undefined) expect(resolved.remark).toBeUndefined();
    else expect(resolved.remark).toContain(remark);
    expect(inputs.referencesOf('TLSEdge', from, { ref })).toEqual([{ field: 'spec.ref', id }]);
    expect(inputs.fromCaches('TLSEdge', from, { ref }, [])).toEqual({ ref: id });
  });

  const unlisted = new Reference({ kind: 'TLSEdge', name: 'x' });
  const refused = to('other', { namespace: 'there' });
  const deleting = 'ns/leaving is being deleted: ';
  test.each([
    ['to nothing', to('none'), edge, 'ReferenceNotFound', 'IPPolicy ns/none does not exist'],
    ['to an object that is not listed yet', unlisted, edge, 'ReferenceNotReady', 'not listed'],
    ['to an object without an id', to('new'), edge, 'ReferenceNotReady', 'is not ready yet'],
    ['without a grant', refused, edge, 'ReferenceNotPermitted', 'no ReferenceGrant'],
    ['to an object being deleted', to('leaving'), bound, 'ReferenceDeleting', `${deleting}refer to another`],
    ['bound to that', to('leaving', forEver), boundToOther, 'ReferenceDeleting', `${deleting}delete this object, and`],
  ])('%s is refused with a remedy', async (_, ref, from, reason, message) => {
    const says = { reason, message: expect.stringContaining(message) };
    await expect(inputs.resolve('TLSEdge', from, { ref })).rejects.toMatchObject(says);
    expect(inputs.referencesOf('TLSEdge', from, { ref })).toBeUndefined();
    expect(inputs.fromCaches('TLSEdge', from, { ref }, [])).toBeUndefined();
  });

  test('is permitted in the namespace, or by a grant, whether or not the target exists', () => {
    const all = [to('none'), to('none', { namespace: 'ns' }), to('there', { namespace: 'there' }), refused];
    expect(all.map((each) => inputs.mayReferTo('TLSEdge', edge, each))).toEqual([true, true, true, false]);
  });

  test.each([
    ['of the same connection is resolved', 'office', 'ipp_1'],
    ['of another connection is refused, even if it is not ready', 'new', undefined],
    ['of another connection is refused', 'elsewhere', undefined],
  ])('to an object %s', async (_, name, id) => {
    const objects = { IPPolicy: [policy('office', 'ipp_1'), policy('new'), policy('elsewhere', 'ipp_1')] };
    const connectionOf = ({ metadata }: KubeObject) => (['edge', 'office'].includes(metadata.name) ? 'here' : 'there');
    const connected = cluster(objects, { connectionOf });
    const resolved = connected.resolve('TLSEdge', edge, { ref: to(name) });
    if (id !== undefined) return expect((await resolved).spec).toEqual({ ref: id });
    const message = `spec.ref: IPPolicy ns/${name} uses another connection to the management API: both need the same one`;
    await expect(resolved).rejects.toMatchObject({ reason: 'ReferenceNotPermitted', message });
    expect(connected.referencesOf('TLSEdge', edge, { ref: to(name) })).toBeUndefined();
  });

  test('is not called unresolved if the search itself fails', () => {
    const gap = () => {
      throw new Error('broken');
    };
    const failing = cluster({}, { peers: { IPPolicy: { gap } } });
    expect(() => failing.referencesOf('TLSEdge', edge, { ref: to('office') })).toThrow('broken');
    expect(() => failing.fromCaches('TLSEdge', edge, { ref: to('office') }, [])).toThrow('broken');
  });
});

const one = used('spec.a', 'app', 'one');
test.each([
  ['by their own fields', [used('spec.b', 'app', 'two'), one], [true, true]],
  ['not by another field', [one, used('spec.x', 'app', 'two')], undefined],
  ['not by another Secret', [one, used('spec.b', 'old', 'two')], undefined],
  ['not by a ConfigMap', [one, { ...used('spec.b', 'app', 'two'), kind: 'ConfigMap' as const }], undefined],
  ['not by another version', [one, { ...used('spec.b', 'app', 'two'), resourceVersion: '8' }], undefined],
])('texts are compared with those that were sent %s', (_, sent, expected) => {
  const spec: Record<string, unknown> = { a: textOf('app', 'x'), b: textOf('app', 'y') };
  const found = cluster({}, { texts: { app: 'any', old: 'any' } }).fromCaches('TLSEdge', edge, spec, sent);
  const isText = (member: string, text: string) => z.instanceof(DigestedText).parse(found?.[member]).isText(text);
  expect(found && [isText('a', 'one'), isText('b', 'two')]).toEqual(expected);
});

describe('an object that others refer to', () => {
  const office = policy('office', 'ipp_1');
  const key = objectKey('IPPolicy', 'ns', 'office');
  const referrer = (name: string, more: Partial<KubeObject['metadata']> = {}, status = {}) =>
    object({ name, kind: 'TLSEdge', metadata: more, status });
  const here = referrer('here', {}, { references: [{ field: 'spec.ref', id: 'ipp_2' }] });
  const leaving = referrer('leaving', { deletionTimestamp }, { id: 'ipp_3' });
  const granted = referrer('granted', { namespace: 'there' });
  const refused = referrer('refused', { namespace: 'elsewhere' });

  /** @param modules by the name of the referrer that declares them */
  function referring(references: Reference[] = [], modules: Record<string, string[]> = {}) {
    const inputs = cluster(
      { IPPolicy: [office], TLSEdge: [here, leaving, granted, refused] },
      {
        grants: new Map([grant('there', 'office', 'ns'), grant('third', 'office', 'ns')].entries()),
        peers: {
          TLSEdge: { referencesIn: () => references, modulesIn: ({ metadata }) => modules[metadata.name] ?? [] },
        },
      },
    );
    for (const { metadata } of [here, leaving, granted, refused]) {
      inputs.index.set(objectKey('TLSEdge', metadata.namespace ?? '', metadata.name), new Set([key]));
    }
    return inputs;
  }

  test('knows its permitted referrers, their modules, and the ids in their statuses', () => {
    const inputs = referring([], { here: ['tls'], leaving: ['tls'], refused: ['tls'] });
    const names = inputs.referrersOf('IPPolicy', office).map(({ name }) => name);
    expect(names).toEqual(['TLSEdge ns/here', 'TLSEdge ns/leaving', 'TLSEdge there/granted']);
    const modules = inputs.modulesDeclaredFor('IPPolicy', office);
    expect(modules).toEqual([{ referrer: 'TLSEdge ns/here', modules: ['tls'] }]);
    expect(inputs.idsInUseBy('IPPolicy', office)).toEqual(['ipp_2', 'ipp_3']);
    expect(inputs.targetsOf('TLSEdge', here)).toEqual([office]);
  });

  test.each([
    ['an immutable reference', [to('other'), to('office', { isImmutable: true })], true],
    ['a mutable one', [to('office'), to('other', { isImmutable: true })], false],
    ['an unknown one', [], false],
  ])('is bound by %s: %s', (_, given, isBound) => {
    expect(referring(given).referrersOf('IPPolicy', office)[0]).toEqual({ name: 'TLSEdge ns/here', isBound });
  });
});

describe('before modules that no known object declares are deleted,', () => {
  const refusing = (code: number) => Promise.reject(new KubeError(code, 'Any', 'no answer'));
  const catchingUp = (peer: Partial<Peer>, options: Partial<InputsOptions>) => {
    const peers = {
      TLSEdge: { ownerKind: 'IPPolicy', ...peer },
      Other: { ownerKind: 'Other', catchUp: () => refusing(500) },
    };
    return cluster({}, { peers, ...options }).catchUpOnModules('IPPolicy', policy('office'));
  };

  test('grants are listed first, then objects in the namespaces that they permit', async () => {
    const grants = new Map<string, KubeObject>();
    const asked: string[] = [];
    const catchUp = async (namespace: string) => void asked.push(namespace);
    const later = new Promise((done) => setImmediate(done));
    const listGrants = () => later.then(() => void grants.set('late', grant('there', 'office', 'ns')));
    await catchingUp({ catchUp }, { grants, catchUpOnGrants: listGrants });
    expect(asked).toEqual(['ns', 'there']);
    await catchingUp({ catchUp }, { catchUpOnGrants: () => refusing(403) });
    expect(asked).toEqual(['ns', 'there', 'ns']);
  });

  test('a namespace that is no longer watched after the lists is named, since its objects are forgotten', async () => {
    const watched = new Set(['ns', 'there']);
    const unwatched = (namespace: string) => (watched.has(namespace) ? undefined : `unwatched: ${namespace}`);
    const grants = new Map([['late', grant('there', 'office', 'ns')]]);
    const listing = (leaving?: string) => ({ catchUp: async () => void (leaving && watched.delete(leaving)) });
    expect(await catchingUp(listing(), { grants, unwatched })).toBeUndefined();
    expect(await catchingUp(listing('there'), { grants, unwatched })).toBe('unwatched: there');
    expect(await catchingUp(listing('ns'), { unwatched })).toBe('unwatched: ns');
  });

  test.each([
    ['objects', { catchUp: () => refusing(403) }, {}],
    ['grants, for another reason than a lack of rights', {}, { catchUpOnGrants: () => refusing(500) }],
  ])('the catch-up fails if it cannot list %s', async (_, peer, options) => {
    await expect(catchingUp(peer, options)).rejects.toThrow('no answer');
  });
});
