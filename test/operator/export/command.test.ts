/** The export of an API that runs in this process; test/e2e/export.all.test.ts applies one. */
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { hostKeyLine } from '../../../dev/fixtures/ssh-keys.ts';
import { keyring } from '../../../src/api/secrets/keyring.ts';
import { startApi } from '../../../src/api/server.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { createClient } from '../../../src/client/client.ts';
import { exportYaml } from '../../../src/operator/export/command.ts';
import { CannotStart } from '../../../src/settings/cannot-start.ts';
import { BadSettings } from '../../../src/settings/settings.ts';
import { atEnd } from '../../end-of-file.ts';
import { createTestDatabase } from '../../harness.ts';

const API_KEY = 'tnl_ak_exported_api_of_the_tests_0123456789ab';
const prepare = async (url: string) => void (await migrate(url));
const databaseUrl = await createTestDatabase({ name: 'template_api', prepare });
const encryptionKey = keyring.parse(`tests:${Buffer.alloc(32, 1).toString('base64')}`);
const api = await startApi({ databaseUrl, port: 0, bootstrapApiKey: API_KEY, encryptionKey });
const client = createClient({ baseUrl: api.url, apiKey: API_KEY });
atEnd(async () => {
  await client.close();
  await api.stop();
});

const documents = z.array(
  z.object({
    kind: z.string(),
    metadata: z.object({
      name: z.string(),
      namespace: z.string().optional(),
      annotations: z.record(z.string(), z.string()).optional(),
    }),
    spec: z.looseObject({}),
  }),
);

async function exported(
  kinds: readonly string[] = [],
  given: { namespace?: string; apiKey?: string; apiUrl?: string; account?: string } = {},
) {
  const timeouts = { apiTimeoutMs: 10_000, kubeTimeoutMs: 10_000 };
  const defaults = { apiUrl: api.url, apiKey: API_KEY, ...timeouts, namespace: undefined, kubeconfig: undefined };
  const { yaml, refused } = await exportYaml({ ...defaults, kinds, ...given });
  const objects = documents.parse(parseAllDocuments(yaml).map((each) => each.toJS()));
  const comments = yaml.match(/^# .*(?:\n# .*)*/gm) ?? [];
  return { objects, refused, remarks: comments.map((each) => each.replaceAll(/\n?# /g, ' ').trim()) };
}

const named = ({ objects }: Awaited<ReturnType<typeof exported>>) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

const policies = [
  await client.ipPolicies.create({ description: 'Office' }),
  await client.ipPolicies.create({ description: 'Office' }),
];
const bot = await client.botUsers.create({ name: 'ci' });
const credential = await client.credentials.create({ description: 'ci', owner_id: bot.id });
const key = await client.apiKeys.create({ description: 'ci', owner_id: bot.id });
const own = await client.apiKeys.create({ description: 'own' });
const authority = await client.sshCertificateAuthorities.create({ description: 'hosts' });
await client.sshHostCertificates.create({
  ssh_certificate_authority_id: authority.id,
  public_key: hostKeyLine(),
  description: 'web',
});
const edge = await client.httpsEdges.create({ description: 'Portal' });
const routeAt = (match: string) =>
  client.httpsEdgeRoutes(edge.id).create({ match, match_type: 'path_prefix', description: `at ${match}` });
const [withOidc, withOauth] = [await routeAt('/oidc'), await routeAt('/oauth')];
await routeAt('/bare');
await client
  .httpsEdgeRouteModules(edge.id, withOidc.id)
  .oidc.put({ issuer: 'https://accounts.example.com', client_id: 'portal', client_secret: 'hidden' });
await client
  .httpsEdgeRouteModules(edge.id, withOauth.id)
  .oauth.put({ provider: { github: { client_id: 'admin', client_secret: 'hidden' } } });

const ownKey = { apiKey: String(own.token) };

describe('export', () => {
  test('has an object for each resource, the oldest first, with an annotation to adopt it', async () => {
    const { objects, refused } = await exported(['IPPolicy']);
    const suffix = policies[1]?.id.slice(-6);
    expect(objects).toMatchObject([
      { metadata: { name: 'office', annotations: { 'tunnel-operator.dev/adopt': policies[0]?.id } } },
      { metadata: { name: `office-${suffix}`, annotations: { 'tunnel-operator.dev/adopt': policies[1]?.id } } },
    ]);
    expect(objects.map(({ metadata }) => metadata.namespace)).toEqual([undefined, undefined]);
    expect(refused).toEqual([]);
  });

  test('has every kind if none is named, but not the API key that it reads with', async () => {
    const all = await exported([], ownKey);
    expect(named(all)).toEqual(
      expect.arrayContaining([
        'BotUser ci',
        'HTTPSEdge portal',
        'HTTPSEdgeRouteModules at-oidc',
        'SSHHostCertificate web',
      ]),
    );
    expect(named(all)).not.toContain('APIKey own');
    expect(all.refused).toEqual([
      { kind: `APIKey ${own.id}`, reason: expect.stringContaining('the key that this was read with') },
    ]);
  });

  test.each(['apikey', 'apikeys', 'tkey', 'APIKey'])('accepts %s as the name of a kind', async (name) => {
    const { objects } = await exported([name], ownKey);
    expect(new Set(objects.map(({ kind }) => kind))).toEqual(new Set(['APIKey']));
  });

  test('rejects other names, and lists the valid ones', async () => {
    await expect(exported(['Pod'])).rejects.toThrow(BadSettings);
    await expect(exported(['Pod', 'IPPolicy', 'Node'])).rejects.toThrow(
      /--kind is Pod, Node, but must be one of Account, IPPolicy, /,
    );
  });

  test('refers to exported objects by name, and to other resources by id', async () => {
    const both = await exported(['HTTPSEdge', 'HTTPSEdgeRoute'], { namespace: 'prod' });
    const routes = both.objects.filter(({ kind }) => kind === 'HTTPSEdgeRoute');
    expect(routes.map(({ spec }) => spec.edgeRef)).toEqual(routes.map(() => ({ name: 'portal' })));
    expect(new Set(both.objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['prod']));
    const alone = await exported(['HTTPSEdgeRoute']);
    expect(alone.objects.map(({ spec }) => spec.edgeRef)).toEqual(routes.map(() => ({ id: edge.id })));
  });

  test('has the modules of each route that has some, with a remark for each Secret that they need', async () => {
    const { objects, remarks } = await exported(['hroutemod']);
    const from = (name: string, key: string) => ({ secretKeyRef: { name: `${name}-httpsedgeroutemodules`, key } });
    const oidc = { clientId: { value: 'portal' }, clientSecret: from('at-oidc', 'oidc-client-secret') };
    const oauth = ['id', 'secret'].map((part) => from('at-oauth', `oauth-client-${part}`));
    const github = { clientId: oauth[0], clientSecret: oauth[1] };
    expect(objects).toMatchObject([
      { metadata: { name: 'at-oidc' }, spec: { routeRef: { id: `${edge.id}/${withOidc.id}` }, oidc } },
      { metadata: { name: 'at-oauth' }, spec: { oauth: { provider: { github } } } },
    ]);
    expect(objects.map(({ metadata }) => metadata.annotations)).toEqual([undefined, undefined]);
    expect(remarks).toEqual([
      expect.stringContaining('create the Secret at-oidc-httpsedgeroutemodules with the key oidc-client-secret,'),
      expect.stringContaining(
        'create the Secret at-oauth-httpsedgeroutemodules with the keys oauth-client-id and oauth-client-secret,',
      ),
    ]);
  });

  test.each([
    ['', {}],
    ['-n prod ', { namespace: 'prod' }],
  ])('says how to get a new token, because the API hides the old one: kubectl %sannotate', async (flags, given) => {
    const { remarks } = await exported(['tcred'], given);
    expect(remarks).toEqual([
      expect.stringContaining(
        `The API does not show the token again. The one in use keeps working, but it is in no Secret, and the object is not Ready until you ask for a new one: kubectl ${flags}annotate tunnelcredentials ci tunnel-operator.dev/rotate-requested-at=`,
      ),
    ]);
  });

  test('leaves out a kind that the key may not list, and says so', async () => {
    const { objects, refused, remarks } = await exported(['BotUser', 'tcred'], { apiKey: String(key.token) });
    expect(objects).toMatchObject([{ metadata: { annotations: { 'tunnel-operator.dev/adopt': credential.id } } }]);
    expect(refused).toEqual([{ kind: 'BotUser', reason: expect.stringMatching(/admin/) }]);
    expect(remarks[0]).toMatch(/^BotUser is left out: /);
  });

  test('fails if the API rejects the key, or does not answer with a list', async () => {
    for (const given of [{ apiKey: 'wrong' }, { apiUrl: `${api.url}/elsewhere` }]) {
      const failed = exported(['IPPolicy'], given);
      await expect(failed).rejects.toBeInstanceOf(CannotStart);
      await expect(failed).rejects.toThrow(`the management API at ${api.url}`);
    }
  });
});

test('with an account, exports what belongs to that one', async () => {
  const { id: account } = await client.accounts.create({ name: 'a team' });
  const theirs = createClient({ baseUrl: api.url, apiKey: API_KEY, account });
  await theirs.ipPolicies.create({ description: 'Theirs' });
  await theirs.close();
  expect(named(await exported([], { account }))).toEqual(['IPPolicy theirs']);
  await expect(exported([], { account: 'team' })).rejects.toThrow('Account: must be an id that starts with acc_');
});
