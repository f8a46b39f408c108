import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { KubeApi, ResourceType } from '../../../src/operator/kube/kube-api.ts';
import { object } from '../objects.ts';
import { type Answer, answering, configFor, cut, hanging, json, refusal } from './answering.ts';

const EVENTS: ResourceType = { group: '', version: 'v1', plural: 'events' };
const POLICIES: ResourceType = { group: 'tunnel-operator.dev', version: 'v1alpha1', plural: 'ippolicies' };
const OF_POLICIES = '/apis/tunnel-operator.dev/v1alpha1/namespaces/ns/ippolicies';

/** Serves as an object and as an empty list. */
const ANSWER = { ...object(), items: [] };
const some = { some: 'body' };

const never = new AbortController().signal;
const watch = (api: KubeApi, signal = never, more: object = {}) =>
  api.watch(POLICIES, { resourceVersion: '7', timeoutSeconds: 240, signal, ...more });
const TRIED = 'dryRun=All&fieldValidation=Strict';
const line = (type: string, of: object) => `${JSON.stringify({ type, object: of })}\n`;

describe('the request', () => {
  const merge = 'application/merge-patch+json';
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'u' } };
  test.each<[string, (api: KubeApi) => Promise<unknown>, object?, string?]>([
    ['GET /api/v1/events', (api) => api.list(EVENTS)],
    [
      `GET ${OF_POLICIES}?limit=5&continue=t&labelSelector=a%3Db`,
      (api) => api.list(POLICIES, { namespace: 'ns', limit: 5, continueToken: 't', labelSelector: 'a=b' }),
    ],
    [`GET ${OF_POLICIES}/a%2Fb`, (api) => api.get(POLICIES, 'a/b', 'ns')],
    [`GET ${OF_POLICIES}/a`, (api) => api.find(POLICIES, 'a', 'ns')],
    [`POST ${OF_POLICIES}`, (api) => api.create(POLICIES, some, 'ns'), some],
    [`POST ${OF_POLICIES}?${TRIED}`, (api) => api.tryCreate(POLICIES, some, 'ns'), some],
    [`PATCH ${OF_POLICIES}/a?${TRIED}`, (api) => api.tryPatch(POLICIES, 'a', some, 'ns'), some, merge],
    [
      `PATCH ${OF_POLICIES}/a?${TRIED}&fieldManager=m&force=true`,
      (api) => api.tryApply(POLICIES, 'a', some, 'ns', { fieldManager: 'm', isForced: true }),
      some,
      'application/apply-patch+yaml',
    ],
    [`PUT ${OF_POLICIES}/a`, (api) => api.replace(POLICIES, 'a', some, 'ns'), some],
    [`PATCH ${OF_POLICIES}/a`, (api) => api.patch(POLICIES, 'a', some, 'ns'), some, merge],
    [`PUT ${OF_POLICIES}/a/status`, (api) => api.replace(POLICIES, 'a', some, 'ns', 'status'), some],
    [`DELETE ${OF_POLICIES}/a`, (api) => api.delete(POLICIES, 'a', 'ns')],
    [`DELETE ${OF_POLICIES}/a`, (api) => api.delete(POLICIES, 'a', 'ns', { uid: 'u' }), options],
  ])('is %s', async (expected, call, body, type = body && 'application/json') => {
    const server = await answering(json(ANSWER));
    await call(server.connect());
    const [asked] = server.asked;
    expect(asked?.line).toBe(expected);
    expect(asked?.body).toBe(body === undefined ? '' : JSON.stringify(body));
    expect(asked?.headers).toMatchObject({ accept: 'application/json', 'user-agent': 'tests' });
    expect(asked?.headers['content-type']).toBe(type);
  });

  test.each([
    ['', {}],
    ['&labelSelector=a%3Db', { labelSelector: 'a=b' }],
  ])('of a watch has its version and selector: "%s"', async (selector, more) => {
    const server = await answering((response) => response.end());
    expect(await Array.fromAsync(watch(server.connect(), never, { namespace: 'ns', ...more }))).toEqual([]);
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=240${selector}`;
    expect(server.asked[0]?.line).toBe(`GET ${OF_POLICIES}?${query}`);
  });

  test.each<[string, string, Answer, (api: KubeApi) => Promise<unknown>]>([
    ['list', 'PartialObjectMetadataList', json(ANSWER), (api) => api.list(EVENTS, { metadataOnly: true })],
    [
      'watch',
      'PartialObjectMetadata',
      (response) => response.end(),
      (api) => Array.fromAsync(watch(api, never, { metadataOnly: true })),
    ],
  ])('of a %s of metadata asks for %s', async (_, kind, answer, call) => {
    const server = await answering(answer);
    await call(server.connect());
    expect(server.asked[0]?.headers.accept).toBe(`application/json;as=${kind};g=meta.k8s.io;v=v1`);
  });
});

describe('the result', () => {
  test.each<[string, (api: KubeApi) => Promise<unknown>, unknown]>([
    ['a get', (api) => api.get(EVENTS, 'a'), ANSWER],
    ['a find', (api) => api.find(EVENTS, 'a'), ANSWER],
    ['a create', (api) => api.create(EVENTS, some), ANSWER],
    ['a replacement', (api) => api.replace(EVENTS, 'a', some), ANSWER],
    ['a patch', (api) => api.patch(EVENTS, 'a', some), ANSWER],
    ['a try', (api) => api.tryCreate(EVENTS, some), ANSWER],
    ['a deletion', (api) => api.delete(EVENTS, 'a'), undefined],
  ])('of %s is the answer, or a KubeError if it is refused', async (_, call, expected) => {
    const server = await answering(json(ANSWER, 201), refusal(422));
    const api = server.connect();
    expect(await call(api)).toEqual(expected);
    await expect(call(api)).rejects.toMatchObject({ name: 'KubeError', code: 422, message: 'said 422' });
  });
});

describe('an error message', () => {
  const SECRET = 'c2VjcmV0LXRva2Vu';
  const get = (api: KubeApi) => api.get(EVENTS, 'x');

  test.each<[string, number, (api: KubeApi) => Promise<unknown>, string]>([
    ['a page', 200, get, 'answered 200 with text/html (19 bytes)'],
    ['an error page', 502, get, 'answered 502 with text/html (19 bytes); is that'],
    ['a redirect', 302, get, 'answered 302 with text/html (19 bytes); is that'],
    [
      'a page instead of a watch',
      200,
      (api) => Array.fromAsync(watch(api)),
      'a watch event of 19 bytes was incomplete',
    ],
  ])('describes %s without quoting it, since it may hold a Secret', async (_, status, call, said) => {
    const page: Answer = (response) => response.writeHead(status, { 'content-type': 'text/html' }).end(`<p>${SECRET}`);
    const error = await call((await answering(page)).connect()).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(said);
    expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
  });

  test('does not quote what a credential program prints', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'echo', args: [SECRET] };
    const server = await answering(json(ANSWER));
    const error = await get(server.connect({ config: configFor(server.url, { exec }) })).catch((thrown) => thrown);
    expect(String(error)).toContain('the credential program did not print JSON');
    expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
  });
});

describe('a watch', () => {
  const added = line('ADDED', object());

  test('yields the events until the server ends it', async () => {
    const server = await answering((response) => response.end(added + line('DELETED', object({ version: 2 }))));
    expect(await Array.fromAsync(watch(server.connect()))).toEqual([
      { type: 'ADDED', object: object() },
      { type: 'DELETED', object: object({ version: 2 }) },
    ]);
  });

  test.each<[string, Answer, object]>([
    ['is refused', refusal(410, 'Expired'), { name: 'KubeError', code: 410, message: 'said 410' }],
    ['is answered with a success other than 200', json({}, 201), { name: 'KubeError', code: 201 }],
    ['ends with an ERROR event', hanging(line('ERROR', { code: 410 })), { name: 'KubeError', code: 410 }],
    ['has a line of HTML', hanging('<html>\n'), { name: 'KubeUnreachableError', message: /^a watch event of 6 bytes/ }],
    [
      'is cut off',
      cut(added),
      { name: 'KubeUnreachableError', message: 'the watch of ippolicies broke off', cause: expect.any(Error) },
    ],
  ])('that %s fails', async (_, answer, { message = /./, ...expected }: { message?: string | RegExp }) => {
    const server = await answering(answer);
    const failure = Array.fromAsync(watch(server.connect()));
    await expect(failure).rejects.toMatchObject({ ...expected, message: expect.stringMatching(message) });
  });

  test('ends as soon as it is aborted, with the reason for the abort', async () => {
    const server = await answering(hanging(added));
    const stop = new AbortController();
    const events = watch(server.connect(), stop.signal);
    expect(await events.next()).toMatchObject({ value: { type: 'ADDED' } });
    const next = events.next();
    stop.abort();
    await expect(next).rejects.toMatchObject({ name: 'AbortError' });
  });
});
