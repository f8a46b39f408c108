/** The dry run in which the API server checks an object, and what its answers mean. */
import { expect, test } from 'vitest';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { Blocked } from '../../../src/operator/managed/declaration/external.ts';
import { ApiServerCheck } from '../../../src/operator/plan/api-server-check.ts';
import { object } from '../objects.ts';

const kind = { kind: 'IPPolicy', plural: 'ippolicies' };
const type = { group: 'tunnel-operator.dev', version: 'v1alpha1', plural: 'ippolicies' };
const [made, existing] = [object({ uid: '' }), object({ version: 7 })];
const body = { spec: { description: 'x' } };
const stored = object({ uid: 'dry', version: 9, spec: { description: 'x' } });

/** A check against a server with one answer, and the calls that the server received. */
function answering(answer: KubeObject | Error, namespaces: readonly string[] = []) {
  const asked: unknown[] = [];
  const notes: string[] = [];
  const answered =
    (verb: string) =>
    async (...call: unknown[]) => {
      asked.push([verb, ...call]);
      if (answer instanceof Error) throw answer;
      return answer;
    };
  const check = new ApiServerCheck({
    kube: { tryCreate: answered('create'), tryPatch: answered('patch'), tryApply: answered('apply') },
    createsNamespace: (name) => namespaces.includes(name),
    note: (text) => void notes.push(text),
  });
  return { check, asked, notes };
}

const accepted = (answer: Error, of = made, namespaces: readonly string[] = []) =>
  answering(answer, namespaces).check.accepted(kind, { object: of, body, manager: undefined });

test('a new object is created in the dry run, and keeps its empty UID', async () => {
  const { check, asked } = answering(stored);
  const found = await check.accepted(kind, { object: made, body, manager: undefined });
  expect(found).toMatchObject({ spec: body.spec, metadata: { uid: '', resourceVersion: '1' } });
  expect(asked).toEqual([['create', type, body, 'ns']]);
});

test.each([
  ['patched if the client merges it', undefined, ['patch', type, 'a', body, 'ns']],
  [
    'applied without force for kubectl',
    'kubectl',
    ['apply', type, 'a', body, 'ns', { fieldManager: 'kubectl', isForced: false }],
  ],
  [
    'applied with force for a controller',
    'flux',
    ['apply', type, 'a', body, 'ns', { fieldManager: 'flux', isForced: true }],
  ],
])('an existing object is %s', async (_, manager, call) => {
  const { check, asked } = answering(stored);
  expect(await check.accepted(kind, { object: existing, body, manager })).toBe(stored);
  expect(asked).toEqual([call]);
});

const NO_RIGHT = 'User "x" cannot create resource "ippolicies" in API group "tunnel-operator.dev"';
const NO_NAMESPACE = new KubeError(404, 'NotFound', 'namespaces "ns" not found');

test.each<[string, KubeError, string[], string[]]>([
  ['another client has just created it', new KubeError(409, 'AlreadyExists', 'it exists'), [], []],
  ['the server throttles', new KubeError(429, 'TooManyRequests', 'later'), [], []],
  ['the user lacks the permission', new KubeError(403, 'Forbidden', NO_RIGHT), [], [NO_RIGHT]],
  ['the files create its namespace', NO_NAMESPACE, ['ns'], ['namespace ns does not exist yet']],
])('an object is taken as it is, with a note where the user can act, if %s', async (_, error, namespaces, noted) => {
  const { check, notes } = answering(error, namespaces);
  expect(await check.accepted(kind, { object: made, body, manager: undefined })).toBe(made);
  expect(notes).toEqual(noted.map((note) => expect.stringContaining(note)));
});

test.each<[string, KubeObject, KubeError, string]>([
  ['its namespace does not exist', made, NO_NAMESPACE, 'namespace ns does not exist'],
  [
    'the cluster lacks the kind',
    made,
    new KubeError(404, 'NotFound', 'the server could not find the requested resource'),
    'the cluster has no kind IPPolicy: install its CustomResourceDefinition',
  ],
  [
    'a policy refuses it',
    made,
    new KubeError(403, 'Forbidden', 'admission webhook "x" denied the request'),
    'admission webhook "x" denied the request',
  ],
  [
    'its schema refuses it',
    made,
    new KubeError(422, 'Invalid', 'IPPolicy.tunnel-operator.dev "a" is invalid: spec.acl: Required value\nmore'),
    'spec.acl: Required value',
  ],
  ['the message of a webhook looks like a missing permission', made, new KubeError(422, 'Invalid', NO_RIGHT), NO_RIGHT],
  ['it is malformed', made, new KubeError(400, 'BadRequest', 'strict decoding error'), 'strict decoding error'],
  ['others own its fields', existing, new KubeError(409, 'Conflict', 'conflict with "x"'), 'conflict with "x"'],
])('an object is refused if %s', async (_, of, error, message) => {
  const answer = accepted(error, of);
  await expect(answer).rejects.toBeInstanceOf(Blocked);
  await expect(answer).rejects.toMatchObject({ message });
});

test.each([
  ['the user is not authenticated', new KubeError(401, 'Unauthorized', 'Unauthorized')],
  ['the server fails', new KubeError(500, 'InternalError', 'failed')],
  ['the answer is a redirect', new KubeError(302, 'Found', 'elsewhere')],
  ['there is no answer', new TypeError('fetch failed')],
])('the check itself fails if %s', async (_, error) => {
  await expect(accepted(error)).rejects.toBe(error);
});
