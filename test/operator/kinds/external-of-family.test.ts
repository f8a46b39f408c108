/** Requests sent for an object of a family, and how their responses are read. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { remember } from '../../../src/client/entity-tags.ts';
import { ApiError } from '../../../src/client/errors.ts';
import {
  differing,
  type ExternalOptions,
  externalOfFamily,
  type FamilyCalls,
} from '../../../src/operator/kinds/external-of-family.ts';
import { familyFields } from '../../../src/operator/kinds/family-fields.ts';
import { DigestedText } from '../../../src/operator/managed/declaration/digest.ts';
import { apiKey } from '../../../src/resources/api-key.ts';
import { botUser } from '../../../src/resources/bot-user.ts';
import { type Access, derived, field, required, writeOnly } from '../../../src/resources/definition/resource.ts';

const FIELDS = {
  name: required(z.string()),
  region: required(z.string(), { update: false }),
  key_pem: writeOnly(z.string()),
  // Like the certificate of a domain: only an update of an existing resource can set it.
  module: field(z.string().nullable(), z.string().nullable(), 'derived', true, null),
  state: derived(z.string()),
};
interface Thing {
  id: string;
  uri: string;
  name: string;
  region: string;
  module: string | null;
  etag?: string | undefined;
}
interface Spec {
  name: string;
  region?: string;
  keyPem?: string;
  module?: string | null;
}
const fields = familyFields({ fields: FIELDS });
const thing = (more: Partial<Thing> = {}): Thing => ({
  id: 'th_01jd0000000000000000000000',
  uri: 'https://api.example.com/things/th_1',
  name: 'a',
  region: 'eu',
  module: null,
  ...more,
});
const notFound = () =>
  Promise.reject(new ApiError({ error_code: 'NOT_FOUND', status_code: 404, msg: 'there is none', details: {} }));

/** An API that answers every call alike, and records the calls. */
function externalWith(
  answer: () => Promise<Thing>,
  options: ExternalOptions<Spec, Thing> = {},
  more: Partial<More> = {},
) {
  const sent: unknown[] = [];
  const called = (...call: unknown[]) => {
    sent.push(call);
    return answer();
  };
  const calls: FamilyCalls<Thing> = {
    create: (body, given) => called('create', body, given),
    get: (id) => called('get', id),
    update: (id, body, given) => called('update', id, body, given),
    delete: async (id) => void (await called('delete', id)),
    async *list(_, ids) {
      yield* [thing()].filter(({ id }) => ids?.has(id) ?? true);
    },
    ...more.calls,
  };
  const scope = async (name: string) => ({
    scope: name,
    resources: [{ id: 'th_1', uri: 'https://api.example.com/things/th_1', sequence: 3 }],
    next_sequence: 4,
  });
  const family = { prefix: 'th', access: more.access ?? 'anyone' };
  const client = { idempotencyScope: scope, closeIdempotencyScope: scope, whoami: more.whoami ?? notFound };
  return { sent, external: externalOfFamily<Spec, Thing>(family, fields, calls, client as never, options) };
}
interface More {
  access: Access;
  calls: Partial<FamilyCalls<Thing>>;
  whoami: () => Promise<object>;
}

const answered = (more: Partial<Thing> = {}, { replayed = false } = {}) =>
  Promise.resolve(remember(thing(more), { etag: '"2"', replayed }));

describe('a resource', () => {
  test('is created; fields that only an update can set follow, at the created revision', async () => {
    const { sent, external } = externalWith(answered);
    const idempotency = { idempotencyKey: 'k' };
    const spec = { name: 'a', region: 'eu', keyPem: 'pem' };
    const create = ['create', { name: 'a', region: 'eu', key_pem: 'pem' }, idempotency];
    expect(await external.create(spec, idempotency)).toMatchObject({
      etag: '"2"',
      isReplay: false,
    });
    expect(sent.splice(0)).toEqual([create]);
    expect(await external.create({ ...spec, module: 'm' }, idempotency)).toMatchObject({ id: thing().id, etag: '"2"' });
    expect(sent).toEqual([create, ['update', thing().id, { name: 'a', module: 'm' }, { ifMatch: '"2"' }]]);
  });

  test('is not updated if an earlier attempt created it', async () => {
    const { sent, external } = externalWith(() => answered({}, { replayed: true }));
    expect(await external.create({ name: 'a', module: 'm' }, {})).toMatchObject({ isReplay: true });
    expect(sent).toHaveLength(1);
  });

  test('is read with its revision, and missing only if the API does not find it', async () => {
    expect(await externalWith(answered).external.observe('th_1')).toMatchObject({ etag: '"2"' });
    expect(await externalWith(notFound).external.observe('th_1')).toBeUndefined();
    const refused = new ApiError({ error_code: 'PERMISSION_DENIED', status_code: 403, msg: 'no', details: {} });
    await expect(externalWith(() => Promise.reject(refused)).external.observe('th_1')).rejects.toBe(refused);
  });

  test('is deleted, or reported as not found', async () => {
    const { sent, external } = externalWith(answered);
    expect(await external.delete('th_1')).toBe('deleted');
    expect(sent).toEqual([['delete', 'th_1']]);
    expect(await externalWith(notFound).external.delete('th_1')).toBe('not found');
  });

  test('is updated at the compared revision, without fields that the service sets', async () => {
    const { sent, external } = externalWith(answered, { setByService: () => ['module'] });
    const remote = { ...thing({ module: 'theirs' }), etag: '"1"' };
    expect(external.changes({ name: 'b', module: 'ours' }, remote)).toEqual(['name']);
    expect(await external.update(remote, { name: 'b', module: 'ours' })).toMatchObject({ etag: '"2"' });
    expect(sent).toEqual([['update', remote.id, { name: 'b' }, { ifMatch: '"1"' }]]);
  });

  test.each([
    ['an immutable field cannot be updated', {}, ['region'], []],
    ['a field listed as replaced needs a new resource', { replaced: ['region'] }, ['region'], ['region']],
  ])('that differs in %s', (_, options, immutable, replacing) => {
    const { external } = externalWith(answered, options);
    const spec = { name: 'b', region: 'us' };
    expect(external.changes(spec, thing())).toEqual(['name', 'region']);
    expect(external.immutableChanges(spec, thing())).toEqual(immutable);
    expect(external.replacingChanges(spec, thing())).toEqual(replacing);
  });

  test('has an id of its family', () => {
    const { external } = externalWith(answered);
    expect(external.idPrefix).toBe('th_');
    expect(['th_01jd0000000000000000000000', 'ot_01jd0000000000000000000000', 'th_'].map(external.isId)).toEqual([
      true,
      false,
      false,
    ]);
    const nested = externalWith(answered, {}, { calls: { isId: (id) => id.includes('/') } });
    expect(['a/b', 'th_01jd0000000000000000000000'].map(nested.external.isId)).toEqual([true, false]);
  });

  test.each(['scope', 'closeScope'] as const)('is found by %s, with its sequence number', async (verb) => {
    expect(await externalWith(answered).external[verb]('uid')).toEqual({
      resources: [{ id: 'th_1', sequence: 3 }],
      nextSequence: 4,
    });
    const nested = externalWith(answered, {}, { calls: { idOf: ({ id }) => `parent/${id}` } });
    expect((await nested.external[verb]('uid')).resources).toEqual([{ id: 'parent/th_1', sequence: 3 }]);
  });
});

describe('the API key', () => {
  const caller =
    (type: string, admin = false) =>
    async () => ({ admin, owner: { id: 'own_1', type } });
  test.each<[string, Access, () => Promise<object>, unknown]>([
    ['of an admin sees everything', 'owner', caller('user', true), 'everything'],
    ['of a user sees theirs, and may become an admin', 'owner', caller('user'), { ownerId: 'own_1', mayBeAdmin: true }],
    ['of a bot sees its own resources', 'owner', caller('bot_user'), { ownerId: 'own_1', mayBeAdmin: false }],
    ['sees everything if the API has no whoami', 'owner', notFound, 'everything'],
    ['sees everything if anyone does, with no call', 'anyone', () => Promise.reject(new Error('asked')), 'everything'],
  ])('%s', async (_, access, whoami, sight) => {
    expect(await externalWith(answered, {}, { access, whoami }).external.sight()).toEqual(sight);
  });
});

test('a field that responses leave out while it is null differs only if the spec sets it', () => {
  const given = familyFields(botUser);
  const remote = { name: 'a', active: true };
  expect(differing(given, remote, remote)).toEqual([]);
  expect(differing(given, { ...remote, role: 'viewer' }, remote)).toEqual(['role']);
  expect(differing(given, remote, { ...remote, role: 'viewer' })).toEqual(['role']);
});

test('scopes in another order are the same', () => {
  const given = familyFields(apiKey);
  const scopes = ['ip_policies:write', '*:read'];
  expect(differing(given, { scopes }, { scopes: scopes.toReversed() })).toEqual([]);
  expect(differing(given, { scopes }, { scopes: ['*:read'] })).toEqual(['scopes']);
});

describe('a field with texts known only by their digests', () => {
  // Stored in lower case, like the headers of HTTP response backends.
  const headers = z
    .record(z.string(), z.string())
    .transform((all) => Object.fromEntries(Object.entries(all).map(([name, value]) => [name.toLowerCase(), value])));
  const given = familyFields({
    fields: {
      target: required(z.object({ auth_name: z.string() })),
      headers: required(headers),
      list: required(z.any()),
    },
  });
  const digested = (text: string) => new DigestedText((other) => other === text);
  const spec = { target: { authName: digested('x') }, headers: { 'X-Key': digested('y') }, list: ['a'] };
  const remote = { target: { auth_name: 'x' }, headers: { 'x-key': 'y' }, list: ['a'] };

  test.each<[string, object, string[]]>([
    ['is equal if its texts are', remote, []],
    ['differs in a member', { ...remote, target: { auth_name: 'z' } }, ['target']],
    ['differs if the resource has none', { ...remote, target: null }, ['target']],
    ['differs in a value of a map', { ...remote, headers: { 'x-key': 'z' } }, ['headers']],
    ['differs if its map lacks a key', { ...remote, headers: {} }, ['headers']],
    ['is compared without digests if it is a list', { ...remote, list: ['b'] }, ['list']],
  ])('%s', (_, observed, members) => {
    expect(differing(given, spec, observed)).toEqual(members);
  });
});
