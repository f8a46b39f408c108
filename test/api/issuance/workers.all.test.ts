/**
 * Workers share the domains. The one that works on a domain is killed at every request to the authority, before and after it.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Child } from '../../../dev/processes/child-process.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import { openDatabase } from '../../../src/api/store/database.ts';
import { atEnd } from '../../end-of-file.ts';
import { skipFor } from '../../skip.ts';
import { dumpOf } from '../dump.ts';
import { startWorkerProcess } from '../events/worker-process.ts';
import { ApiProcess, removeFolder } from '../faults/api-process.ts';
import { emptyDatabase } from '../harness.ts';
import { type Moment, PLACES, type Place, startAcmeProxy } from './acme-proxy.ts';
import { noAuthority, startInstallation } from './installation.ts';

/** After its request for an order, a killed process cannot have stored it. */
const LOSES_ORDER = new Set(['order after']);

const points = (Object.keys(PLACES) as Place[]).flatMap((place) =>
  (['before', 'after'] as const).map((moment): [Place, Moment] => [place, moment]),
);

describe('workers', skipFor(noAuthority), async () => {
  if (noAuthority !== undefined) return;
  const installation = await startInstallation();
  atEnd(installation.stop);
  const { pebble, users, settings } = installation;
  const databaseUrl = await emptyDatabase();
  const proxy = await startAcmeProxy(pebble);
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-kills-'));
  atEnd(removeFolder(folder));
  const db = openDatabase({ url: databaseUrl, poolSize: 4, statementTimeoutMs: 20_000, connectTimeoutMs: 5_000 });
  atEnd(() => db.close());
  const rows = (text: string, values: unknown[] = []) => db.query({ text, values });

  const common = {
    ...{ folder, databaseUrl, apiKey: 'tnl_ak_of_the_kills_01234567890123' },
    env: {
      LOG_LEVEL: 'info',
      SERVICE_DOMAINS: 'service.example',
      ACME_DIRECTORY_URL: proxy.directoryUrl,
      ACME_TRUSTED_CERTIFICATES: proxy.serverCertificate,
      ACME_RESOLVERS: String(settings.acmeResolvers),
      ACME_DNS_NAMESERVERS: 'ns1.example.net',
      EVENT_DELIVERY: 'false',
    },
  };
  const dnsOnly = {
    CERTIFICATE_ISSUANCE: 'false',
    ACME_DNS_PORT: String(settings.acmeDnsPort),
    ACME_DNS_HOST: '127.0.0.1',
  };
  const api = await ApiProcess.start({ ...common, name: 'api', env: { ...common.env, ...dnsOnly } });
  atEnd(() => api.stop());
  const workers = new Map<number, Child>();
  async function addWorker(): Promise<void> {
    const child = await startWorkerProcess({ ...common, name: `worker-${workers.size}` });
    workers.set(child.pid, child);
  }
  await Promise.all([addWorker(), addWorker()]);

  const holder = z.string().transform((text) => Number(text.split(' ').at(-1)));
  async function killWorkerOf(domainId: string): Promise<void> {
    const [found] = await rows('select holder from leases where name = $1', [`certificate ${domainId}`]);
    await workers.get(holder.parse(found?.holder))?.stop({ signal: 'SIGKILL' });
  }

  test.each(points)(
    'of which one is killed at %s, %s it, make one certificate',
    { timeout: 120_000 },
    async (place, moment) => {
      const name = `${place}-${moment}`;
      if (place === 'account') await rows('update acme_accounts set url = null');
      users.set(`_acme-challenge.${name}.users.example`, undefined);
      const killed = Promise.withResolvers<void>();
      const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' } as const;
      const before = proxy.accepted.length;
      const domain = await api.client.reservedDomains.create({ domain: `*.${name}.users.example` });
      proxy.arm(place, moment, async () => {
        await killWorkerOf(domain.id);
        killed.resolve();
      });
      users.set(`_acme-challenge.${name}.users.example`, {
        ...{ type: 'CNAME', data: String(domain.acme_challenge_cname_target) },
      });
      await api.client.reservedDomains.update(domain.id, { certificate_management_policy: policy });
      await killed.promise;
      await addWorker();

      const { certificate } = await waitFor(
        'a certificate',
        async () => {
          const seen = await api.client.reservedDomains.get(domain.id);
          const status = seen?.certificate_management_status;
          if (seen?.certificate && status?.provisioning_job === null) return seen;
          throw new Error(JSON.stringify(status));
        },
        { timeoutMs: 60_000 },
      );
      const made = await rows('select id from tls_certificates where description like $1', [
        `%*.${name}.users.example.`,
      ]);
      expect(made).toEqual([{ id: certificate?.id }]);
      const orders = proxy.accepted.slice(before).filter((each) => each === 'order');
      expect(orders).toHaveLength(LOSES_ORDER.has(`${place} ${moment}`) ? 2 : 1);
    },
  );

  test('place one order for each of 100 domains', { timeout: 240_000 }, async () => {
    while (workers.size < 5 + points.length) await addWorker();
    const before = proxy.accepted.length;
    const certificate_management_policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' } as const;
    users.set('*.many.users.example', { type: 'A', data: '127.0.0.1' });
    for (let index = 0; index < 100; index += 1) {
      const { id, domain, acme_challenge_cname_target } = await api.client.reservedDomains.create({
        domain: `*.d${index}.many.users.example`,
      });
      users.set(domain.replace('*', '_acme-challenge'), { type: 'CNAME', data: String(acme_challenge_cname_target) });
      await api.client.reservedDomains.update(id, { certificate_management_policy });
    }
    const lacking = () =>
      rows(
        "select domain, certificate_management_status from reserved_domains where domain like '%.many.%' and certificate_id is null",
      );
    await expect.poll(lacking, { timeout: 200_000, interval: 500 }).toEqual([]);
    expect(proxy.accepted.slice(before).filter((each) => each === 'order')).toHaveLength(100);
    expect(await rows("select 1 from tls_certificates where description like '%.many.%'")).toHaveLength(100);
  });

  test('leave no key in the database but sealed', async () => {
    for (const [table, text] of await dumpOf({ rows }))
      expect(text, table).not.toMatch(/PRIVATE KEY|MHcCAQEE|MIGHAgEA/);
  });
});
