/** What people do first: apply the examples, look at them, change them, delete them. */
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { randomFrom } from '../../dev/fixtures/random.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { partsOfId } from '../../src/operator/kinds/nested-calls.ts';
import { cluster } from '../harness.ts';
import { lacksControllerManager, skipFor } from '../skip.ts';
import { type Manifest, ours, POLICIES } from './manifest.ts';
import { eventually, ROOT, startStack } from './stack.ts';

const needsControllerManager = skipFor(lacksControllerManager(await cluster()));
const stack = await startStack({ prefix: 'examples' });
const files = (await readdir(`${ROOT}examples`)).filter((name) => name.endsWith('.yaml'));

/** The documents of an example, as plain data. */
async function example(file: string): Promise<Manifest[]> {
  const text = await readFile(`${ROOT}examples/${file}`, 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** Columns that are empty because no example uses the feature. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  apikeys: ['EXPIRES AT'],
  eventdestinations: ['LAST SUCCESS', 'FAILING SINCE', 'ROTATES'],
  reserveddomains: ['ACME CNAME'],
};

describe('the examples', () => {
  test('are applied without a warning and become ready', async () => {
    for (const file of files) {
      expect(await stack.run('apply', '-f', `${ROOT}examples/${file}`)).toMatchObject({ code: 0, stderr: '' });
    }
    const waited = await stack.run('wait', 'tunnels', '--all', '--for=condition=Ready', '--timeout=50s');
    expect(waited).toMatchObject({ code: 0 });
  });

  test('show in kubectl get tunnels for every kind, with their readiness and its reason', async () => {
    const { stdout } = await stack.run('get', 'tunnels');
    const missing = allKinds.filter(({ singular }) => {
      return !new RegExp(`^${singular}\\.tunnel-operator\\.dev/\\S+ +True .* Available +\\S+$`, 'm').test(stdout);
    });
    expect(missing.map(({ kind }) => kind)).toEqual([]);
  });

  test.each(allKinds)('fill every column of kubectl get -o wide for $kind', async ({ plural }) => {
    const { stdout } = await stack.run('get', plural, '-o', 'wide');
    const [header = '', ...rows] = stdout.trimEnd().split('\n');
    // Each cell begins below the first letter of its column's name.
    const names = [...header.matchAll(/\S+(?: \S+)*/g)];
    const isEmpty = (at: number) =>
      rows.every((row) => row.slice(at, names.find(({ index }) => index > at)?.index).trim() === '');
    expect(names.filter(({ index }) => isEmpty(index)).map(([name]) => name)).toEqual(UNUSED[plural] ?? []);
  });

  test('give an agent a token that may bind only what the ACL allows', async () => {
    const token = (await stack.secret('build-agent-token'))?.AUTHTOKEN ?? '';
    const may = async (bind: string) => (await stack.client.authenticate({ token, bind })).allowed;
    expect(await may('node-1.build.example.com')).toBe(true);
    expect(await may('shop.example.com')).toBe(false);
  });

  test('change an IP policy in the API when edited and applied again', async () => {
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

  test('leave nothing behind when deleted by file', async () => {
    const token = (await stack.secret('shop-agent'))?.token;
    expect(await stack.accepts(token)).toBe(true);
    const paths = files.flatMap((file) => ['-f', `${ROOT}examples/${file}`]);
    expect(await stack.run('delete', '--timeout=30s', ...paths)).toMatchObject({ code: 0 });
    expect(await stack.remoteIds()).toEqual([]);
    expect(await stack.accepts(token)).toBe(false);
  });

  test('have their Secrets garbage-collected when deleted by file', needsControllerManager, async () => {
    // The garbage collector looks for new kinds every 30 s, and may not know these yet.
    await eventually(async () => {
      expect(await stack.secret('shop-agent')).toBeUndefined();
      expect(await stack.secret('build-agent-token')).toBeUndefined();
    }, 55_000);
  });
});

const PLURALS = allKinds.map(({ plural }) => `${plural}.tunnel-operator.dev`).join(',');
const SEED = Number(process.env.EXAMPLES_SEED ?? Math.floor(Math.random() * 2 ** 30));

describe('everything together', async () => {
  const place = await startStack({ prefix: 'everything' });
  const empty = await startStack({ prefix: 'empty', operators: 0 });

  /** Expects the references between the manifests in the API. */
  async function expectTied(client: typeof place.client): Promise<void> {
    const idOf = async (plural: string, name: string) => String((await place.ready(ours(plural), name)).status.id);

    const certificate = { id: await idOf('tlscertificates', 'store') };
    expect(await client.reservedDomains.get(await idOf('reserveddomains', 'store'))).toMatchObject({ certificate });

    const { parent: edge, own: route } = partsOfId(await idOf('httpsedgeroutes', 'store-pages'));
    expect(edge).toBe(await idOf('httpsedges', 'store'));
    expect(await client.httpsEdgeRouteModules(edge, route).oidc.get()).toMatchObject({
      issuer: 'https://accounts.example.com',
      client_id: 'store',
      client_secret: 'replace-me',
    });

    const { ipRestriction, mutualTls, backend } = client.tlsEdgeModules(await idOf('tlsedges', 'store-tills'));
    expect((await ipRestriction.get()).ip_policies).toMatchObject([{ id: await idOf('ippolicies', 'store-networks') }]);
    expect((await mutualTls.get()).certificate_authorities).toMatchObject([
      { id: await idOf('certificateauthorities', 'store-tills') },
    ]);
    expect((await backend.get()).backend).toMatchObject({ id: await idOf('tunnelgroupbackends', 'store-tills') });
  }

  async function becomesReady(client = place.client): Promise<void> {
    const waited = await place.run('wait', 'tunnels', '--all', '--for=condition=Ready', '--timeout=60s');
    expect(waited).toMatchObject({ code: 0 });
    await expectTied(client);
  }

  test(`becomes ready with all the examples, applied one by one in random order (seed ${SEED})`, {
    timeout: 180_000,
  }, async () => {
    const all = (await Promise.all(files.map(example))).flat();
    await place.apply(...randomFrom(SEED).shuffled(all));
    await becomesReady();
    expect(await place.run('delete', 'tunnels', '--all', '--timeout=60s')).toMatchObject({ code: 0 });
    expect(await place.remoteIds()).toEqual([]);
  });

  // docs/operations.md promises this for an API that has lost all its data.
  test('is recreated in an empty API, with tokens that work there', { timeout: 180_000 }, async () => {
    const shownIds = () => place.run('get', PLURALS, '-o', 'jsonpath={.items[*].status.id}');
    await place.apply(...(await example('everything.yaml')));
    await becomesReady();
    const before = (await shownIds()).stdout.split(' ');

    const { id } = (await empty.client.whoami()).owner;
    await place.restart(undefined, { apiUrl: empty.api.url, acceptNewOwner: id });
    const after = await eventually(async () => {
      const found = (await shownIds()).stdout.split(' ');
      expect(found).toHaveLength(before.length);
      expect(found.filter((each) => before.includes(each))).toEqual([]);
      return found;
    }, 90_000);
    await becomesReady(empty.client);
    // Modules have the id of their edge or route.
    expect((await empty.remoteIds()).toSorted()).toEqual([...new Set(after)].toSorted());
    expect(await empty.accepts((await place.secret('store-agents'))?.token)).toBe(true);
  });
});
