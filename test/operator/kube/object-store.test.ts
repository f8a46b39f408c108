import { expect, test } from 'vitest';
import { type ObjectChange, ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { object } from '../objects.ts';

/** A change in short: `updated a/x 1>2`. */
const short = (change: ObjectChange) => {
  const { name, uid, resourceVersion } = change.object.metadata;
  const before = change.type === 'updated' ? `${change.previous.metadata.resourceVersion}>` : '';
  return `${change.type} ${name}/${uid} ${before}${resourceVersion}`;
};

/** `a/x 5` is version 5 of the object with name a and UID x. */
function at(text: string) {
  const [, name = '', uid = '', version = ''] = /^(\w)\/(\w) (\d+)$/.exec(text) ?? [];
  return object({ name, uid, version });
}

/** `put a/x 1`, `remove a/x 1`, `remove a/x 1 at 60000` (milliseconds), `forget` of all, or `list 5: a/x 1, b/y 2`. */
function play(store: ObjectStore, step: string): ObjectChange[] {
  const [, put, gone, goneAt, version = '', items = ''] =
    /^(?:put (.+)|remove (.+?)(?: at (\d+))?|list (\d+):(.*))$/.exec(step) ?? [];
  if (put !== undefined) return store.put(at(put));
  if (step === 'forget') return store.forget('ns');
  if (gone !== undefined) return store.remove(at(gone), goneAt === undefined ? undefined : Number(goneAt));
  const listed = items.split(',').map((item) => item.trim());
  return store.replace(listed.filter((item) => item !== '').map(at), version);
}

test.each<[string, string[], string[]]>([
  ['a new object is added', ['put a/x 1'], ['added a/x 1']],
  ['a newer version is an update', ['put a/x 9', 'put a/x 10'], ['updated a/x 9>10']],
  ['the same version changes nothing', ['put a/x 5', 'put a/x 5'], []],
  ['an older version changes nothing', ['put a/x 10', 'put a/x 9'], []],
  ['another UID is a deletion and an addition', ['put a/x 5', 'put a/y 6'], ['deleted a/x 5', 'added a/y 6']],
  ['another UID that is older changes nothing', ['put a/y 5', 'put a/x 4'], []],
  ['another name leaves the first object alone', ['put a/x 5', 'put b/z 1'], ['added b/z 1']],

  ['a deletion removes the object', ['put a/x 1', 'remove a/x 2'], ['deleted a/x 1']],
  ['the deletion of an unknown object changes nothing', ['remove a/x 2'], []],
  ['the deletion of an object that was re-created since changes nothing', ['put a/y 5', 'remove a/x 4'], []],
  ['a deletion older than the object changes nothing', ['put a/x 5', 'remove a/x 4'], []],
  ['the late response to a write does not undo a deletion', ['put a/x 1', 'remove a/x 3', 'put a/x 2'], []],
  ['the late response to a read does not undo the deletion of an unknown object', ['remove a/x 3', 'put a/x 2'], []],
  ['another object may take the name of a deleted one', ['remove a/x 3', 'put a/y 4'], ['added a/y 4']],
  ['deleting an unknown UID does not replace a remembered deletion', ['remove a/x 3', 'remove a/y 2', 'put a/x 2'], []],
  ['a deletion that is reported again takes the newer version', ['remove a/x 3', 'remove a/x 5', 'put a/x 4'], []],
  [
    'a deleted object may come back in a newer version, as when it matches the selector again',
    ['put a/x 1', 'remove a/x 3', 'remove a/x 2', 'put a/x 4'],
    ['added a/x 4'],
  ],
  ['a deleted object does not come back unchanged', ['put a/x 1', 'remove a/x 3', 'remove a/x 2', 'put a/x 3'], []],
  ['a deletion found by a list has the version of the list', ['put a/x 1', 'list 5:', 'put a/x 4'], []],
  [
    'only the last deletion under a name is remembered',
    ['put a/x 1', 'remove a/x 2', 'put a/y 1', 'remove a/y 2', 'put a/y 1', 'put a/x 1'],
    ['added a/x 1'],
  ],
  [
    'a deletion is remembered for as long as a request can take',
    ['put a/x 1', 'remove a/x 2 at 0', 'put b/z 1', 'remove b/z 2 at 119999', 'put a/x 1'],
    [],
  ],
  [
    'a deletion is forgotten after the longest time that a request can take',
    ['put a/x 1', 'remove a/x 2 at 0', 'put b/z 1', 'remove b/z 2 at 120000', 'put a/x 1'],
    ['added a/x 1'],
  ],
  [
    'the time counts from the last deletion under a name',
    ['remove a/x 2 at 0', 'remove b/x 2 at 100000', 'remove a/x 2 at 110000', 'remove c/x 2 at 225000', 'put a/x 1'],
    [],
  ],
  [
    'a later deletion of one name does not extend the time of the others',
    ['remove a/x 2 at 0', 'remove b/x 2 at 100000', 'remove a/x 2 at 110000', 'remove c/x 2 at 225000', 'put b/x 1'],
    ['added b/x 1'],
  ],

  ['a namespace can be forgotten', ['put a/x 1', 'put b/y 2', 'forget'], ['deleted a/x 1', 'deleted b/y 2']],
  ['what was forgotten may come back unchanged', ['put a/x 5', 'forget', 'put a/x 5'], ['added a/x 5']],

  ['a list adds', ['list 10: a/x 1'], ['added a/x 1']],
  ['a list updates', ['put a/x 1', 'list 10: a/x 2'], ['updated a/x 1>2']],
  ['a list deletes', ['put a/x 1', 'list 10:'], ['deleted a/x 1']],
  ['a re-created object is deleted and added', ['put a/x 1', 'list 10: a/y 5'], ['deleted a/x 1', 'added a/y 5']],
  ['a list does not delete what we wrote after it', ['put a/x 20', 'list 10:'], []],
  ['a list does not replace a newer version', ['put a/x 20', 'list 10: a/x 3'], []],
  ['a list of known versions changes nothing', ['put a/x 1', 'list 10: a/x 1'], []],
  [
    'deletions come before additions, so that an index by name stays correct',
    ['put a/a 1', 'put b/b 1', 'put c/c 1', 'list 10: b/b 2, d/d 3'],
    ['deleted a/a 1', 'deleted c/c 1', 'updated b/b 1>2', 'added d/d 3'],
  ],
])('%s', (_, steps, expected) => {
  const store = new ObjectStore();
  let changes: ObjectChange[] = [];
  for (const step of steps) changes = play(store, step);
  expect(changes.map(short)).toEqual(expected);
});

test('a list of one namespace says nothing about the others', () => {
  const store = new ObjectStore();
  for (const namespace of ['here', 'there']) store.put(object({ version: 1, metadata: { namespace } }));
  expect(store.replace([], '5', 'here').map(({ type, key }) => `${type} ${key}`)).toEqual(['deleted here/a']);
  expect([store.size, store.get('there/a')?.metadata.namespace, [...store.values()].length]).toEqual([1, 'there', 1]);
});
