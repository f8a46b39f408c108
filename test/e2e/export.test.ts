/** The command `export`: what it prints takes everything over, and changes nothing in the API. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { sampleValues } from '../../dev/fixtures/sample-values.ts';
import { createSample } from '../../dev/fixtures/samples.ts';
import { GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { kinds } from '../../src/operator/kinds/kinds.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { runCommand } from './command.ts';
import { API_KEY, eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'export', operators: 0 });
const values = await sampleValues();
const folder = await mkdtemp(join(tmpdir(), 'export-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

const manifests = z.object({
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()),
  }),
  spec: z.looseObject({}),
});

async function post(path: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${stack.api.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = z.record(z.string(), z.unknown()).parse(await response.json());
  expect(response.status, `${path} ${JSON.stringify(answer)}`).toBe(201);
  return answer;
}

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCommand(['export', ...args], { TUNNEL_API_URL: stack.api.url, TUNNEL_API_KEY: API_KEY, ...env });

const documentsOf = (yaml: string) => parseAllDocuments(yaml).map((each) => manifests.parse(each.toJS()));

/** Every sample of every family that has a kind, and what those refer to. */
for (const family of FAMILIES.filter(({ name }) => kinds.some((kind) => kind.family.name === name))) {
  await createSample(post, family, 'least', 2 * FAMILIES.indexOf(family), values);
  await createSample(post, family, 'full', 2 * FAMILIES.indexOf(family) + 1, values);
}
const policy = await stack.client.ipPolicies.create({ description: 'Büro, Berlin' });
await stack.client.replaceRules(policy.id, { rules: [{ cidr: '192.0.2.0/24', action: 'allow', description: 'all' }] });

describe('export', () => {
  test('has one object for each resource, which adopts it and refers to the others by name', async () => {
    const { code, stdout, stderr } = await run([]);
    const lines = stderr.trimEnd().split('\n');
    expect({ code, lines }).toEqual({
      code: 0,
      lines: [
        expect.stringMatching(/^APIKey ak_\w+ is left out: .* is the key that this was read with/),
        'HTTPSEdgeRouteModules is left out: modules are not exported yet',
        'TLSEdgeModules is left out: modules are not exported yet',
      ],
    });
    const documents = documentsOf(stdout);
    const adopted = documents.map(({ metadata }) => metadata.annotations[`${GROUP}/adopt`]);
    expect(adopted.toSorted()).toEqual((await stack.remoteIds()).toSorted());
    const names = documents.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const office = documents.find(({ metadata }) => metadata.annotations[`${GROUP}/adopt`] === policy.id);
    expect(office).toMatchObject({
      kind: 'IPPolicy',
      metadata: { name: 'buro-berlin' },
      spec: {
        description: 'Büro, Berlin',
        rules: [{ cidr: '192.0.2.0/24', action: 'allow', description: 'all' }],
      },
    });
    const routes = documents.filter(({ kind }) => kind === 'HTTPSEdgeRoute');
    const edges = documents.filter(({ kind }) => kind === 'HTTPSEdge').map(({ metadata }) => metadata.name);
    for (const { spec } of routes) expect(edges).toContain(z.object({ name: z.string() }).parse(spec.edgeRef).name);
    expect((await run([])).stdout).toBe(stdout);
  });

  test('takes kinds by any of their names, and refers by id to what it leaves out', async () => {
    const { stdout } = await run(['--kind', 'hroute', '--kind', 'IPPolicy', '-n', 'prod']);
    const documents = documentsOf(stdout);
    expect(new Set(documents.map(({ kind }) => kind))).toEqual(new Set(['IPPolicy', 'HTTPSEdgeRoute']));
    expect(documents.every(({ metadata }) => metadata.namespace === 'prod')).toBe(true);
    const route = documents.find(({ kind }) => kind === 'HTTPSEdgeRoute');
    expect(route?.spec.edgeRef).toEqual({ id: expect.stringMatching(/^edghts_/) });
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
    for (const { kind, metadata } of documents) {
      const row = kindRows.find(({ name }) => name === kind);
      const type = { group: GROUP, version: VERSION, plural: row?.type.plural ?? '' };
      await eventually(async () => {
        const { ready, synced, status } = await stack.see(type, metadata.name);
        // A certificate can be read again and again.
        const hasToken = row?.kind.delivery !== undefined && kind !== 'SSHHostCertificate';
        const state = {
          kind,
          name: metadata.name,
          ready: ready?.reason,
          message: ready?.message,
          synced: synced?.reason,
        };
        expect(state).toMatchObject({ ready: hasToken ? 'TokenUnavailable' : 'Available', synced: 'UpToDate' });
        expect(status.id).toBe(metadata.annotations[`${GROUP}/adopt`]);
      });
    }
    expect(await state()).toEqual(before);
    const writes = stack.apiLogs
      .slice(apiLinesBefore)
      .filter((line) => /"method":"(?:POST|PUT|PATCH|DELETE)"/.test(line))
      .filter((line) => line.includes('"status'));
    // Ends the creates of the object, if any had begun: it is no resource that this writes.
    const closes = writes.filter((line) => line.includes('/idempotency_scopes/'));
    expect(closes.length).toBeGreaterThanOrEqual(documents.length);
    expect(writes.filter((line) => !closes.includes(line))).toEqual([]);
    const calls = await Promise.all(
      ['POST', 'PATCH', 'DELETE'].map((method) => stack.metric('tunnel_operator_api_requests_total', { method })),
    );
    expect(calls).toEqual([0, 0, 0]);
    expect(await stack.metric('tunnel_operator_api_requests_total', { method: 'GET' })).toBeGreaterThan(0);
  });
});

async function write(yaml: string): Promise<string> {
  const file = join(folder, 'all.yaml');
  await writeFile(file, yaml);
  return file;
}
