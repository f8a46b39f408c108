/**
 * Automatic certificates on a cluster with nodes: the authority reaches the service only through the Services of the
 * chart. Needs images of Pebble (`TEST_PEBBLE_IMAGE`) and unbound (`TEST_UNBOUND_IMAGE`), and what node.all.test.ts
 * needs. `npm run e2e:kind` makes all of it.
 */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { manifest } from '../e2e/manifest.ts';
import { eventually } from '../e2e/stack.ts';
import { createNamespace, kubectl as tryKubectl } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { nodeAuthority, type Transport, UNBOUND_PORT } from './node-authority.ts';
import { kubectl, MINUTES, nodeRelease } from './node-release.ts';

const { TEST_KUBECONFIG, TEST_IMAGE, TEST_POSTGRES_IMAGE = 'postgres:18' } = process.env;
const { TEST_PEBBLE_IMAGE, TEST_UNBOUND_IMAGE } = process.env;
const missing = Object.entries({ TEST_KUBECONFIG, TEST_IMAGE, TEST_PEBBLE_IMAGE, TEST_UNBOUND_IMAGE })
  .filter(([, value]) => !value)
  .map(([name]) => name);
const unsuitable = missing.length > 0 ? `no nodes with an authority: not set are ${missing.join(', ')}` : undefined;

const NAME = 'certs-tunnel-operator';
const SERVICE = 'service.example';
const USERS = 'users.example';

const condition = z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() });
const domain = z.object({
  metadata: z.object({ name: z.string() }),
  status: z.object({
    id: z.string(),
    dnsRecords: z.array(z.object({ name: z.string(), target: z.string() })),
    conditions: z.array(condition),
  }),
});

describe('certificates on a real node', { ...skipFor(unsuitable), timeout: 5 * MINUTES }, async () => {
  if (unsuitable !== undefined) return void test('works', () => undefined);
  const [repository, tag = 'latest'] = (TEST_IMAGE ?? '').split(/:(?=[^/:]*$)/);
  const system = await createNamespace('system');
  const namespace = await createNamespace('tenant');
  await kubectl('label', 'namespace', system, 'pod-security.kubernetes.io/enforce=restricted');
  const images = { pebble: TEST_PEBBLE_IMAGE ?? '', unbound: TEST_UNBOUND_IMAGE ?? '' };
  const { certificates, ...authority } = await nodeAuthority(system, images);
  const { release, deployed, forwarded } = await nodeRelease('certs', system, TEST_IMAGE ?? '');
  // So small that no worker needs a larger `max_connections`: the database loses its data when it is restarted.
  const poolSize = { name: 'DATABASE_POOL_SIZE', value: '10' };
  const values = {
    image: { repository, tag },
    database: { bundled: { enabled: true, image: TEST_POSTGRES_IMAGE, persistence: { enabled: false } } },
    watchNamespaces: [namespace],
    api: { extraEnv: [{ name: 'SERVICE_DOMAINS', value: SERVICE }, poolSize] },
    worker: { extraEnv: [poolSize] },
    certificates: { ...certificates, dns: { nameServers: [`ns1.${SERVICE}`], service: { type: 'ClusterIP' } } },
    networkPolicy: { enabled: true, dnsPorts: [53, UNBOUND_PORT] },
  };

  beforeAll(async () => {
    await authority.startPebble();
    await deployed('install', values);
  }, 6 * MINUTES);
  afterAll(async () => {
    await tryKubectl(['-n', namespace, 'delete', 'tunnels', '--all', '--timeout=120s']);
    await release('uninstall', ['--wait']);
  }, 6 * MINUTES);

  const declare = async (names: readonly [string, string][], policy?: object) => {
    const items = names.map(([name, host]) =>
      manifest('ReservedDomain', name, { domain: host, ...(policy && { certificateManagementPolicy: policy }) }),
    );
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    expect(await tryKubectl(['-n', namespace, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0, stderr: '' });
  };
  const see = async (name: string) =>
    domain.parse(JSON.parse(await kubectl('-n', namespace, 'get', 'reserveddomain', name, '-o', 'json')));

  /** Starts unbound with the records that these domains need, and waits until it finds the name server of the service. */
  async function publish(names: readonly [string, string][], transport: Transport): Promise<void> {
    const seen = await Promise.all(names.map(([name]) => see(name)));
    const records = seen.flatMap(({ status }) => status.dnsRecords);
    const api = await authority.addressOf(`${NAME}-api`);
    const dns = await authority.addressOf(`${NAME}-dns`);
    const zones = {
      [USERS]: records.map((record) => `${record.name}. 0 IN CNAME ${record.target}.`),
      // As docs/certificates.md says: names below cname.… lead to the service, and acme.… is delegated.
      [SERVICE]: [
        `*.cname.${SERVICE}. 0 IN A ${api}`,
        `acme.${SERVICE}. 0 IN NS ns1.${SERVICE}.`,
        `ns1.${SERVICE}. 0 IN A ${dns}`,
      ],
    };
    await authority.startUnbound(zones, transport);
    // A failed validation is not repeated for minutes, and Services lead to new Pods only after a moment.
    await eventually(async () => {
      const look = `
        const resolver = new (require('node:dns/promises').Resolver)({ timeout: 3000, tries: 1 });
        resolver.setServers(['${certificates.resolvers}']);
        const soa = resolver.resolveSoa('acme.${SERVICE}');
        soa.then(({ nsname }) => nsname, ({ code }) => code).then(console.log);`;
      const inPod = ['exec', `deployment/${NAME}-api`, '-c', 'api', '--', '/node', '-e', look];
      expect(await kubectl('-n', system, ...inPod), `the name server over ${transport}`).toBe(`ns1.${SERVICE}`);
    }, MINUTES);
  }

  test.each([
    ['api', 'UDP'],
    ['worker', 'TCP'],
  ] as const)('the %s issues them, and answers over %s', async (issuer, transport) => {
    if (issuer === 'worker') await deployed('upgrade', { ...values, worker: { ...values.worker, enabled: true } });
    const names: [string, string][] = [
      [`plain-by-${issuer}`, `${issuer}.${USERS}`],
      [`wildcard-by-${issuer}`, `*.${issuer}.${USERS}`],
    ];
    await declare(names);
    const objects = names.map(([name]) => `rdom/${name}`);
    await kubectl('-n', namespace, 'wait', '--for=condition=Ready', '--timeout=120s', ...objects);
    await publish(names, transport);

    await declare(names, { authority: 'pebble', privateKeyType: 'ecdsa' });
    for (const [name, host] of names) {
      const { status } = await eventually(async () => {
        const seen = await see(name);
        const { type, ...found } = seen.status.conditions.find(({ type }) => type === 'CertificateReady') ?? {};
        expect(found, name).toEqual({
          status: 'True',
          reason: 'Issued',
          message: expect.stringMatching(/^In use until 20/),
        });
        return seen;
      }, 2 * MINUTES);
      await forwarded(async (_url, _key, client) => {
        const { certificate } = await client.reservedDomains.get(status.id);
        const { certificate_pem } = await client.tlsCertificates.get(certificate?.id ?? '');
        const { subjectAltName, issuer: by } = new X509Certificate(certificate_pem);
        expect({ subjectAltName, by }).toEqual({
          subjectAltName: `DNS:${host}`,
          by: expect.stringContaining('Pebble'),
        });
      });
    }
  });
});
