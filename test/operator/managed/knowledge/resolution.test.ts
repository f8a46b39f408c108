/** What a spec takes from elsewhere, as a reconcile and a comparison find it. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DigestedText } from '../../../../src/operator/managed/declaration/digest.ts';
import { Reference, Source } from '../../../../src/operator/managed/declaration/input.ts';
import { object } from '../../objects.ts';
import { cluster, deletionTimestamp, digest, grant, policy, to } from './cluster.ts';

const textOf = (name: string, key = 'token') =>
  new Source({ kind: 'Secret', name, key }, z.string().max(5, 'is too long'));
const edge = object({ name: 'edge', kind: 'TLSEdge' });
const bound = object({
  name: 'edge',
  kind: 'TLSEdge',
  status: {
    references: [
      { field: 'spec.other', id: 'ipp_0' },
      { field: 'spec.ref', id: 'ipp_1' },
    ],
  },
});
const boundToOther = object({ ...edge, status: { references: [{ field: 'spec.ref', id: 'ipp_0' }] } });
const used = (field: string, name: string, text: string) => ({
  field,
  kind: 'Secret' as const,
  name,
  resourceVersion: '7',
  digest: digest(edge.metadata.uid, field, text),
});

describe('a spec', () => {
  test('that takes nothing from elsewhere stays as it is', async () => {
    expect(await cluster({}).resolve('TLSEdge', edge, { a: 1 })).toEqual({ spec: { a: 1 }, inputs: undefined });
  });

  test('has ids in the place of references, and texts in that of sources', async () => {
    const inputs = cluster({ IPPolicy: [policy('office', 'ipp_1')] }, { texts: { app: 'abc' } });
    const spec = { ref: to('office'), token: textOf('app') };
    expect(await inputs.resolve('TLSEdge', edge, spec)).toEqual({
      spec: { ref: 'ipp_1', token: 'abc' },
      inputs: { references: [{ field: 'spec.ref', id: 'ipp_1' }], sources: [used('spec.token', 'app', 'abc')] },
    });
  });

  test('is refused with the reason, where a text is not what it must be', async () => {
    const resolving = cluster({}, { texts: { app: 'longer' } }).resolve('TLSEdge', edge, { token: textOf('app') });
    await expect(resolving).rejects.toMatchObject({
      reason: 'SourceInvalid',
      message: 'spec.token: the value of "token" in Secret app is too long',
    });
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
      ],
    },
    {
      grants: new Map([grant('elsewhere', 'there'), grant('ns', 'there')].entries()),
      peers: { TLSEdge: { gap: () => 'not listed yet' } },
    },
  );

  test.each([
    ['in the namespace', to('office'), edge, 'ipp_1'],
    ['named with the namespace', to('office', { namespace: 'ns' }), edge, 'ipp_1'],
    ['in another namespace, where one of the grants permits it', to('there', { namespace: 'there' }), edge, 'ipp_2'],
    ['that can never be another, to what is being deleted', to('leaving', { isImmutable: true }), bound, 'ipp_1'],
  ])('%s stands for the id', async (_, ref, from, id) => {
    expect((await inputs.resolve('TLSEdge', from, { ref })).spec).toEqual({ ref: id });
    expect(inputs.referencesOf('TLSEdge', from, { ref })).toEqual([{ field: 'spec.ref', id }]);
    expect(inputs.fromCaches('TLSEdge', from, { ref }, [])).toEqual({ ref: id });
  });

  const deleting = 'IPPolicy ns/leaving is being deleted: ';
  test.each([
    ['to nothing', to('none'), edge, 'ReferenceNotFound', 'IPPolicy ns/none does not exist'],
    [
      'to what is not known yet',
      new Reference({ kind: 'TLSEdge', name: 'x' }),
      edge,
      'ReferenceNotReady',
      'not listed',
    ],
    ['to what has no id yet', to('new'), edge, 'ReferenceNotReady', 'is not ready yet'],
    ['without a grant', to('other', { namespace: 'there' }), edge, 'ReferenceNotPermitted', 'no ReferenceGrant'],
    ['to what is being deleted', to('leaving'), bound, 'ReferenceDeleting', `${deleting}refer to another`],
    [
      'to what is being deleted, for ever',
      to('leaving', { isImmutable: true }),
      boundToOther,
      'ReferenceDeleting',
      `${deleting}delete this object, and create one`,
    ],
  ])('%s is refused with what helps', async (_, ref, from, reason, message) => {
    await expect(inputs.resolve('TLSEdge', from, { ref })).rejects.toMatchObject({
      reason,
      message: expect.stringContaining(message),
    });
    expect(inputs.referencesOf('TLSEdge', from, { ref })).toBeUndefined();
    expect(inputs.fromCaches('TLSEdge', from, { ref }, [])).toBeUndefined();
  });

  test('to what is being deleted and waits for the object comes with a remark', async () => {
    const ref = to('leaving', { namespace: 'ns', isImmutable: true });
    expect((await inputs.resolve('TLSEdge', bound, { ref })).remark).toContain(
      'spec.ref: IPPolicy ns/leaving is being',
    );
    expect((await inputs.resolve('TLSEdge', bound, { ref: to('office') })).remark).toBeUndefined();
    const there = cluster(
      { IPPolicy: [policy('leaving', 'ipp_1', { deletionTimestamp, namespace: 'there' })] },
      { grants: new Map([grant('ns', 'leaving')].entries()) },
    );
    const away = to('leaving', { namespace: 'there', isImmutable: true });
    expect((await there.resolve('TLSEdge', bound, { ref: away })).remark).toContain('IPPolicy there/leaving');
  });

  test('may be made within the namespace, or where a grant permits it, whether or not the target exists', () => {
    const may = (reference: Reference) => inputs.mayReferTo('TLSEdge', edge, reference);
    expect([may(to('none')), may(to('none', { namespace: 'ns' }))]).toEqual([true, true]);
    expect([may(to('there', { namespace: 'there' })), may(to('none', { namespace: 'there' }))]).toEqual([true, false]);
  });

  test('is not taken for one that stands for nothing where the search itself fails', () => {
    const failing = cluster(
      {},
      {
        peers: {
          IPPolicy: {
            gap: () => {
              throw new Error('broken');
            },
          },
        },
      },
    );
    expect(() => failing.referencesOf('TLSEdge', edge, { ref: to('office') })).toThrow('broken');
    expect(() => failing.fromCaches('TLSEdge', edge, { ref: to('office') }, [])).toThrow('broken');
  });
});

test.each([
  ['each by its own field', [used('spec.b', 'app', 'two'), used('spec.a', 'app', 'one')], [true, true]],
  ['not by that of another field', [used('spec.a', 'app', 'one'), used('spec.x', 'app', 'two')], undefined],
  ['not by that of another Secret', [used('spec.a', 'app', 'one'), used('spec.b', 'old', 'two')], undefined],
  [
    'not by that of a ConfigMap',
    [used('spec.a', 'app', 'one'), { ...used('spec.b', 'app', 'two'), kind: 'ConfigMap' as const }],
    undefined,
  ],
])('texts are compared with what was sent: %s', (_, sent, expected) => {
  const spec: Record<string, unknown> = { a: textOf('app', 'x'), b: textOf('app', 'y') };
  const found = cluster({}, { texts: { app: 'any', old: 'any' } }).fromCaches('TLSEdge', edge, spec, sent);
  const isText = (member: string, text: string) => z.instanceof(DigestedText).parse(found?.[member]).isText(text);
  expect(found && [isText('a', 'one'), isText('b', 'two')]).toEqual(expected);
});
