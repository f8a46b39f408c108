import { describe, expect, test } from 'vitest';
import { keyOf } from '../../../src/operator/kube/kube-object.ts';
import { type ObjectChange, ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { object } from '../objects.ts';

/** A change in short: `updated a 1>2`. */
const short = (change: ObjectChange) => {
  const { name, uid, resourceVersion } = change.object.metadata;
  const before = change.type === 'updated' ? `${change.previous.metadata.resourceVersion}>` : '';
  return `${change.type} ${name}/${uid} ${before}${resourceVersion}`;
};
const at = (version: number, uid = 'x', name = 'a') => object({ name, uid, version });

describe('put', () => {
  test.each([
    ['of something new adds', [], at(1), ['added a/x 1']],
    ['of a newer version updates', [at(9)], at(10), ['updated a/x 9>10']],
    ['of the same version changes nothing', [at(5)], at(5), []],
    ['of an older version changes nothing', [at(10)], at(9), []],
    ['of another UID is a deletion and a creation', [at(5)], at(6, 'y'), ['deleted a/x 5', 'added a/y 6']],
    ['of another UID that is older changes nothing', [at(5, 'y')], at(4), []],
    ['of another name leaves the first alone', [at(5)], at(1, 'z', 'b'), ['added b/z 1']],
  ])('%s', (_, before, next, expected) => {
    const store = new ObjectStore();
    for (const known of before) store.put(known);
    expect(store.put(next).map(short)).toEqual(expected);
  });
});

describe('remove', () => {
  test.each([
    ['of what is known deletes it', [at(1)], at(2), ['deleted a/x 1']],
    ['of what is not known changes nothing', [], at(2), []],
    ['of what was created again since changes nothing', [at(5, 'y')], at(4), []],
    ['of what has come back since changes nothing', [at(5)], at(4), []],
  ])('%s', (_, before, gone, expected) => {
    const store = new ObjectStore();
    for (const known of before) store.put(known);
    expect(store.remove(gone).map(short)).toEqual(expected);
  });

  test('is not undone by the late response to a write', () => {
    const store = new ObjectStore();
    store.put(at(1));
    store.remove(at(3));
    expect(store.put(at(2))).toEqual([]);
    expect(store.size).toBe(0);
  });

  test('of what is not known yet is not undone by the late response to a read', () => {
    const store = new ObjectStore();
    store.remove(at(3));
    expect(store.put(at(2))).toEqual([]);
    expect(store.put(at(4, 'y')).map(short)).toEqual(['added a/y 4']);
  });

  test.each([
    ['the one before it under its name, of which nothing was known', at(2, 'y'), at(2)],
    ['the same again, at a later version', at(5), at(4)],
  ])('of what is not known yet is remembered after that of %s', (_, then, late) => {
    const store = new ObjectStore();
    store.remove(at(3));
    store.remove(then);
    expect(store.put(late)).toEqual([]);
  });

  test('is over when the object comes back, as one does that matches the selector again', () => {
    const store = new ObjectStore();
    store.put(at(1));
    store.remove(at(3));
    store.remove(at(2));
    expect(store.put(at(3))).toEqual([]);
    expect(store.put(at(4)).map(short)).toEqual(['added a/x 4']);
  });

  test('that a list shows is as new as the list', () => {
    const store = new ObjectStore();
    store.put(at(1));
    expect(store.replace([], '5').map(short)).toEqual(['deleted a/x 1']);
    expect(store.put(at(4))).toEqual([]);
  });

  test('is over when the name is taken again and given up again', () => {
    const store = new ObjectStore();
    for (const uid of ['x', 'y']) {
      store.put(at(1, uid));
      store.remove(at(2, uid));
    }
    expect(store.put(at(1, 'y'))).toEqual([]);
    expect(store.put(at(1, 'x')).map(short)).toEqual(['added a/x 1']);
    expect(store.get('ns/a')).toEqual(at(1, 'x'));
    store.put(at(3, 'x'));
    expect(store.get('ns/a')).toEqual(at(3, 'x'));
  });

  test('does not keep a new object from taking the name', () => {
    const store = new ObjectStore();
    store.put(at(1));
    store.remove(at(2));
    expect(store.put(at(3, 'y')).map(short)).toEqual(['added a/y 3']);
  });

  test('is remembered for as long as a request can take, not for ever', () => {
    const store = new ObjectStore();
    store.put(at(1));
    store.remove(at(2), 0);
    store.put(at(1, 'z', 'b'));
    store.remove(at(2, 'z', 'b'), 120_000);
    expect(store.put(at(1)).map(short)).toEqual(['added a/x 1']);
    expect(store.put(at(1, 'z', 'b'))).toEqual([]);
  });
});

test('a list of one namespace says nothing about the others', () => {
  const store = new ObjectStore();
  const [here, there] = ['here', 'there'].map((namespace) => object({ version: 1, metadata: { namespace } }));
  if (!here || !there) throw new Error('there are two');
  store.put(here);
  store.put(there);
  expect(store.replace([], '5', 'here').map(({ type, key }) => `${type} ${key}`)).toEqual(['deleted here/a']);
  expect(store.replace([], '5').map(({ type, key }) => `${type} ${key}`)).toEqual(['deleted there/a']);
});

test('tombstones are forgotten in the order of the last deletion under their name', () => {
  const store = new ObjectStore();
  const come = (uid: string, name: string, goneAt: number) => {
    store.put(at(1, uid, name));
    store.remove(at(2, uid, name), goneAt);
  };
  come('x', 'a', 0);
  come('x', 'b', 100_000);
  come('y', 'a', 110_000);
  come('x', 'c', 225_000);
  expect(store.put(at(1, 'x', 'b')).map(short)).toEqual(['added b/x 1']);
  expect(store.put(at(1, 'y', 'a'))).toEqual([]);
});

describe('replace', () => {
  test.each([
    ['takes in what is new', [], [at(1)], ['added a/x 1']],
    ['updates what is newer', [at(1)], [at(2)], ['updated a/x 1>2']],
    ['deletes what is gone', [at(1)], [], ['deleted a/x 1']],
    ['sees a re-creation as both', [at(1)], [at(5, 'y')], ['deleted a/x 1', 'added a/y 5']],
    ['keeps a write of ours that is newer than the list', [at(20)], [], []],
    ['keeps a version that is newer than the one listed', [at(20)], [at(3)], []],
    ['changes nothing when nothing changed', [at(1)], [at(1)], []],
  ])('%s', (_, before, listed, expected) => {
    const store = new ObjectStore();
    for (const known of before) store.put(known);
    expect(store.replace(listed, '10').map(short)).toEqual(expected);
  });

  test('reports deletions before additions, so that an index by name stays correct', () => {
    const store = new ObjectStore();
    for (const name of ['a', 'b', 'c']) store.put(at(1, name, name));
    expect(store.replace([at(2, 'b', 'b'), at(3, 'd', 'd')], '10').map(short)).toEqual([
      'deleted a/a 1',
      'deleted c/c 1',
      'updated b/b 1>2',
      'added d/d 3',
    ]);
    expect([...store.values()].map(keyOf).sort()).toEqual(['ns/b', 'ns/d']);
  });
});
