/** Who refers to an object, and what they declare for it. */
import { describe, expect, test } from 'vitest';
import { KubeError } from '../../../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import type { Reference } from '../../../../src/operator/managed/declaration/input.ts';
import type { InputsOptions, Peer } from '../../../../src/operator/managed/knowledge/inputs.ts';
import { objectKey } from '../../../../src/operator/managed/knowledge/reference-index.ts';
import { object } from '../../objects.ts';
import { cluster, deletionTimestamp, grant, policy, to } from './cluster.ts';

const later = <T>(value: T) => new Promise<T>((done) => setImmediate(done, value));
const refusing = (code: number) => Promise.reject(new KubeError(code, 'Any', 'no answer'));

describe('an object that others refer to', () => {
  const office = policy('office', 'ipp_1');
  const key = objectKey('IPPolicy', 'ns', 'office');
  const referrer = (name: string, more: Partial<KubeObject['metadata']> = {}) =>
    object({ name, kind: 'TLSEdge', metadata: more });
  const here = referrer('here');
  const leaving = referrer('leaving', { deletionTimestamp });
  const granted = referrer('granted', { namespace: 'there' });
  const refused = referrer('refused', { namespace: 'elsewhere' });

  /** @param references by the name of the referrer; @param modules likewise */
  function referring(references: Record<string, Reference[]>, modules: Record<string, string[]> = {}) {
    const inputs = cluster(
      { IPPolicy: [office], TLSEdge: [here, leaving, granted, refused] },
      {
        grants: new Map([grantInto('there'), grantInto('third')].entries()),
        peers: {
          TLSEdge: {
            referencesIn: ({ metadata }) => references[metadata.name] ?? [],
            modulesIn: ({ metadata }) => modules[metadata.name] ?? [],
          },
        },
      },
    );
    for (const { metadata } of [here, leaving, granted, refused]) {
      inputs.index.set(objectKey('TLSEdge', metadata.namespace ?? '', metadata.name), new Set([key]));
    }
    return inputs;
  }
  const grantInto = (from: string) => grant(from, 'office', 'ns');

  test('knows those that may', () => {
    const names = referring({})
      .referrersOf('IPPolicy', office)
      .map(({ name }) => name);
    expect(names).toEqual(['TLSEdge ns/here', 'TLSEdge ns/leaving', 'TLSEdge there/granted']);
  });

  test.each([
    ['one that can never refer to another', [to('other'), to('office', { isImmutable: true })], true],
    ['not one that can', [to('office'), to('other', { isImmutable: true })], false],
    ['not one of which nothing is known', [], false],
  ])('is bound by %s', (_, references, expected) => {
    const [first] = referring({ here: references }).referrersOf('IPPolicy', office);
    expect(first).toEqual({ name: 'TLSEdge ns/here', isBound: expected });
  });

  test('has the modules that those declare that stay', () => {
    const modules = { here: ['tls'], leaving: ['tls'], granted: [], refused: ['tls'] };
    expect(referring({}, modules).modulesDeclaredFor('IPPolicy', office)).toEqual([
      { referrer: 'TLSEdge ns/here', modules: ['tls'] },
    ]);
  });

  test('is in use by the ids that those have in their statuses, of what they refer to and of what they belong to', () => {
    const using = object({
      name: 'here',
      kind: 'TLSEdge',
      status: { references: [{ field: 'spec.ref', id: 'ipp_2' }] },
    });
    const belonging = object({ name: 'leaving', kind: 'TLSEdge', status: { id: 'ipp_3' } });
    const inputs = cluster({ IPPolicy: [office], TLSEdge: [using, belonging, refused] });
    for (const { metadata } of [using, belonging, refused]) {
      inputs.index.set(objectKey('TLSEdge', metadata.namespace ?? '', metadata.name), new Set([key]));
    }
    expect(inputs.idsInUseBy('IPPolicy', office)).toEqual(['ipp_2', 'ipp_3']);
  });

  test('is found by them', () => {
    expect(referring({}).targetsOf('TLSEdge', here)).toEqual([office]);
  });
});

describe('before modules are deleted that nobody is known to declare', () => {
  const catchingUp = (peer: Partial<Peer>, options: Partial<InputsOptions>) =>
    cluster({}, { peers: { TLSEdge: { ownerKind: 'IPPolicy', ...peer } }, ...options }).catchUpOnModules(
      'IPPolicy',
      policy('office'),
    );

  test('the grants are known before they are looked at', async () => {
    const grants = new Map<string, KubeObject>();
    const asked: string[] = [];
    await catchingUp(
      { catchUp: async (namespace) => void asked.push(namespace) },
      { grants, catchUpOnGrants: async () => void grants.set('late', await later(grant('there', 'office', 'ns'))) },
    );
    expect(asked).toEqual(['ns', 'there']);
  });

  test.each([
    ['what may declare some', { catchUp: () => Promise.reject(new Error('no answer')) }, {}],
    ['the grants, for another reason than a lack of rights', {}, { catchUpOnGrants: () => refusing(500) }],
  ])('nothing goes on that cannot list %s', async (_, peer, options) => {
    await expect(catchingUp(peer, options)).rejects.toThrow('no answer');
  });
});
