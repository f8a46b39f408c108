/** What the chart does about objects that the cluster has already. */
import { expect, test } from 'vitest';
import { DATABASE, named, render } from './helm.ts';
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
