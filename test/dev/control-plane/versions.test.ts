import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ETCD_VERSION, KSTATUS_VERSION, LUA_VERSION, PINNED_KUBERNETES } from '../../../dev/control-plane/versions.ts';

const goMod = (module: string) =>
  readFile(join(import.meta.dirname, '../../../dev/control-plane', module, 'go.mod'), 'utf8');

it('the Go modules require the versions in versions.ts', async () => {
  expect(await goMod('kubernetes')).toContain(`\tk8s.io/kubernetes v${PINNED_KUBERNETES} `);
  expect(await goMod('etcd')).toContain(`\tgo.etcd.io/etcd/server/v3 v${ETCD_VERSION} `);
  expect(await goMod('kstatus')).toContain(`\tsigs.k8s.io/cli-utils v${KSTATUS_VERSION}\n`);
  expect(await goMod('lua')).toContain(`\tgithub.com/yuin/gopher-lua v${LUA_VERSION}\n`);
});

it('every staging module of Kubernetes is replaced by the matching release', async () => {
  const staging = [...(await goMod('kubernetes')).matchAll(/^\tk8s\.io\/\S+ => k8s\.io\/\S+ (\S+)$/gm)];
  expect(staging.length).toBeGreaterThan(25);
  const expected = `v0.${PINNED_KUBERNETES.split('.').slice(1).join('.')}`;
  expect(new Set(staging.map(([, version]) => version))).toEqual(new Set([expected]));
});
