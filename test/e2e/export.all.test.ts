/** The command `export`, and applying its output. test/operator/export/command.test.ts covers what it contains. */
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { postTo } from '../../dev/fixtures/post.ts';
import { sampleValues } from '../../dev/fixtures/sample-values.ts';
import { createSample } from '../../dev/fixtures/samples.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { allKinds, kinds } from '../../src/operator/kinds/kinds.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { kubectl } from '../harness.ts';
import { runCommand } from './command.ts';
import { ours } from './manifest.ts';
import { API_KEY, eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'export', operators: 0 });
const { api, client } = stack;

const manifests = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string(), annotations: z.record(z.string(), z.string()).optional() }),
  spec: z.looseObject({ secretRef: z.object({ name: z.string() }).optional() }),
});

const run = (args: readonly string[], apiKey = API_KEY) =>
  runCommand(['export', ...args], { TUNNEL_API_URL: api.url, TUNNEL_API_KEY: apiKey });

/** Creates every sample of every family that has a kind, what those refer to, and modules. */
async function fillApi() {
  const values = await sampleValues();
  const post = postTo(api.url, API_KEY);
  for (const family of FAMILIES.filter(({ name }) => kinds.some((kind) => kind.family.name === name))) {
    await createSample(post, family, 'least', 2 * FAMILIES.indexOf(family), values);
    await createSample(post, family, 'full', 2 * FAMILIES.indexOf(family) + 1, values);
  }
  // kubectl would refuse or misread this text unless it is quoted and escaped.
  const policy = await client.ipPolicies.create({ metadata: '\ttab\u2028\ufeff\ufffe \r\n true' });
  await client.replaceRules(policy.id, { rules: [{ cidr: '192.0.2.0/24', action: 'allow', description: 'all' }] });
  const edge = await client.tlsEdges.create({ description: 'Internal' });
  await client.tlsEdgeModules(edge.id).ipRestriction.put({ ip_policy_ids: [policy.id], enabled: false });
  const portal = await client.httpsEdges.create({ description: 'Portal' });
  const route = await client
    .httpsEdgeRoutes(portal.id)
    .create({ match: '/', match_type: 'path_prefix', description: 'portal' });
  const oidc = { issuer: 'https://accounts.example.com', client_id: 'portal', client_secret: 'never-to-be-seen' };
  await client.httpsEdgeRouteModules(portal.id, route.id).oidc.put(oidc);
  return { pem: values.pem, clientSecret: oidc.client_secret, owners: [edge.id, `${portal.id}/${route.id}`] };
}

test('an error is reported in one line', async () => {
  const unknown = await run(['--kind', 'Pod']);
  expect(unknown).toMatchObject({ code: 1, stdout: '' });
  expect(unknown.stderr).toContain('--kind is Pod, but must be one of Account,');
  const refused = await run([], 'wrong');
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^tunnel-operator failed: the management API at http:.*\n$/);
});

test('applying an export adopts everything without a change in the API', { timeout: 120_000 }, async () => {
  const { pem, clientSecret, owners } = await fillApi();
  const secret = async (name: string, stringData: Record<string, string>) =>
    expect(await stack.tryApply({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData })).toMatchObject({
      code: 0,
    });
  const { code, stdout, stderr } = await run([]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^APIKey ak_\w+ is left out: .* is the key that this was read with.*\n$/),
  });
  // The output contains no secrets, which belong in the Secrets that it names.
  for (const hidden of ['PRIVATE KEY', clientSecret]) expect(stdout).not.toContain(hidden);
  const documents = parseAllDocuments(stdout).map((each) => manifests.parse(each.toJS()));
  const adopted = documents.flatMap(({ metadata }) => metadata.annotations?.[ANNOTATION.adopt] ?? []);
  expect(adopted.toSorted()).toEqual((await stack.remoteIds()).toSorted());
  for (const { spec } of documents) {
    if (spec.secretRef) await secret(spec.secretRef.name, { 'tls.crt': pem.leaf, 'tls.key': pem.leaf_key });
  }

  const state = async () => ({
    events: await stack.sql('select count(*) as n from events'),
    ids: (await stack.remoteIds()).toSorted(),
  });
  const before = await state();
  const applied = await kubectl(['-n', stack.namespace, 'apply', '-f', '-'], { input: stdout });
  expect(applied).toMatchObject({ code: 0, stderr: '' });
  await stack.operate();
  const routeModules = ours('httpsedgeroutemodules');
  const { ready } = await stack.reason(routeModules, 'portal', 'Ready', 'SourceNotFound');
  expect(ready?.message).toMatch(
    /^spec\.oidc\.clientSecret: Secret \S+portal-httpsedgeroutemodules does not exist: create it/,
  );
  await secret('portal-httpsedgeroutemodules', { 'oidc-client-secret': clientSecret });
  for (const { kind, metadata } of documents) {
    const type = ours(allKinds.find((each) => each.kind === kind)?.plural ?? '');
    const hasToken = kinds.some((each) => each.kind === kind && each.delivery) && kind !== 'SSHHostCertificate';
    const wanted = hasToken ? 'TokenUnavailable' : 'Available';
    await eventually(async () => {
      const { ready, synced, status } = await stack.see(type, metadata.name);
      expect([ready?.reason, synced?.reason], `${kind} ${metadata.name}: ${ready?.message}`).toEqual([
        wanted,
        'UpToDate',
      ]);
      expect([metadata.annotations?.[ANNOTATION.adopt], ...owners]).toContain(status.id);
    });
  }
  expect(await state()).toEqual(before);
  const calls = ['POST', 'PATCH', 'DELETE'].map((method) =>
    stack.metric('tunnel_operator_api_requests_total', { method }),
  );
  expect(await Promise.all(calls)).toEqual([0, 0, 0]);
});
