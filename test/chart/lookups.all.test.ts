/** What the chart does about objects that the cluster has already. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { DATABASE, named, type Rendered, render } from './helm.ts';
import { installed, renderIn } from './lookups.ts';

const crds = { enabled: false };

test.each<[string, object]>([
  ['in all namespaces', {}],
  ['in some namespaces', { watchNamespaces: ['a'] }],
  ['with Roles of somebody else', { rbac: { create: false } }],
])('definitions that would go with all their objects cannot be switched off: an operator %s', async (_, where) => {
  const upgraded = async (keep: boolean) => {
    const objects = await installed({ ...DATABASE, ...where, crds: { keep } });
    return renderIn({ objects }, { ...DATABASE, ...where, crds }, { isUpgrade: true });
  };
  expect(await upgraded(false)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /crds\.enabled=false would delete \w+\.tunnel-operator\.dev, .*crds\.keep=true first/,
    ),
  });
  expect(await upgraded(true)).toMatchObject({ code: 0, stderr: '' });
});

test('a release in some namespaces asks for nothing of the whole cluster', async () => {
  const values = { ...DATABASE, crds, watchNamespaces: ['a'], rbac: { aggregateClusterRoles: false } };
  const cluster = { objects: await installed(values), mayReadAll: false };
  expect(await renderIn(cluster, values, { isUpgrade: true })).toMatchObject({ code: 0, stderr: '' });
});

test('a Secret with keys is not deleted, however late it appears', async () => {
  const objects = await render({ database: { bundled: { enabled: true } } });
  const policies = named(objects, 'Secret').map(({ metadata }) => metadata.annotations['helm.sh/hook-delete-policy']);
  // Without a policy, Helm deletes what there is before it makes a hook.
  expect(policies).toEqual(['hook-failed', 'hook-failed']);
});

describe('a second operator', () => {
  const some = (...watchNamespaces: string[]) => ({ ...DATABASE, crds, watchNamespaces });
  const all = some();
  const shard = { operator: { extraEnv: [{ name: 'SHARD_SELECTOR', value: 'shard=b' }] } };
  const other = 'the release other in the namespace elsewhere has an operator of';

  test.each<[string, object, object, string]>([
    ['of all namespaces beside one of all', all, all, `${other} all namespaces already`],
    ['of all namespaces beside one of some', some('a'), all, `${other} the namespace a already`],
    ['of some namespaces beside one of all', all, some('a'), `${other} all namespaces already`],
    ['of a namespace that another has', some('a', 'b'), some('b', 'c'), `${other} the namespace b already`],
  ])('%s is refused', async (_, first, second, reason) => {
    const objects = await installed(first, { name: 'other', namespace: 'elsewhere' });
    const refused = { code: 1, stderr: expect.stringContaining(reason) };
    expect(await renderIn({ objects }, second)).toMatchObject(refused);
    expect(await renderIn({ objects }, { ...second, ...shard })).toMatchObject({ code: 0 });
    expect(await renderIn({ objects }, { ...second, operator: { enabled: false } })).toMatchObject({ code: 0 });
  });

  test('in the namespace of the first is refused, unless they are shards: they have the same Lease', async () => {
    const objects = await installed(some('a'), { name: 'other' });
    const stderr = expect.stringContaining('the release other in the namespace tunnels has an operator already');
    expect(await renderIn({ objects }, some('b'))).toMatchObject({ code: 1, stderr });
    expect(await renderIn({ objects }, { ...some('b'), ...shard })).toMatchObject({ code: 0 });
  });

  test('of other namespaces is not, even of that in which the first is', async () => {
    const objects = await installed(some('a'), { name: 'other', namespace: 'elsewhere' });
    expect(await renderIn({ objects }, some('elsewhere'))).toMatchObject({ code: 0, stderr: '' });
  });

  test('is not refused where the first watches the namespace of its release, and it another', async () => {
    const objects = await installed(some('tunnels', 'a'), { name: 'other', namespace: 'elsewhere' });
    expect(await renderIn({ objects }, some('b'))).toMatchObject({ code: 0, stderr: '' });
    expect(await renderIn({ objects }, some('tunnels', 'b'))).toMatchObject({ code: 1 });
  });

  test.each([
    ['all namespaces', all],
    ['some', some('a')],
  ])('of %s is none, if the same chart was applied without helm under the same names', async (_, values) => {
    const objects = await render(values, { name: 'it', namespace: 'tunnels' });
    const taken = (release: object) => renderIn({ objects }, values, { takesOwnership: true, ...release });
    expect(await taken({})).toMatchObject({ code: 0, stderr: '' });
    const stderr = expect.stringContaining('has an operator');
    for (const release of [{ name: 'another' }, { namespace: 'elsewhere' }])
      expect(await taken(release)).toMatchObject({ code: 1, stderr });
  });

  test('of the same release is an upgrade', async () => {
    for (const values of [all, some('a')])
      expect(await renderIn({ objects: await installed(values) }, values, { isUpgrade: true })).toMatchObject({
        code: 0,
      });
  });
});

describe('the API is restarted with another URL of the database, and the annotation that does it', () => {
  const checksum = async (url: string, objects: readonly Rendered[] = []) => {
    const { stdout } = await renderIn({ objects }, { database: { url } }, { isUpgrade: true });
    return /checksum\/database: (\w{64})$/m.exec(stdout)?.[1];
  };
  const url = 'postgres://user:guessed@database.example.com/tunnels';
  const others = ['postgres://user:other@database.example.com/tunnels', `${url}?password=other`];
  const elsewhere = url.replace('database.', 'another.');

  test('has the encryption key in it', async () => {
    const [keys, otherKeys] = [await installed({ database: { url } }), await installed({ database: { url } })];
    const mine = await checksum(url, keys);
    expect(await checksum(url, keys)).toBe(mine);
    const hashes = [mine, await checksum(url, otherKeys)];
    for (const other of [...others, elsewhere]) hashes.push(await checksum(other, keys));
    expect(new Set(hashes).size).toBe(5);
    expect(hashes).not.toContain(createHash('sha256').update(url).digest('hex'));
  });

  test('has nothing secret in it without a key', async () => {
    const mine = await checksum(url);
    for (const other of others) expect(await checksum(other)).toBe(mine);
    expect(mine).not.toBe(await checksum(elsewhere));
  });
});
