/**
 * What a tenant who may edit custom resources in one namespace must not be able to do. docs/security.md says what is
 * defended.
 */
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { manifest, ours } from './manifest.ts';
import { API_KEY, eventually, ROOT, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'tenant', settings: { adoptNamespaces: ['platform'] } });
const { client } = stack;
const post = postTo(stack.api.url, API_KEY);

let numbers = 3_000;
const declare = (row: KindRow) => row.declare(post, ++numbers);
const named = (row: KindRow) => ({ row, name: row.name });

describe('a Secret of another namespace', async () => {
  /** Each place in a spec with a member that is a name or about a namespace, and all members there. */
  const naming: { where: string; members: string[] }[] = [];
  const schema = z.looseObject({ properties: z.record(z.string(), z.unknown()) });
  const visit = (node: unknown, where: string) => {
    if (node === null || typeof node !== 'object') return;
    const members = Object.keys(schema.safeParse(node).data?.properties ?? {}).sort();
    if (members.some((member) => member === 'name' || /namespace/i.test(member))) naming.push({ where, members });
    for (const [name, member] of Object.entries(node)) visit(member, `${where}.${name}`);
  };
  const crd = z.object({
    spec: z.object({
      scope: z.string(),
      names: z.object({ plural: z.string() }),
      versions: z.array(z.object({ schema: z.unknown() })),
    }),
  });
  for (const file of (await readdir(`${ROOT}crds`)).filter((name) => name.startsWith('tunnel-operator'))) {
    const { scope, names, versions } = crd.parse(parse(await readFile(`${ROOT}crds/${file}`, 'utf8'))).spec;
    // What belongs to no namespace, tenants may not write. An Account counts only in the namespace of the operator.
    for (const version of scope === 'Cluster' || names.plural === 'accounts' ? [] : versions) {
      const all = z.object({ openAPIV3Schema: schema }).parse(version.schema).openAPIV3Schema.properties;
      visit(all.spec, file);
    }
  }

  test('cannot be named by any field of any kind: only references to API resources may have a namespace', () => {
    const references = naming.filter(({ members }) => members.includes('id'));
    expect(new Set(references.map(({ members }) => members.join()))).toEqual(
      new Set(['id,name,namespace', 'id,kind,name,namespace']),
    );
    const others = naming.filter((each) => !references.includes(each));
    expect(others.length).toBeGreaterThan(40);
    expect(others.filter(({ members }) => members.some((member) => /namespace/i.test(member)))).toEqual([]);
  });
});

describe("another tenant's resource", () => {
  const claims = ['adopt', 'external-id'];

  test.for(kindRows.map(named))('is not taken over by an object of $name', async ({ row }) => {
    const name = `${row.type.plural}-taken`;
    const { another, changed } = await declare(row);
    const calls = row.kind.calls(client);
    const { id } = await calls.create(another.body);
    const before = await calls.get(id);
    for (const claim of claims) {
      await stack.apply(
        ...changed.objects,
        manifest(row.name, name, changed.spec, { [`tunnel-operator.dev/${claim}`]: id }),
      );
      await stack.reason(row.type, name, 'Ready', 'AccessDenied');
      await stack.remove(row.type, name);
    }
    expect(await calls.get(id)).toEqual(before);
    await calls.delete(id);
  });
});

describe('text from a tenant', () => {
  const EVIL = 'x\n{"level":60,"msg":"forged"}\r\n\u001b[31mred\u2028"} # HELP forged\nforged_metric{a="b"} 1\n';

  test('forges no log line and no metric', async () => {
    const stringData = { text: EVIL };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'evil' }, stringData };
    await stack.apply(
      secret,
      // The control characters would be refused.
      manifest('IPPolicy', 'evil', { metadata: EVIL.replaceAll(/\p{Cc}/gu, '\n') }),
      manifest('HTTPResponseBackend', 'evil', {
        statusCode: 200,
        headers: { 'x-evil': { secretKeyRef: { name: 'evil', key: 'text' } } },
      }),
    );
    await stack.ready(ours('ippolicies'), 'evil');
    await eventually(async () => {
      expect((await stack.see(ours('httpresponsebackends'), 'evil')).ready?.status).toBe('False');
    });
    for (const line of [...stack.logs, ...stack.apiLogs]) {
      expect(line.trimEnd()).not.toContain('\n');
      expect(JSON.parse(line).msg).not.toBe('forged');
    }
    expect(await stack.metric('forged_metric')).toBe(0);
  });
});

describe('the API', async () => {
  const seen: string[] = [];
  const internal = createServer((socket) => {
    seen.push(socket.remoteAddress ?? '');
    socket.destroy();
  });
  await new Promise<void>((done) => internal.listen(0, '127.0.0.1', done));
  afterAll(() => internal.close());
  const { port } = internal.address() as AddressInfo;
  const address = `https://127.0.0.1:${port}`;

  test('calls no issuer that a tenant names', async () => {
    const route = {
      edgeRef: { name: 'calls' },
      match: '/',
      matchType: 'path_prefix',
      backendRef: { kind: 'TunnelGroupBackend', name: 'calls' },
    };
    await stack.apply(
      manifest('TunnelGroupBackend', 'calls', { labels: { app: 'calls' } }),
      manifest('HTTPSEdge', 'calls', {}),
      manifest('HTTPSEdgeRoute', 'calls', route),
      manifest('HTTPSEdgeRouteModules', 'calls', {
        routeRef: { name: 'calls' },
        oidc: {
          issuer: `${address}/issuer`,
          clientId: { value: 'me' },
          clientSecret: { value: 'mine' },
        },
      }),
    );
    const givenAddresses = ['httpsedgeroutemodules'].map(ours);
    for (const type of givenAddresses) await stack.ready(type, 'calls');
    await stack.apply(manifest('IPPolicy', 'calls', { description: 'an event' }));
    const { status } = await stack.ready(ours('ippolicies'), 'calls');
    // There is an event to deliver, and every object is reconciled once more.
    expect(await stack.sql('select type from events where resource_id = $1', [status.id])).not.toEqual([]);
    for (const type of givenAddresses) await stack.reconciled(type, 'calls');
    // Our own connection is the only one that the server has seen.
    await once(connect(port, '127.0.0.1').resume(), 'close');
    expect(seen).toHaveLength(1);
  });
});
