/** The command `export`: what it prints takes everything over, and changes nothing in the API. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { allKinds, attachedKinds, kinds } from '../../src/operator/kinds/kinds.ts';
import { runCommand } from './command.ts';
import { CLIENT_SECRET, fillApi, HARD_TO_WRITE, ISSUER } from './full-api.ts';
import { API_KEY, eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'export', operators: 0 });
const folder = await mkdtemp(join(tmpdir(), 'export-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

const manifests = z.object({
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.looseObject({}),
});

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCommand(['export', ...args], { TUNNEL_API_URL: stack.api.url, TUNNEL_API_KEY: API_KEY, ...env });

const documentsOf = (yaml: string) => parseAllDocuments(yaml).map((each) => manifests.parse(each.toJS()));

const isResource = ({ kind }: { kind: string }) => !attachedKinds.some((each) => each.kind === kind);

const { values, policy, tlsEdge, withOidc, withOauth } = await fillApi(stack);

describe('export', () => {
  test('has one object for each resource, which adopts it and refers to the others by name', async () => {
    const { code, stdout, stderr } = await run([]);
    const lines = stderr.trimEnd().split('\n');
    expect({ code, lines }).toEqual({
      code: 0,
      lines: [expect.stringMatching(/^APIKey ak_\w+ is left out: .* is the key that this was read with/)],
    });
    const documents = documentsOf(stdout);
    const adopted = documents.filter(isResource).map(({ metadata }) => metadata.annotations[`${GROUP}/adopt`]);
    expect(adopted.toSorted()).toEqual((await stack.remoteIds()).toSorted());
    const names = documents.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const office = documents.find(({ metadata }) => metadata.annotations[`${GROUP}/adopt`] === policy.id);
    expect(office).toMatchObject({
      kind: 'IPPolicy',
      metadata: { name: 'buro-berlin' },
      spec: {
        description: 'Büro, Berlin',
        metadata: HARD_TO_WRITE,
        rules: [{ cidr: '192.0.2.0/24', action: 'allow', description: 'all' }],
      },
    });
    const routes = documents.filter(({ kind }) => kind === 'HTTPSEdgeRoute');
    const edges = documents.filter(({ kind }) => kind === 'HTTPSEdge').map(({ metadata }) => metadata.name);
    for (const { spec } of routes) expect(edges).toContain(z.object({ name: z.string() }).parse(spec.edgeRef).name);
    expect((await run([])).stdout).toBe(stdout);
  });

  test('has the modules of edges and routes, with secrets by name', async () => {
    const { stdout } = await run([]);
    expect(stdout).not.toContain(CLIENT_SECRET);
    const modules = documentsOf(stdout).filter((each) => !isResource(each));
    expect(modules.map(({ kind, metadata, spec }) => ({ kind, ...metadata, spec }))).toEqual([
      {
        kind: 'HTTPSEdgeRouteModules',
        name: 'portal',
        annotations: {},
        spec: {
          routeRef: { name: 'portal' },
          oidc: {
            issuer: ISSUER,
            clientId: { value: 'portal' },
            clientSecret: { secretKeyRef: { name: 'portal-httpsedgeroutemodules', key: 'oidc-client-secret' } },
            scopes: ['email'],
          },
        },
      },
      {
        kind: 'HTTPSEdgeRouteModules',
        name: 'admin',
        annotations: {},
        spec: {
          routeRef: { name: 'admin' },
          oauth: {
            maximumDuration: 3600,
            provider: {
              github: {
                clientId: { secretKeyRef: { name: 'admin-httpsedgeroutemodules', key: 'oauth-client-id' } },
                clientSecret: { secretKeyRef: { name: 'admin-httpsedgeroutemodules', key: 'oauth-client-secret' } },
                scopes: [],
                emailAddresses: [],
                emailDomains: [],
                teams: [],
                organizations: ['acme'],
              },
            },
          },
        },
      },
      {
        kind: 'TLSEdgeModules',
        name: 'internal',
        annotations: {},
        spec: {
          tlsEdgeRef: { name: 'internal' },
          ipRestriction: { enabled: false, ipPolicyRefs: [{ name: 'buro-berlin' }] },
          mutualTls: { certificateAuthorityRefs: [{ name: expect.any(String) }] },
          backend: { backendRef: { kind: 'TunnelGroupBackend', name: expect.any(String) } },
        },
      },
    ]);
    const alone = documentsOf((await run(['--kind', 'tedgemod'])).stdout);
    expect(alone).toMatchObject([{ metadata: { name: 'internal' }, spec: { tlsEdgeRef: { id: tlsEdge.id } } }]);
  });

  test('takes kinds by any of their names, and refers by id to what it leaves out', async () => {
    const { stdout } = await run(['--kind', 'hroute', '--kind', 'IPPolicy', '-n', 'prod']);
    const documents = documentsOf(stdout);
    expect(new Set(documents.map(({ kind }) => kind))).toEqual(new Set(['IPPolicy', 'HTTPSEdgeRoute']));
    expect(documents.every(({ metadata }) => metadata.namespace === 'prod')).toBe(true);
    const route = documents.find(({ kind }) => kind === 'HTTPSEdgeRoute');
    expect(route?.spec.edgeRef).toEqual({ id: expect.stringMatching(/^edghts_/) });
  });

  test('gives the same names whichever kinds it is asked for, and with whichever key', async () => {
    const owner = await stack.client.botUsers.create({ name: 'ci' });
    const own = await stack.client.apiKeys.create({ description: 'ci' });
    const key = await stack.client.apiKeys.create({ owner_id: owner.id, description: 'ci' });
    const credential = await stack.client.credentials.create({ description: 'ci' });
    const namesWith = async (args: readonly string[], env = {}) =>
      documentsOf((await run(args, env)).stdout).map(({ metadata }) => [
        metadata.annotations[`${GROUP}/adopt`],
        metadata.name,
      ]);
    const all: Record<string, string> = Object.fromEntries(await namesWith([]));
    expect(all).toMatchObject({
      [own.id]: 'ci',
      [key.id]: `ci-${key.id.slice(-6)}`,
      [credential.id]: `ci-${credential.id.slice(-6)}`,
    });
    const alone = [...(await namesWith(['--kind', 'tcred'])), ...(await namesWith(['--kind', 'apikey']))];
    expect(all).toMatchObject(Object.fromEntries(alone));
    const withOther = await namesWith(['--kind', 'apikey'], { TUNNEL_API_KEY: String(own.token) });
    expect(Object.fromEntries(withOther)).toMatchObject({ [key.id]: all[key.id] });
    for (const { id } of [own, key]) await stack.client.apiKeys.delete(id);
    await stack.client.credentials.delete(credential.id);
    await stack.client.botUsers.delete(owner.id);
  });

  test('names what is wrong in one line', async () => {
    const unknown = await run(['--kind', 'Pod']);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toContain('--kind is Pod, but must be one of IPPolicy,');
    const refused = await run([], { TUNNEL_API_KEY: 'wrong' });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^tunnel-operator failed: the management API at http:.*\n$/);
  });

  test('leaves out, and says so, what the key may not see', async () => {
    const bot = await stack.client.botUsers.create({ name: 'nobody' });
    const { token } = await stack.client.apiKeys.create({ owner_id: bot.id });
    const { code, stdout, stderr } = await run([], { TUNNEL_API_KEY: String(token) });
    expect(code).toBe(0);
    expect(stderr).toContain('BotUser is left out: ');
    expect(stdout).toContain('# BotUser is left out: ');
    await stack.client.botUsers.delete(bot.id).catch(() => undefined);
  });

  test('applied, takes everything over without a change at the API', async () => {
    const { stdout } = await run([]);
    // No secret, but what belongs into the Secrets that it names.
    expect(stdout).not.toContain('PRIVATE KEY');
    const documents = documentsOf(stdout);
    const certificates = documents.filter(({ kind }) => kind === 'TLSCertificate');
    expect(certificates.length).toBeGreaterThan(0);
    for (const { spec } of certificates) {
      const { name } = z.object({ name: z.string() }).parse(spec.secretRef);
      expect(stdout.replaceAll(/\n# /g, ' ')).toContain(`create the Secret ${name} with the keys tls.crt and tls.key`);
      const data = { 'tls.crt': values.pem.leaf, 'tls.key': values.pem.leaf_key };
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: data };
      expect(await stack.tryApply(secret)).toMatchObject({ code: 0 });
    }
    const state = async () => ({
      events: await stack.sql('select count(*) as n from events'),
      ids: (await stack.remoteIds()).toSorted(),
    });
    const before = await state();
    const apiLinesBefore = stack.apiLogs.length;
    const applied = await stack.run('apply', '-f', await write(stdout));
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    await stack.operate();
    // Of what the export cannot hold, nothing is guessed.
    const waiting = [
      ['portal', { 'oidc-client-secret': CLIENT_SECRET }],
      ['admin', { 'oauth-client-id': 'admin', 'oauth-client-secret': `${CLIENT_SECRET}-2` }],
    ] as const;
    const routeModules = typeOf('HTTPSEdgeRouteModules');
    for (const [name, stringData] of waiting) {
      const secretName = `${name}-httpsedgeroutemodules`;
      const { ready } = await stack.reason(routeModules, name, 'Ready', 'SourceNotFound');
      expect(ready?.message).toMatch(
        /^spec\.(oidc|oauth\.provider\.github)\.client(Id|Secret): Secret \S+ does not exist: create it, or name another$/,
      );
      expect(ready?.message).toContain(secretName);
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: secretName }, stringData };
      expect(await stack.tryApply(secret)).toMatchObject({ code: 0 });
    }
    for (const { kind, metadata } of documents) {
      const type = typeOf(kind);
      const hasToken = kinds.some((each) => each.kind === kind && each.delivery) && kind !== 'SSHHostCertificate';
      await eventually(async () => {
        const { ready, synced, status } = await stack.see(type, metadata.name);
        const state = {
          kind,
          name: metadata.name,
          ready: ready?.reason,
          message: ready?.message,
          synced: synced?.reason,
        };
        expect(state).toMatchObject({ ready: hasToken ? 'TokenUnavailable' : 'Available', synced: 'UpToDate' });
        const owners = [tlsEdge.id, withOidc.id, withOauth.id];
        expect(isResource({ kind }) ? [metadata.annotations[`${GROUP}/adopt`]] : owners).toContain(status.id);
      });
    }
    expect(await state()).toEqual(before);
    const writes = stack.apiLogs
      .slice(apiLinesBefore)
      .filter((line) => /"method":"(?:POST|PUT|PATCH|DELETE)"/.test(line))
      .filter((line) => line.includes('"status'));
    // Ends the creates of the object, if any had begun: it is no resource that this writes.
    const closes = writes.filter((line) => line.includes('/idempotency_scopes/'));
    expect(closes.length).toBeGreaterThanOrEqual(documents.filter(isResource).length);
    expect(writes.filter((line) => !closes.includes(line))).toEqual([]);
    const calls = await Promise.all(
      ['POST', 'PATCH', 'DELETE'].map((method) => stack.metric('tunnel_operator_api_requests_total', { method })),
    );
    expect(calls).toEqual([0, 0, 0]);
    // The scopes are closed by a PUT each.
    expect(await stack.metric('tunnel_operator_api_requests_total', { method: 'PUT' })).toBe(closes.length);
    expect(await stack.metric('tunnel_operator_api_requests_total', { method: 'GET' })).toBeGreaterThan(0);
  });
});

function typeOf(name: string) {
  const plural = allKinds.find(({ kind }) => kind === name)?.plural ?? '';
  return { group: GROUP, version: VERSION, plural };
}

async function write(yaml: string): Promise<string> {
  const file = join(folder, 'all.yaml');
  await writeFile(file, yaml);
  return file;
}
