/** Whether what a spec names by its id is there, as the API says it to who plans. */
import { expect, test } from 'vitest';
import { ApiError, createClient } from '../../../src/client/client.ts';
import { ipPolicyKind } from '../../../src/operator/kinds/ip-policy.ts';
import { tlsEdgeModulesKind } from '../../../src/operator/kinds/tls-edge-modules.ts';
import { Blocked, type Remote } from '../../../src/operator/managed/declaration/external.ts';
import { NamedResources } from '../../../src/operator/plan/named-resources.ts';
import { object } from '../objects.ts';

const [POLICY, GONE, USER, BOT] = ['ipp', 'ipp', 'usr', 'bot'].map(
  (prefix, index) => `${prefix}_01m7yvm3eyf20vnt1006h45zq${index}`,
);
const errors = {
  missing: new ApiError({ error_code: 'NOT_FOUND', status_code: 404, msg: 'not found', details: {} }),
  hidden: new ApiError({ error_code: 'PERMISSION_DENIED', status_code: 403, msg: 'denied', details: {} }),
};

interface Caller {
  readonly admin?: boolean | 'unknown';
  /** What comes in place of a resource that is not there. */
  readonly error?: Error;
}

/** An API that has one IP policy and no user. */
function answering({ admin = true, error = errors.missing }: Caller = {}) {
  const asked: string[] = [];
  const client = createClient({ baseUrl: 'http://localhost:1', apiKey: 'x' });
  const [uri, name] = ['http://localhost:1', 'x'];
  const get = async (id: string): Promise<never> => {
    asked.push(id);
    throw error;
  };
  const fake = {
    ...client,
    users: { ...client.users, get },
    async whoami() {
      if (admin === 'unknown') throw errors.missing;
      const owner = { id: 'usr_1', uri, type: 'user' as const, name };
      return { uri, owner, admin, api_key: { id: 'key_1', uri, expires_at: null } };
    },
  };
  const policies = ipPolicyKind.calls(client);
  const policy: Remote = { id: POLICY ?? '', uri };
  const kind = {
    ...ipPolicyKind,
    calls: () => ({ ...policies, get: async (id: string) => (id === POLICY ? policy : get(id)) }),
  };
  return { named: new NamedResources([tlsEdgeModulesKind, kind], fake), asked };
}

const mustExist = (spec: object, caller: Caller = {}, current: Remote | undefined = undefined) =>
  answering(caller).named.mustExist(object({ spec }), current);
const edge = (...ids: (string | undefined)[]) => ({ ipPolicyRefs: ids.map((id) => ({ id })) });

test('what the API has is there, and so is what no kind of ours has', async () => {
  await expect(mustExist(edge(POLICY))).resolves.toBeUndefined();
  await expect(mustExist({ ownerId: BOT })).resolves.toBeUndefined();
  await expect(mustExist({})).resolves.toBeUndefined();
});

test('what is missing is named, all of it at once', async () => {
  await expect(mustExist(edge(GONE))).rejects.toBeInstanceOf(Blocked);
  await expect(mustExist({ ...edge(POLICY, GONE), ownerId: USER })).rejects.toMatchObject({
    message: `spec.ipPolicyRefs[1].id: ${GONE} does not exist; spec.ownerId: ${USER} does not exist`,
  });
});

test('what is referred to already may be gone', async () => {
  const current = { id: 'x', uri: '', ip_policies: [{ id: GONE }] };
  await expect(mustExist(edge(GONE), {}, current)).resolves.toBeUndefined();
  await expect(mustExist(edge(GONE), {}, { id: 'x', uri: '' })).rejects.toThrow(`${GONE} does not exist`);
});

test.each<[string, Caller]>([
  ['the API key may not ask for it', { error: errors.hidden }],
  ['the API shows some of its like only to admins', { admin: false }],
])('what is not shown may exist if %s', async (_, caller) => {
  await expect(mustExist({ ...edge(GONE), ownerId: USER }, caller)).resolves.toBeUndefined();
});

test('an API that is too old to say who asks is believed', async () => {
  await expect(mustExist(edge(GONE), { admin: 'unknown' })).rejects.toThrow(`${GONE} does not exist`);
});

test.each([
  ['breaks', new ApiError({ error_code: 'INTERNAL_ERROR', status_code: 500, msg: 'failed', details: {} })],
  ['gives no answer', new TypeError('odd')],
])('nothing is said about what the API %s for', async (_, error) => {
  await expect(mustExist(edge(GONE), { error })).rejects.toBe(error);
});

test('each is asked for once', async () => {
  const { named, asked } = answering();
  for (const name of ['a', 'b']) {
    await expect(named.mustExist(object({ name, spec: edge(GONE, GONE) }), undefined)).rejects.toThrow(Blocked);
  }
  expect(asked).toEqual([GONE]);
});
