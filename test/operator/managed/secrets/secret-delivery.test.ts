import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SECRET_TYPE } from '../../../../src/operator/contract/names.ts';
import { type KubeObject, kubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../../src/operator/kube/metrics.ts';
import { handout } from '../../../../src/operator/managed/declaration/handout.ts';
import { type SecretSpec, secretBody } from '../../../../src/operator/managed/secrets/content.ts';
import { decode, encode, encodedData } from '../../../../src/operator/managed/secrets/data.ts';
import { SecretAccess } from '../../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../../src/operator/managed/secrets/secret-cache.ts';
import { SecretDelivery } from '../../../../src/operator/managed/secrets/secret-delivery.ts';
import { sha256Hex } from '../../../../src/resources/formats/sha256.ts';
import { object } from '../../objects.ts';
import { type Policy, placing } from '../placing.ts';

const about = { what: 'token', key: 'token', member: 'token', type: 'authtoken' as const };
const oneTime = handout({ name: 'credential' }, { ...about, isOneTime: true });
const everyTime = handout({ name: 'credential' }, { ...about, isOneTime: false });
const spec: SecretSpec = { secret: { key: 'token' } };
/** Of a kind that no cluster has, so that garbage collection does not look for the owner of its Secrets. */
const credential = (fields: Parameters<typeof object>[0] = {}) =>
  object({ name: 'cred', uid: 'u1', kind: 'Credential', ...fields }, { externalId: 'cr_1' });
const remote = { id: 'cr_1', uri: 'https://api.test/credentials/cr_1' };
const fresh = { ...remote, token: 't0ken' };

/** A Secret as the operator writes it under this name, with changes by hand. */
function written(name = 'cred', more: Parameters<typeof object>[0] = {}): KubeObject {
  const body = secretBody(oneTime, credential(), { secret: { ...spec.secret, name } }, { id: 'cr_1', value: 't0ken' });
  const metadata = { ...object({ uid: `uid-of-${name}` }).metadata, ...body.metadata, ...more.metadata };
  return kubeObject.parse({ ...body, ...more, metadata });
}
const released = { metadata: { ownerReferences: [] } };
const strangers = { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Other', name: 'x', uid: 'u9' }] } };

interface Circumstances {
  /** The Secrets in the cluster. */
  secrets?: KubeObject[];
  /** Those in the cache; the same, by default. */
  cached?: KubeObject[];
  policy?: Policy;
  of?: typeof oneTime;
  mayAdopt?: boolean;
  exists?: boolean;
}

async function delivering(circumstances: Circumstances = {}) {
  const { secrets = [], cached = secrets, policy, of = oneTime, mayAdopt = true, exists = true } = circumstances;
  const cluster = await placing({ secrets }, policy);
  const { kube, namespace } = cluster;
  const metrics = createKubeMetrics(new Registry(), 'tests');
  const cache = new SecretCache(kube, { silenceMs: 60_000, log: pino({ enabled: false }), metrics });
  const there = ({ metadata, ...rest }: KubeObject) => ({ ...rest, metadata: { ...metadata, namespace } });
  for (const secret of cached) cache.watch.observe(there(cluster.known(secret)));
  const access = new SecretAccess(kube, cache, (where) => mayAdopt && where === namespace);
  const delivery = new SecretDelivery({ handout: of, renewal: () => ({}) }, access, async () => exists);
  const find = (name: string) => cluster.find('secrets', name);
  return {
    access,
    cluster,
    delivery,
    find,
    to: (fields: Parameters<typeof object>[0] = {}) => there(credential(fields)),
    tokenIn: async (name: string) => decode(encodedData((await find(name)) ?? object()).token ?? ''),
    deliver: (given: object, by = spec, to = there(credential())) =>
      delivery.deliver({ object: to, mustBeNewest: async () => {} }, by, { ...remote, ...given }),
  };
}

const webhook = { policy: 'alters Secrets' } as const;
/** The Secret stays, although its namespace is being deleted. */
const held = { metadata: { finalizers: ['tests.tunnel-operator.dev/hold'] } };
const terminating = { policy: 'terminates' } as const;
const quota = { policy: 'refuses creates' } as const;

describe('before anything is created, a Secret', () => {
  test.each<[string, Circumstances]>([
    ['that does not exist', {}],
    ['of the object, where a quota is used up', { secrets: [written()], ...quota }],
  ])('%s can be written, and stays as it is', async (_, circumstances) => {
    const { delivery, find, to } = await delivering(circumstances);
    const before = await find('cred');
    expect(before !== undefined).toBe(circumstances.secrets !== undefined);
    await delivery.prepare(to(), spec);
    expect(await find('cred')).toEqual(before);
  });

  test.each<[string, Circumstances, object]>([
    ['of another owner', { secrets: [written('cred', strangers)] }, { reason: 'SecretConflict' }],
    ['of another type', { secrets: [written('cred', { type: 'Opaque' })] }, { reason: 'SecretConflict' }],
    ['that is immutable', { secrets: [written('cred', { immutable: true })] }, { reason: 'SecretConflict' }],
    ['that would be altered on create', webhook, { reason: 'KubernetesError' }],
    ['that would be altered on update', { secrets: [written()], ...webhook }, { reason: 'KubernetesError' }],
    ['that a quota forbids', quota, { code: 403 }],
    ['of a namespace that is being deleted', { secrets: [written('cred', held)], ...terminating }, { code: 403 }],
  ])('%s cannot be written', async (_, circumstances, expected) => {
    const { delivery, to } = await delivering(circumstances);
    await expect(delivery.prepare(to(), spec)).rejects.toMatchObject(expected);
  });
});

test('no Secret is tried within a minute of one that was accepted, until one is refused', async () => {
  const taken = { secrets: [written('taken', strangers)], cached: [] };
  const { delivery, deliver, cluster, to } = await delivering(taken);
  const requestsToPrepare = async () => {
    const before = cluster.asked().length;
    await delivery.prepare(to({ name: 'another' }), spec);
    return cluster.asked().length - before;
  };
  expect([await requestsToPrepare(), await requestsToPrepare()]).toEqual([1, 0]);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect([await requestsToPrepare(), await requestsToPrepare()]).toEqual([1, 0]);
  await expect(deliver(fresh, spec, to({ name: 'taken' }))).rejects.toMatchObject({ reason: 'SecretConflict' });
  expect([await requestsToPrepare(), await requestsToPrepare()]).toEqual([1, 0]);
});

test('a Secret is tried again after one was altered', async () => {
  const { delivery, deliver, cluster, to } = await delivering(webhook);
  const isAltered = { reason: 'KubernetesError' };
  await expect(deliver(fresh)).rejects.toMatchObject(isAltered);
  const before = cluster.asked().length;
  await expect(delivery.prepare(to({ name: 'another' }), spec)).rejects.toMatchObject(isAltered);
  expect(cluster.asked().length).toBeGreaterThan(before);
});

describe('a token', () => {
  const oldToken = { secrets: [written('cred', { data: { token: encode('old') } })] };

  test.each<[string, number, Circumstances]>([
    ['in a new Secret', 1, {}],
    ['in place of a Secret that is cached, but deleted', 2, { cached: [written()] }],
    ['in a Secret that is not cached yet', 3, { secrets: [written('cred', { data: {} })], cached: [] }],
    ['in place of another', 2, oldToken],
  ])('that was just issued is stored %s, with calls: %i', async (_, calls, circumstances) => {
    const { deliver, tokenIn, find, cluster } = await delivering(circumstances);
    expect(await deliver(fresh)).toBe('held');
    expect(cluster.asked()).toHaveLength(calls);
    expect(await tokenIn('cred')).toBe('t0ken');
    expect((await find('cred'))?.type).toBe(SECRET_TYPE.authtoken);
  });

  test.each([
    ['one-time', oneTime, remote],
    ['repeated', everyTime, fresh],
  ])('that is %s and stored costs no call', async (_, of, shown) => {
    const { deliver, cluster } = await delivering({ cached: [written()], of });
    expect(await deliver(shown)).toBe('held');
    expect(cluster.asked()).toEqual([]);
  });

  test('that every response shows is written when it has changed', async () => {
    const { deliver, tokenIn } = await delivering({ secrets: [written()], of: everyTime });
    expect(await deliver({ token: 'other' })).toBe('held');
    expect(await tokenIn('cred')).toBe('other');
  });

  test.each<[string, Circumstances]>([
    ['with its Secret', { cached: [] }],
    ['when its Secret has another one', oldToken],
  ])('is lost %s', async (_, circumstances) => {
    const { deliver, cluster } = await delivering(circumstances);
    expect(await deliver(remote)).toBe('lost');
    expect(cluster.writes()).toEqual([]);
  });

  test.each([
    ['cached', true],
    ['not cached yet', false],
  ])('stays when the rest of its Secret was edited, and the edit is %s', async (_, isCached) => {
    const edited = written('cred', { metadata: { labels: {} } });
    const { deliver, find } = await delivering({ secrets: [edited], cached: isCached ? [edited] : [] });
    expect(await deliver(remote)).toBe('held');
    const found = await find('cred');
    expect([found?.metadata.labels, found?.data]).toEqual([written().metadata.labels, written().data]);
  });

  test.each([
    ['one-time', oneTime, remote],
    ['new', oneTime, fresh],
    ['repeated', everyTime, fresh],
  ])('that is %s moves with the name of its Secret', async (_, of, shown) => {
    const { deliver, tokenIn, find } = await delivering({ secrets: [written(), written('old')], of });
    expect(await deliver(shown)).toBe('held');
    expect([await tokenIn('cred'), await find('old')]).toEqual(['t0ken', undefined]);
  });

  test.each([
    ['is deleted if it has the id', written('old', { type: 'Opaque' }), undefined],
    ['is deleted if it has the type', written('old', { data: {} }), undefined],
    ['stays if it has neither', written('old', { type: 'Opaque', data: {} }), 'old'],
    ['stays if it has no owner', written('old', released), 'old'],
  ])('moves, and the former Secret %s', async (_, former, expected) => {
    const { deliver, find } = await delivering({ secrets: [former], cached: [written('old')] });
    await deliver(fresh);
    expect((await find('old'))?.metadata.name).toBe(expected);
  });

  test('is not stored for a stale object', async () => {
    const { delivery, cluster, to } = await delivering();
    const stale = { object: to(), mustBeNewest: () => Promise.reject(new Error('stale')) };
    await expect(delivery.deliver(stale, spec, fresh)).rejects.toThrow('stale');
    expect(cluster.writes()).toEqual([]);
  });

  const other = { secrets: [written('cred', { ...released, data: { 'credential-id': encode('cr_9') } })] };
  const immutable = { secrets: [written('cred', { immutable: true, data: { token: encode('old') } })] };
  test.each<[string, Circumstances, string]>([
    ['has another owner', { secrets: [written('cred', strangers)] }, 'belongs to Other'],
    ['got another owner since', { secrets: [written('cred', strangers)], cached: [] }, 'belongs to Other'],
    ['holds another token', other, 'holds the token of cr_9: '],
    ['holds an old token', { ...other, exists: false }, 'cr_9, which no longer exists'],
    ['holds a token that may not be adopted', { ...other, mayAdopt: false }, 'cr_9, which may not be adopted'],
    ['has another type', { secrets: [written('cred', { type: 'Opaque' })] }, 'has the type Opaque'],
    ['is immutable and has another token', immutable, 'is immutable'],
    ['is altered on create', webhook, 'would not be stored as written'],
    ['is altered on update', { secrets: [written()], ...webhook }, 'would not be stored as written'],
    ['exceeds a quota', quota, 'quota'],
  ])('is not stored in a Secret that %s', async (_, circumstances, message) => {
    const { deliver } = await delivering(circumstances);
    await expect(deliver(fresh)).rejects.toThrow(message);
  });
});

const apiKey = handout({ name: 'credential' }, { ...about, type: 'apiKey', isOneTime: true });
const bare = written('cred', { type: SECRET_TYPE.apiKey });
test.each<[string, string, Circumstances, Parameters<typeof object>[0]?]>([
  ['with the suffix of its type', 'cred-api-key', {}],
  ['with it, although another object has a Secret of the bare name', 'cred-api-key', { cached: [written()] }],
  ['without, if it has been there without', 'cred', { cached: [bare] }],
  [
    'without, if it was left behind there',
    'cred',
    { cached: [{ ...bare, metadata: { ...bare.metadata, ...released.metadata } }] },
  ],
  ['without, if the status says so', 'cred', {}, { status: { secretName: 'cred' } }],
])('the Secret has the name of its object %s', async (_, expected, circumstances, fields) => {
  const { delivery, to } = await delivering({ secrets: [], of: apiKey, ...circumstances });
  expect(delivery.nameFor(to(fields), spec)).toBe(expected);
});

test.each<[string, boolean, Circumstances, SecretSpec?, KubeObject?]>([
  ['it is in its Secret', true, { cached: [written()] }],
  ['there is no Secret', false, {}],
  ['its Secret was edited', false, { cached: [written('cred', { data: { token: encode('x') } })] }],
  ['there is no resource yet', false, { cached: [written()] }, spec, object({ name: 'cred', uid: 'u1' })],
  ['a second Secret has a former name', false, { cached: [written(), written('old')] }],
  ['the spec names another Secret', false, { cached: [written()] }, { secret: { key: 'token', name: 'new' } }],
])(
  'whether the cache alone shows that a token is held: %s',
  async (_, expected, circumstances, by = spec, of = credential()) => {
    const { delivery, cluster } = await delivering({ secrets: [], ...circumstances });
    const { namespace } = cluster;
    expect(delivery.looksHeld({ ...of, metadata: { ...of.metadata, namespace } }, by)).toBe(expected);
    expect(cluster.asked()).toEqual([]);
  },
);

test('resources with stored tokens are found in all Secrets that the object owns, regardless of its spec', async () => {
  const secrets = [
    written('one', { data: { token: encode('t0ken'), 'credential-id': encode('cr_7') } }),
    written('two'),
    written('edited', { data: { token: encode('x'), 'credential-id': encode('cr_8') } }),
    written('empty', { data: {} }),
    written('other', strangers),
  ];
  const { delivery, to } = await delivering({ secrets });
  expect(await delivery.stored(to())).toEqual(['cr_7', 'cr_1']);
});

describe('when its object is deleted and the resource stays, a Secret', () => {
  const owners = (found: KubeObject | undefined) => [found?.metadata.name, found?.metadata.ownerReferences ?? []];

  test('stays without this owner, but with its other owners', async () => {
    const [own] = written().metadata.ownerReferences ?? [];
    const [other] = strangers.metadata.ownerReferences;
    const shared = { metadata: { ownerReferences: [own, other].filter((owner) => owner !== undefined) } };
    const { delivery, find, to } = await delivering({ secrets: [written(), written('shared', shared)] });
    expect(await delivery.release(to(), ['cr_1'])).toEqual(['cr_1', 'cr_1']);
    expect(owners(await find('cred'))).toEqual(['cred', []]);
    expect(owners(await find('shared'))).toEqual(['shared', [other]]);
  });

  test.each<[string, KubeObject | undefined, Parameters<typeof object>[0], string[]]>([
    ['of another owner does not count', written('cred', strangers), {}, []],
    ['that was released before counts', written('cred', released), {}, ['cr_1']],
    ['under the name in the spec counts', written('s', released), { spec: { secret: { name: 's' } } }, ['cr_1']],
    ['under the default name counts', written('cred', released), { spec: { secret: { name: '' } } }, ['cr_1']],
    ['that is missing does not count', undefined, {}, []],
  ])('%s', async (_, secret, fields, expected) => {
    const { delivery, cluster, to } = await delivering({ secrets: secret ? [secret] : [] });
    expect(await delivery.release(to(fields), ['cr_1'])).toEqual(expected);
    expect(await delivery.release(to(fields), ['cr_9'])).toEqual([]);
    expect(cluster.writes()).toEqual([]);
  });

  test('that has lost the id counts, with an empty id', async () => {
    const { delivery, find, to } = await delivering({ secrets: [written('cred', { data: {} })] });
    expect(await delivery.release(to(), ['cr_1'])).toEqual(['']);
    expect(owners(await find('cred'))).toEqual(['cred', []]);
  });
});

test('the cache has every write as soon as the call returns', async () => {
  const { access, cluster, to } = await delivering();
  const cached = () => access.cached(to(), 'cred')?.digests.token;
  await access.create({ ...written(), metadata: { name: 'cred' } }, cluster.namespace);
  expect(cached()).toBe(sha256Hex('t0ken'));
  const changed = await access.patch('cred', { data: { token: encode('two') } }, cluster.namespace);
  expect(cached()).toBe(sha256Hex('two'));
  await access.delete(changed);
  expect(cached()).toBeUndefined();
});
