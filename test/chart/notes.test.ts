/** The notes that Helm prints after an installation. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cluster } from '../harness.ts';
import { CHART, DATABASE, helm } from './helm.ts';

/** Helm 3 asks the cluster for its version even here. */
const { kubeconfigPath } = await cluster();
const dryRun = ['install', 'it', CHART, '--dry-run=client', '--kubeconfig', kubeconfigPath];

const notes = async (values: object) => (await helm(dryRun, { ...DATABASE, ...values })).stdout.split('\nNOTES:\n')[1];

test('the notes mention helm test only if there is a test', async () => {
  expect(await notes({})).toMatch(/helm test it .*--logs$/m);
  expect(await notes({ operator: { enabled: false } })).not.toContain('helm test');
});

const shard = { extraEnv: [{ name: 'SHARD_SELECTOR', value: 'shard=b' }] };

test.each<[string, object, string[]]>([
  ['all namespaces', {}, ['--all-namespaces']],
  ['some namespaces', { watchNamespaces: ['a', 'b'] }, ['--namespace a', '--namespace b']],
  ['a shard', { operator: shard }, []],
  ['a shard of some namespaces', { operator: shard, watchNamespaces: ['a'] }, []],
  ['no operator', { operator: { enabled: false } }, []],
  ['all namespaces, whose objects the uninstall deletes', { crds: { keep: false } }, []],
])('the notes tell how to delete the objects of this operator, and no others: %s', async (_, values, expected) => {
  const said = [...((await notes(values)) ?? '').matchAll(/kubectl delete tunnels --all (.*)/g)];
  expect(said.map(([, where]) => where)).toEqual(expected);
});

test.each<[string, object, string | undefined]>([
  ['in all namespaces', {}, 'default'],
  ['in one of those that are watched', { watchNamespaces: ['a', 'b'] }, 'a'],
  ['in a namespace with these labels', { watchNamespaceSelector: 'team=a' }, 'NAMESPACE'],
  ['not for a shard, whose labels it would need', { operator: shard }, undefined],
  ['not without an operator', { operator: { enabled: false } }, undefined],
])('the notes end with a first object: %s', async (_, values, expected) => {
  const [, first] = (await notes(values))?.split('\nYour first object') ?? [];
  const namespaces = new Set([...(first ?? '').matchAll(/--namespace (\S+)/g)].map(([, namespace]) => namespace));
  expect([...namespaces]).toEqual(expected === undefined ? [] : [expected]);
});

/** The cluster of the tests has no Prometheus operator. */
const alerts = { prometheusRule: { enabled: true }, monitoring: { renderMode: 'skipIfMissing' } };

test.each<[string, object, string[]]>([
  ['alerts', alerts, ['TunnelApiDown', 'TunnelOperatorWithoutLeader']],
  ['alerts of the API', { ...alerts, operator: { enabled: false } }, ['TunnelApiDown']],
  ['alerts, and a ServiceMonitor', { ...alerts, serviceMonitor: { enabled: true } }, []],
  ['alerts, and a PodMonitor', { ...alerts, podMonitor: { enabled: true } }, []],
  ['neither', {}, []],
])('the notes name the alerts that fire until the programs are scraped: with %s', async (_, values, expected) => {
  const said = [...((await notes(values)) ?? '').matchAll(/until then, (\w+) fires/g)];
  expect(said.map(([, alert]) => alert)).toEqual(expected);
  const rules = await readFile(join(CHART, 'files/alerts.yaml'), 'utf8');
  const absent = rules.split('- alert: ').filter((rule) => rule.includes('absent('));
  expect(absent.map((rule) => rule.split('\n')[0])).toEqual(expect.arrayContaining(expected));
});

test.each<[string, object, boolean]>([
  ['all namespaces', {}, true],
  ['several namespaces', { watchNamespaces: ['a', 'b'] }, true],
  ['one namespace', { watchNamespaces: ['a'] }, false],
  ['adoption allowed in some namespaces', { operator: { adoptNamespaces: ['a'] } }, false],
  ['adoption allowed in no namespace', { operator: { adoptNamespaces: ['-'] } }, false],
  ['no operator', { operator: { enabled: false } }, false],
])('the notes warn if namespaces may take over resources from each other: with %s', async (_, values, isSaid) => {
  expect((await notes(values))?.includes('set operator.adoptNamespaces')).toBe(isSaid);
});
