/** Wrong values are refused by name before anything is installed, wherever the chart takes values of their kind. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readValues, type Value } from '../../dev/chart/values.ts';
import { CHART, DATABASE, helm, render } from './helm.ts';

const leaves = (value: Value): readonly Value[] => value.children?.flatMap(leaves) ?? [value];
const all = readValues(await readFile(join(CHART, 'values.yaml'), 'utf8')).flatMap(leaves);

const isMap = ({ default: value }: Value) => typeof value === 'object' && JSON.stringify(value) === '{}';
const named = (pattern: RegExp) => (value: Value) => pattern.test(value.path.at(-1) ?? '');
/** Maps that are not of texts. */
const isOther = named(/affinity|Context|dnsConfig|spec/i);

/** Values that set each of these to the same. */
function setting(values: readonly Value[], to: unknown): object {
  const groups = Map.groupBy(values, ({ path: [first = ''] }) => first);
  return Object.fromEntries(
    [...groups].map(([name, within]) => {
      const below = within.map((value) => ({ ...value, path: value.path.slice(1) }));
      return [name, below.some(({ path }) => path.length === 0) ? to : setting(below, to)];
    }),
  );
}

/** What helm refuses, by the paths of the values: the reasons. */
async function refused(values: readonly Value[], wrong: unknown): Promise<Record<string, string>> {
  expect(values.length).toBeGreaterThan(1);
  const { code, stderr } = await helm(['template', 'it', CHART], setting(values, wrong));
  expect(code).not.toBe(0);
  return Object.fromEntries([...stderr.matchAll(/at '\/(.*?)': (.*)/g)].map(([, path, why]) => [path, why]));
}

const keyed = (values: readonly Value[], under: string, why: unknown) =>
  Object.fromEntries(values.map(({ path }) => [[...path, ...(under ? [under] : [])].join('/'), why]));

test('a name with nothing behind it stands for its default', async () => {
  const rendered = (more: object) =>
    render({ ...more, database: { existingSecret: 'd' }, secrets: { existingSecret: 's' } });
  const empty = all.filter(({ default: value }) => /^(\{\}|\[\])$/.test(JSON.stringify(value)));
  const nothing = setting(
    empty.filter(({ path }) => path[0] !== 'database'),
    null,
  );
  expect(await rendered(nothing)).toEqual(await rendered({}));
});

test.each([
  [true, 'got boolean, want string'],
  [20261126, 'got number, want string'],
])('a map of texts takes no %s without quotes', async (value, why) => {
  const maps = all.filter((each) => isMap(each) && !isOther(each));
  expect(await refused(maps, { key: value })).toMatchObject(keyed(maps, 'key', why));
});

test('numbers are not negative', async () => {
  const numbers = all.filter(({ default: value }) => typeof value === 'number');
  expect(await refused(numbers, -1)).toMatchObject(keyed(numbers, '', expect.stringMatching(/^minimum: got -1/)));
});

test('names are names in Kubernetes', async () => {
  const names = all.filter(named(/Override$|^(name|namespace|existingSecret|storageClass|schedulerName)$|className$/i));
  const why = expect.stringMatching(/^'My_Name' does not match pattern/);
  expect(await refused(names, 'My_Name')).toMatchObject(keyed(names, '', why));
});

test.each<[string, object, string]>([
  ['a variable', { api: { extraEnv: [{ name: 'RATE_LIMIT', value: 1000 }] } }, "'/api/extraEnv/0/value': got number"],
  ['a toleration', { operator: { tolerations: [{ value: true }] } }, "'/operator/tolerations/0/value': got boolean"],
  ['a DNS option', { api: { dnsConfig: { options: [{ name: 'ndots', value: 2 }] } } }, "options/0/value': got number"],
  ['a host', { api: { ingress: { hosts: ['my_host'] } } }, "'/api/ingress/hosts/0': 'my_host' does not match"],
  [
    'a peer',
    { networkPolicy: { apiFrom: [{ podSelector: { matchLabels: { trusted: true } } }] } },
    "'/networkPolicy/apiFrom/0/podSelector/matchLabels/trusted': got boolean",
  ],
  [
    'a parameter of PostgreSQL',
    { database: { cloudNativePG: { spec: { postgresql: { parameters: { work_mem: 65536 } } } } } },
    "'/database/cloudNativePG/spec/postgresql/parameters/work_mem': got number",
  ],
  ['a label', { commonLabels: { team: 'a b' } }, "'/commonLabels/team': 'a b' does not match"],
  ['a namespace', { watchNamespaces: ['A_B'] }, "'/watchNamespaces/0': 'A_B' does not match"],
  ['a share', { api: { podDisruptionBudget: { maxUnavailable: 'one' } } }, "maxUnavailable': 'one' does not match"],
])('%s that Kubernetes would refuse', async (_, values, why) => {
  const { code, stderr } = await helm(['template', 'it', CHART], { ...DATABASE, ...values });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(why) });
});

test.each(['1st', 'a.b'])('the release %s would need Services of names that Kubernetes refuses', async (name) => {
  const template = (...more: string[]) => helm(['template', name, CHART, ...more], DATABASE);
  expect(await template()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${name}-tunnel-operator cannot be the name of a Service`),
  });
  expect(await template('--set', 'fullnameOverride=tunnels')).toMatchObject({ code: 0, stderr: '' });
});

test.each<[string, string[], number]>([
  ['alwaysRender', [], 2],
  ['skipIfMissing', [], 0],
  ['skipIfMissing', ['--api-versions', 'monitoring.coreos.com/v1/PodMonitor'], 2],
])('with %s, monitoring is rendered where it is known: %j', async (renderMode, versions, count) => {
  const values = { ...DATABASE, monitoring: { renderMode }, podMonitor: { enabled: true } };
  const { stdout } = await helm(['template', 'it', CHART, ...versions], values);
  expect(stdout.match(/^kind: PodMonitor$/gm) ?? []).toHaveLength(count);
  const strict = { ...values, monitoring: { renderMode: 'failIfMissing' } };
  expect(await helm(['template', 'it', CHART, ...versions], strict)).toMatchObject(
    versions.length > 0
      ? { code: 0 }
      : { code: 1, stderr: expect.stringContaining('does not know monitoring.coreos.com/v1/PodMonitor') },
  );
});
