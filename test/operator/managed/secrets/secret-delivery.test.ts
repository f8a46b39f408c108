import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { SECRET_TYPE } from '../../../../src/operator/contract/names.ts';
import { type KubeObject, kubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../../src/operator/kube/metrics.ts';
import { handout } from '../../../../src/operator/managed/declaration/handout.ts';
import { type SecretSpec, secretBody } from '../../../../src/operator/managed/secrets/content.ts';
import { decode, encode, encodedData } from '../../../../src/operator/managed/secrets/data.ts';
import { SecretAccess } from '../../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../../src/operator/managed/secrets/secret-cache.ts';
import { SecretDelivery } from '../../../../src/operator/managed/secrets/secret-delivery.ts';
import { object } from '../../objects.ts';
import { type Policy, placing } from '../placing.ts';

const about = { what: 'token', key: 'token', member: 'token', type: 'authtoken' as const };
const oneTime = handout({ name: 'credential' }, { ...about, isOneTime: true });
const everyTime = handout({ name: 'credential' }, { ...about, isOneTime: false });
const spec: SecretSpec = { secret: { key: 'token' } };
/** Of a kind that no cluster has: what collects garbage there does not miss the owner of its Secrets. */
const credential = (fields: Parameters<typeof object>[0] = {}) =>
  object({ name: 'cred', uid: 'u1', kind: 'Credential', ...fields }, { externalId: 'cr_1' });
const remote = { id: 'cr_1', uri: 'https://api.test/credentials/cr_1' };
const fresh = { ...remote, token: 't0ken' };

/** A Secret as the operator has written it, under this name, changed by hand. */
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
    ['that is not there', {}],
    ['that is the object’s', { secrets: [written()] }],
    ['that is the object’s, where a quota is used up', { secrets: [written()], ...quota }],
  ])('%s is in nobody’s way, and stays as it is', async (_, circumstances) => {
    const { delivery, find, to } = await delivering(circumstances);
    const before = await find('cred');
    expect(before !== undefined).toBe(circumstances.secrets !== undefined);
    await delivery.prepare(to(), spec);
    expect(await find('cred')).toEqual(before);
  });

  test.each<[string, Circumstances, object]>([
    ['that is a stranger’s', { secrets: [written('cred', strangers)] }, { reason: 'SecretConflict' }],
    ['of another type', { secrets: [written('cred', { type: 'Opaque' })] }, { reason: 'SecretConflict' }],
    ['that is immutable', { secrets: [written('cred', { immutable: true })] }, { reason: 'SecretConflict' }],
    ['that would be altered when it is made', webhook, { reason: 'KubernetesError' }],
    ['that would be altered when it is written', { secrets: [written()], ...webhook }, { reason: 'KubernetesError' }],
    ['that a quota forbids', quota, { code: 403 }],
    ['of a namespace that is being deleted', { secrets: [written('cred', held)], ...terminating }, { code: 403 }],
  ])('%s is in the way', async (_, circumstances, expected) => {
    const { delivery, to } = await delivering(circumstances);
    await expect(delivery.prepare(to(), spec)).rejects.toMatchObject(expected);
  });
});

describe('a token', () => {
  test.each<[string, number, Circumstances]>([
    ['where there is no Secret', 1, {}],
    ['where the cache has yet to hear that its Secret was deleted', 2, { cached: [written()] }],
    ['where the cache has yet to hear of its Secret', 3, { secrets: [written('cred', { data: {} })], cached: [] }],
    ['in the place of another', 2, { secrets: [written('cred', { data: { token: encode('old') } })] }],
  ])('that was just issued is stored %s, with calls: %i', async (_, calls, circumstances) => {
    const { deliver, tokenIn, find, cluster } = await delivering(circumstances);
    expect(await deliver(fresh)).toBe('held');
    expect(cluster.asked()).toHaveLength(calls);
    expect(await tokenIn('cred')).toBe('t0ken');
    expect((await find('cred'))?.type).toBe(SECRET_TYPE.authtoken);
  });

  test.each([
    ['that no answer shows', oneTime, remote],
    ['that every answer shows', everyTime, fresh],
  ])('%s and that is stored costs no call', async (_, of, shown) => {
    const { deliver, cluster } = await delivering({ secrets: [], cached: [written()], of });
    expect(await deliver(shown)).toBe('held');
    expect(cluster.asked()).toEqual([]);
  });

  test('that every answer shows is written when it has changed', async () => {
    const { deliver, tokenIn } = await delivering({ secrets: [written()], of: everyTime });
    expect(await deliver({ token: 'other' })).toBe('held');
    expect(await tokenIn('cred')).toBe('other');
  });

  test.each<[string, Circumstances]>([
    ['with its Secret', { cached: [] }],
    ['when its Secret has another one', { secrets: [written('cred', { data: { token: encode('old') } })] }],
  ])('that no answer shows is lost %s', async (_, circumstances) => {
    const { deliver, cluster } = await delivering(circumstances);
    expect(await deliver(remote)).toBe('lost');
    expect(cluster.writes()).toEqual([]);
  });

  const edited = written('cred', { metadata: { labels: {} } });
  test.each([
    ['that the cache has', [edited]],
    ['of which it has yet to hear', []],
  ])('that no answer shows stays when the rest of its Secret was edited, %s', async (_, cached) => {
    const { deliver, find } = await delivering({ secrets: [edited], cached });
    expect(await deliver(remote)).toBe('held');
    const found = await find('cred');
    expect(found?.metadata.labels).toEqual(written().metadata.labels);
    expect(found?.data).toEqual(written().data);
  });

  test.each([
    ['that no answer shows', oneTime, remote],
    ['that was just issued', oneTime, fresh],
    ['that every answer shows', everyTime, fresh],
  ])('%s moves along when its Secret is to have another name', async (_, of, shown) => {
    const { deliver, tokenIn, find } = await delivering({ secrets: [written(), written('old')], of });
    expect(await deliver(shown)).toBe('held');
    expect([await tokenIn('cred'), await find('old')]).toEqual(['t0ken', undefined]);
  });

  test.each([
    ['has the id', written('old', { type: 'Opaque' }), undefined],
    ['has the type', written('old', { data: {} }), undefined],
    ['has nothing of it', written('old', { type: 'Opaque', data: {} }), 'old'],
    ['is not the object’s any more', written('old', released), 'old'],
  ])('leaves behind no Secret that is the object’s and %s', async (_, former, expected) => {
    const { deliver, find } = await delivering({ secrets: [former], cached: [written('old')] });
    await deliver(fresh);
    expect((await find('old'))?.metadata.name).toBe(expected);
  });

  test('is stored for nobody who has changed meanwhile', async () => {
    const { delivery, cluster, to } = await delivering();
    const stale = { object: to(), mustBeNewest: () => Promise.reject(new Error('stale')) };
    await expect(delivery.deliver(stale, spec, fresh)).rejects.toThrow('stale');
    expect(cluster.writes()).toEqual([]);
  });

  const other = written('cred', { ...released, data: { 'credential-id': encode('cr_9') } });
  test.each<[string, Circumstances, object]>([
    [
      'a stranger has',
      { secrets: [written('cred', strangers)] },
      { message: expect.stringContaining('belongs to Other') },
    ],
    ['a stranger has made since', { secrets: [written('cred', strangers)], cached: [] }, { reason: 'SecretConflict' }],
    [
      'holds the token of another',
      { secrets: [other] },
      { message: expect.stringContaining('holds the token of cr_9: ') },
    ],
    [
      'holds the token of one that is gone',
      { secrets: [other], exists: false },
      { message: expect.stringContaining('cr_9, which no longer exists') },
    ],
    [
      'holds the token of another, which may not be adopted',
      { secrets: [other], mayAdopt: false },
      { message: expect.stringContaining('cr_9, which may not be adopted') },
    ],
    ['has another type', { secrets: [written('cred', { type: 'Opaque' })] }, { reason: 'SecretConflict' }],
    [
      'is immutable and has another token',
      { secrets: [written('cred', { immutable: true, data: { token: encode('old') } })] },
      { reason: 'SecretConflict' },
    ],
    ['is altered when it is made', webhook, { reason: 'KubernetesError' }],
    ['is altered when it is written', { secrets: [written()], ...webhook }, { reason: 'KubernetesError' }],
    ['cannot be made', quota, { code: 403 }],
  ])('is not stored in a Secret that %s', async (_, circumstances, expected) => {
    const { deliver } = await delivering(circumstances);
    await expect(deliver(fresh)).rejects.toMatchObject(expected);
  });
});

test.each<[string, boolean, Circumstances, SecretSpec?, KubeObject?]>([
  ['in its Secret', true, { cached: [written()] }],
  ['nowhere without one', false, {}],
  ['nowhere when it was edited', false, { cached: [written('cred', { data: { token: encode('x') } })] }],
  ['of nothing before there is a resource', false, { cached: [written()] }, spec, object({ name: 'cred', uid: 'u1' })],
  ['in too many', false, { cached: [written(), written('old')] }],
  ['where it is not wanted any more', false, { cached: [written()] }, { secret: { key: 'token', name: 'new' } }],
])(
  'according to the cache alone, the token is held %s',
  async (_, expected, circumstances, by = spec, of = credential()) => {
    const { delivery, cluster } = await delivering({ secrets: [], ...circumstances });
    const { namespace } = cluster;
    expect(delivery.looksHeld({ ...of, metadata: { ...of.metadata, namespace } }, by)).toBe(expected);
    expect(cluster.asked()).toEqual([]);
  },
);

test('the resources whose tokens are stored are known by the Secrets of the object, whatever its spec says', async () => {
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

describe('when its object goes and the resource stays, a Secret', () => {
  const owners = (found: KubeObject | undefined) => [found?.metadata.name, found?.metadata.ownerReferences ?? []];

  test('of the object stays without it, though with its other owners', async () => {
    const [own] = written().metadata.ownerReferences ?? [];
    const [other] = strangers.metadata.ownerReferences;
    const shared = { metadata: { ownerReferences: [own, other].filter((owner) => owner !== undefined) } };
    const { delivery, find, to } = await delivering({ secrets: [written(), written('shared', shared)] });
    expect(await delivery.release(to(), ['cr_1'])).toEqual(['cr_1', 'cr_1']);
    expect(owners(await find('cred'))).toEqual(['cred', []]);
    expect(owners(await find('shared'))).toEqual(['shared', [other]]);
  });

  test.each<[string, string[], KubeObject, Parameters<typeof object>[0], string[]]>([
    ['of a stranger stays as it is', [], written('cred', strangers), {}, ['cr_1']],
    [
      'that was released already counts, where it holds the token of its resource',
      ['cr_1'],
      written('cred', released),
      {},
      ['cr_1'],
    ],
    ['that was released already does not count, where it holds another', [], written('cred', released), {}, ['cr_9']],
    [
      'is found by the name that the spec sets',
      ['cr_1'],
      written('set', released),
      { spec: { secret: { name: 'set' } } },
      ['cr_1'],
    ],
    ['is found by a short name, too', ['cr_1'], written('s', released), { spec: { secret: { name: 's' } } }, ['cr_1']],
    [
      'is found by the name of the object where the spec makes no sense',
      ['cr_1'],
      written('cred', released),
      { spec: { secret: { name: '' } } },
      ['cr_1'],
    ],
  ])('%s', async (_, expected, secret, fields, ids) => {
    const { delivery, cluster, to } = await delivering({ secrets: [secret] });
    expect(await delivery.release(to(fields), ids)).toEqual(expected);
    expect(cluster.writes()).toEqual([]);
  });

  test('that has lost the id counts as one that holds nothing', async () => {
    const { delivery, find, to } = await delivering({ secrets: [written('cred', { data: {} })] });
    expect(await delivery.release(to(), ['cr_1'])).toEqual(['']);
    expect(owners(await find('cred'))).toEqual(['cred', []]);
  });

  test('that is not there does not count', async () => {
    const { delivery, to } = await delivering({ secrets: [] });
    expect(await delivery.release(to(), ['cr_1'])).toEqual([]);
  });
});
