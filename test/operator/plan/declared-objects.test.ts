import { expect, test } from 'vitest';
import { DeclaredObjects, groupOf } from '../../../src/operator/plan/declared-objects.ts';
import type { ManifestDocument } from '../../../src/operator/plan/manifest-files.ts';

const API_VERSION = 'tunnel-operator.dev/v1alpha1';

function policy(name: string, more: { namespace?: string; apiVersion?: string; description?: string } = {}) {
  const { namespace, apiVersion = API_VERSION, description = '' } = more;
  return { apiVersion, kind: 'IPPolicy', metadata: { name, namespace }, spec: { description } };
}

const declaring = (...documents: ManifestDocument[]) =>
  new DeclaredObjects(
    documents.map((document, index) => ({ document, place: `${index + 1}` })),
    'own',
  );
const named = (name: string, namespace = 'own') => ({ kind: 'IPPolicy', namespace, name });

test('a document without a namespace, or with an empty one, is of the namespace that is given', () => {
  const declared = declaring();
  expect(declared.nameOf(policy('a'))).toEqual(named('a'));
  expect(declared.nameOf(policy('a', { namespace: '' }))).toEqual(named('a'));
  expect(declared.nameOf(policy('a', { namespace: 'other' }))).toEqual(named('a', 'other'));
});

test('what is declared several times is the last of it, in the place of the first', () => {
  const [first, b, middle, last] = [
    policy('a', { description: '1' }),
    policy('b'),
    policy('a', { description: '2' }),
    policy('a', { description: '3', namespace: 'own' }),
  ];
  const declared = declaring(first, b, middle, last);
  expect(declared.all()).toEqual([last, b]);
  expect(declared.document(named('a'))).toBe(last);
  expect(declared.document(named('c'))).toBeUndefined();
});

test('objects differ by namespace, and by the group of their kind', () => {
  const [own, elsewhere, foreign] = [
    policy('a'),
    policy('a', { namespace: 'other' }),
    policy('a', { apiVersion: 'other.example/v1' }),
  ];
  const declared = declaring(own, elsewhere, foreign);
  expect(declared.document(named('a'))).toBe(own);
  expect(declared.document(named('a', 'other'))).toBe(elsewhere);
  expect(declared.document(named('a'), 'other.example')).toBe(foreign);
  expect(groupOf(policy('a', { apiVersion: 'v1' }))).toBe('');
});

test('documents contradict each other if they say different things about one object', () => {
  const same = [policy('a'), policy('a', { namespace: 'own' })];
  expect(declaring(...same).contradiction(named('a'))).toBeUndefined();
  expect(declaring(policy('a')).contradiction(named('a'))).toBeUndefined();
  expect(declaring().contradiction(named('a'))).toBeUndefined();
  const different = policy('a', { description: 'another' });
  expect(declaring(...same, different).contradiction(named('a'))).toBe('declared differently in 1, and in 2, and in 3');
});
