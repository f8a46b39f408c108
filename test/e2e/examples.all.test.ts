/** What people do first: apply the examples, look at them, change them, delete them. */
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { randomFrom } from '../../dev/fixtures/random.ts';
import { API_VERSION } from '../../src/operator/contract/names.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { cluster } from '../harness.ts';
import { lacksControllerManager, skipFor } from '../skip.ts';
import { expectTied } from './everything.ts';
import {
  CREDENTIALS,
  eventually,
  ours as kindOf,
  type Manifest,
  manifest,
  POLICIES,
  ROOT,
  startStack,
} from './stack.ts';

const needsControllerManager = skipFor(lacksControllerManager(await cluster()));
const stack = await startStack({ prefix: 'examples' });
const [EDGES, ROUTES] = [kindOf('httpsedges'), kindOf('httpsedgeroutes')];
const files = (await readdir(`${ROOT}examples`)).filter((name) => name.endsWith('.yaml'));

/** The documents of an example, as plain data. */
async function example(file: string): Promise<Manifest[]> {
  const text = await readFile(`${ROOT}examples/${file}`, 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** Those of our own kinds. */
const ours = async (file: string) => (await example(file)).filter(({ apiVersion }) => apiVersion === API_VERSION);

/** Columns of what no example uses. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  apikeys: ['EXPIRESAT'],
  eventdestinations: ['ROTATES'],
  reserveddomains: ['ACME CNAME'],
};

/** Masks ids, ages and numbers, which are not part of the promise. */
function masked(output: string): string {
  return output
    .replaceAll(/\b([a-z]+)_[0-9a-z]{26}\b/g, '$1_…')
    .replaceAll(/\d{4}-\d\d-\d\dT[0-9:.]+Z/g, '<time>')
    .replaceAll(/ +\d+(s|m|h)\b/g, ' <age>')
    .replaceAll(/ {2,}/g, '  ')
    .replaceAll(/ +$/gm, '');
}

describe('the examples', () => {
  test.each(files)('%s is applied and becomes ready', async (file) => {
    const applied = await stack.run('apply', '-f', `${ROOT}examples/${file}`);
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    for (const { kind, metadata } of await ours(file)) {
      const waited = await stack.run('wait', '--for=condition=Ready', '--timeout=30s', kind, metadata.name);
      expect(waited).toMatchObject({ code: 0 });
    }
  });

  test('kubectl get tunnels shows the example of every kind, whether it is ready and why', async () => {
    const shown = masked((await stack.run('get', 'tunnels')).stdout);
    const missing = allKinds.filter(({ singular }) => {
      return !new RegExp(`^${singular}\\.tunnel-operator\\.dev/\\S+ {2}True {2}.* Available <age>$`, 'm').test(shown);
    });
    expect(missing.map(({ kind }) => kind)).toEqual([]);
  });

  test.each(allKinds)('kubectl get -o wide shows $kind in every column', async ({ plural }) => {
    const { stdout } = await stack.run('get', plural, '-o', 'wide');
    const [header = '', ...rows] = stdout.trimEnd().split('\n');
    // The cells begin below the first letters of the names of their columns.
    const names = [...header.matchAll(/\S+(?: \S+)*/g)];
    const isEmpty = (at: number) =>
      rows.every((row) => row.slice(at, names.find(({ index }) => index > at)?.index).trim() === '');
    expect(names.filter(({ index }) => isEmpty(index)).map(([name]) => name)).toEqual(UNUSED[plural] ?? []);
  });

  test('kubectl get shows the id in place of a name where something is referred to by that', async () => {
    const [www, route] = [(await stack.see(EDGES, 'www')).status.id, { match: '/', matchType: 'exact_path' }];
    await stack.apply(manifest({ name: 'HTTPSEdgeRoute' }, 'by-id', { ...route, edgeRef: { id: www } }));
    const { stdout } = await stack.run('get', ROUTES.plural, 'by-id', 'store-robots');
    expect(stdout).toMatch(new RegExp(`^by-id .* ${www} +/ `, 'm'));
    expect(stdout).toMatch(/^store-robots .* store +\/robots.txt +store-robots +Available/m);
    await stack.remove(ROUTES, 'by-id');
  });

  test('kubectl get with the short names and -o wide shows the details', async () => {
    expect(masked((await stack.run('get', 'ipp', 'office', '-o', 'wide')).stdout)).toMatchInlineSnapshot(`
      "NAME  READY  RULES  ID  REASON  MESSAGE  AGE
      office  True  3  ipp_…  Available  ipp_… matches the spec <age>
      "
    `);
    expect(
      masked((await stack.run('get', 'tcred', 'build-agent', 'shop-agent', '-o', 'wide')).stdout),
    ).toMatchInlineSnapshot(`
      "NAME  READY  SECRET  ID  ROTATES  OWNER  REASON  MESSAGE  AGE
      build-agent  True  build-agent-token  cr_…  <time>  usr_…  Available  cr_… matches the spec <age>
      shop-agent  True  shop-agent  cr_…  usr_…  Available  cr_… matches the spec <age>
      "
    `);
  });

  test('kubectl describe shows the conditions and what happened', async () => {
    for (const [kind, name, prefix] of [
      ['ipp', 'office', 'ipp'],
      ['tcred', 'shop-agent', 'cr'],
    ] as const) {
      const described = await eventually(async () => {
        const { stdout } = await stack.run('describe', kind, name);
        expect(stdout).toMatch(/Normal +Created/);
        return masked(stdout);
      });
      expect(described).toContain(conditionsOf(prefix));
      expect(described).toContain(`Normal  Created <age>  tunnel-operator  Created ${prefix}_…`);
      expect(described).not.toContain('Warning');
    }
  });

  test('exist in the API as declared', async () => {
    const { status } = await stack.see(POLICIES, 'office');
    const id = String(status.id);
    expect(await stack.client.ipPolicies.get(id)).toMatchObject({
      description: 'Office networks',
      metadata: '{"team":"network"}',
    });
    expect((await stack.client.rulesOf(id)).map(({ cidr, action }) => [cidr, action]).sort()).toEqual([
      ['2001:db8:10::/48', 'allow'],
      ['203.0.113.0/24', 'allow'],
      ['203.0.113.128/25', 'deny'],
    ]);
  });

  test('the token in the Secret may bind what the ACL says, and nothing else', async () => {
    const token = (await stack.secret('build-agent-token'))?.AUTHTOKEN ?? '';
    const may = async (bind: string) => (await stack.client.authenticate({ token, bind })).allowed;
    expect(await may('node-1.build.example.com')).toBe(true);
    expect(await may('shop.example.com')).toBe(false);
  });

  test('edited and applied again, an IP policy changes in the API', async () => {
    const [office] = await example('ip-policy.yaml');
    const spec = { description: 'Head office', rules: [{ cidr: '198.51.100.0/24', action: 'allow' }] };
    expect(await stack.tryApply({ ...office, spec })).toMatchObject({ code: 0, stderr: '' });
    const { status } = await stack.ready(POLICIES, 'office');
    const id = String(status.id);
    expect(status).toMatchObject({ observedGeneration: 2, rules: 1 });
    expect(await stack.client.ipPolicies.get(id)).toMatchObject({ description: 'Head office', metadata: null });
    expect(await stack.client.rulesOf(id)).toMatchObject([{ cidr: '198.51.100.0/24', action: 'allow' }]);
    await eventually(async () => {
      const message = `Updated spec.description, spec.metadata, spec.rules of ${id}`;
      expect(await stack.events('office')).toContainEqual({ type: 'Normal', reason: 'Updated', message });
    });
  });

  test('edited and applied again, a credential changes in the API and keeps its token', async () => {
    const before = await stack.secret('shop-agent');
    const { status: was } = await stack.see(CREDENTIALS, 'shop-agent');
    const [shop] = await example('tunnel-credential.yaml');
    const spec = { description: 'Agents', acl: ['bind:shop.example.org'] };
    expect(await stack.tryApply({ ...shop, spec })).toMatchObject({ code: 0, stderr: '' });
    const { status } = await stack.ready(CREDENTIALS, 'shop-agent');
    expect(status.id).toBe(was.id);
    expect(await stack.client.credentials.get(String(status.id))).toMatchObject(spec);
    expect(await stack.secret('shop-agent')).toEqual(before);
  });

  test('deleted by file, they leave nothing behind', async () => {
    const token = (await stack.secret('shop-agent'))?.token;
    expect(await stack.accepts(token)).toBe(true);
    const paths = files.flatMap((file) => ['-f', `${ROOT}examples/${file}`]);
    expect(await stack.run('delete', '--timeout=30s', ...paths)).toMatchObject({ code: 0 });
    expect(await stack.remoteIds()).toEqual([]);
    expect(await stack.accepts(token)).toBe(false);
  });

  test('deleted by file, their Secrets are collected as garbage', needsControllerManager, async () => {
    // The garbage collector looks for new kinds every 30 s, and these may be new to it.
    await eventually(async () => {
      expect(await stack.secret('shop-agent')).toBeUndefined();
      expect(await stack.secret('build-agent-token')).toBeUndefined();
    }, 55_000);
  });
});

/** As `masked` leaves them. */
function conditionsOf(prefix: string): string {
  return `  Conditions:
  Last Transition Time:  <time>
  Message:  ${prefix}_… matches the spec
  Observed Generation:  1
  Reason:  Available
  Status:  True
  Type:  Ready
  Last Transition Time:  <time>
  Message:  The remote resource matches the spec
  Observed Generation:  1
  Reason:  UpToDate
  Status:  True
  Type:  Synced
`;
}

const SEED = Number(process.env.EXAMPLES_SEED ?? Math.floor(Math.random() * 2 ** 30));

describe('everything together', async () => {
  const place = await startStack({ prefix: 'everything' });
  const documents = await example('everything.yaml');

  async function becomesReadyAndGoes(): Promise<void> {
    const waited = await place.run('wait', 'tunnels', '--all', '--for=condition=Ready', '--timeout=60s');
    expect(waited).toMatchObject({ code: 0 });
    await expectTied(place);
    expect(await place.run('delete', 'tunnels', '--all', '--timeout=60s')).toMatchObject({ code: 0 });
    expect(await place.remoteIds()).toEqual([]);
  }

  test('becomes ready when it is applied at once, and leaves nothing behind when it is deleted', async () => {
    await place.apply(...documents);
    await becomesReadyAndGoes();
  });

  test(`becomes ready among all the examples, one after another in any order (seed ${SEED})`, {
    timeout: 180_000,
  }, async () => {
    const all = (await Promise.all(files.map(example))).flat();
    await place.apply(...randomFrom(SEED).shuffled(all));
    await becomesReadyAndGoes();
  });

  test('ties its objects to each other by name', () => {
    const declared = documents.filter(({ apiVersion }) => apiVersion === API_VERSION);
    expect(JSON.stringify(declared)).not.toMatch(/Refs?":\[?\{"id"/);
  });
});
