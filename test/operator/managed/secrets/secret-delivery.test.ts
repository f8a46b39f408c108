/** Tokens on their way into Secrets; owned-secrets.test.ts has how those are named, found and released. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SECRET_TYPE } from '../../../../src/operator/contract/names.ts';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import { sha256Hex } from '../../../../src/resources/formats/sha256.ts';
import {
  type Circumstances,
  delivering,
  everyTime,
  fresh,
  oneTime,
  released,
  remote,
  spec,
  strangers,
  written,
} from './delivering.ts';

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
  const requestsToPrepare = async (isForGood = false) => {
    const before = cluster.asked().length;
    await delivery.prepare(to({ name: 'another' }), spec, isForGood);
    return cluster.asked().length - before;
  };
  expect([await requestsToPrepare(), await requestsToPrepare()]).toEqual([1, 0]);
  // What is issued cannot be taken back.
  expect(await requestsToPrepare(true)).toBe(1);
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
