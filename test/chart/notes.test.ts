/** What is said after an installation. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHART, DATABASE, helm } from './helm.ts';

const notes = async (values: object) =>
  (await helm(['install', 'it', CHART, '--dry-run=client'], { ...DATABASE, ...values })).stdout.split('\nNOTES:\n')[1];

test('names no test where there is none', async () => {
  expect(await notes({})).toContain('helm test it');
  expect(await notes({ operator: { enabled: false } })).not.toContain('helm test');
});

const shard = { extraEnv: [{ name: 'SHARD_SELECTOR', value: 'shard=b' }] };

test.each<[string, object, string[]]>([
  ['all namespaces', {}, ['--all-namespaces']],
  ['some namespaces', { watchNamespaces: ['a', 'b'] }, ['--namespace a', '--namespace b']],
  ['a shard', { operator: shard }, []],
  ['a shard of some namespaces', { operator: shard, watchNamespaces: ['a'] }, []],
  ['nothing', { operator: { enabled: false } }, []],
  ['all namespaces, whose objects the uninstall deletes', { crds: { keep: false } }, []],
])('tells how to delete the objects of this operator, and no others: of %s', async (_, values, expected) => {
  const said = [...((await notes(values)) ?? '').matchAll(/kubectl delete tunnels --all (.*)/g)];
  expect(said.map(([, where]) => where)).toEqual(expected);
});

const alerts = { prometheusRule: { enabled: true } };

test.each<[string, object, string[]]>([
  ['alerts', alerts, ['TunnelApiDown', 'TunnelOperatorWithoutLeader']],
  ['alerts of the API', { ...alerts, operator: { enabled: false } }, ['TunnelApiDown']],
  ['alerts, and a ServiceMonitor', { ...alerts, serviceMonitor: { enabled: true } }, []],
  ['neither', {}, []],
])('tells which alerts fire until somebody scrapes the programs: with %s', async (_, values, expected) => {
  const said = [...((await notes(values)) ?? '').matchAll(/until then, (\w+) fires/g)];
  expect(said.map(([, alert]) => alert)).toEqual(expected);
  const rules = await readFile(join(CHART, 'files/alerts.yaml'), 'utf8');
  const absent = rules.split('- alert: ').filter((rule) => rule.includes('absent('));
  expect(absent.map((rule) => rule.split('\n')[0])).toEqual(expect.arrayContaining(expected));
});

test.each<[string, object, boolean]>([
  ['all namespaces', {}, true],
  ['several', { watchNamespaces: ['a', 'b'] }, true],
  ['one', { watchNamespaces: ['a'] }, false],
  ['all, of which some are named', { operator: { adoptNamespaces: ['a'] } }, false],
  ['all, of which none is named', { operator: { adoptNamespaces: ['-'] } }, false],
  ['nothing', { operator: { enabled: false } }, false],
])('warns where namespaces may take over resources from each other: with %s', async (_, values, isSaid) => {
  expect((await notes(values))?.includes('set operator.adoptNamespaces')).toBe(isSaid);
});
