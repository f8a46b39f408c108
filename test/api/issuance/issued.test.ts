import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:tls';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../../dev/processes/wait.ts';
import { deleteUnused } from '../../../src/api/issuance/record.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { openDatabase } from '../../../src/api/store/database.ts';
import { tlsCertificate } from '../../../src/resources/tls-certificate.ts';
import { skipFor } from '../../skip.ts';
import {
  ADMIN_KEY,
  domainOf,
  KEYS,
  noAuthority,
  pointToService,
  reserve,
  startInstallation,
  untilIssued,
} from './installation.ts';

describe('with an authority that refuses half of the nonces', skipFor(noAuthority), async () => {
  if (noAuthority !== undefined) return;
  const installation = await startInstallation({ refusedNonces: 50, reusedAuthorizations: 50 });
  const { pebble, users } = installation;
  const api = await installation.start();
  const { databaseUrl } = api;
  const db = openDatabase({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 5_000, connectTimeoutMs: 5_000 });
  const rows = (text: string, ...values: unknown[]) => db.query({ text, values });
  afterAll(async () => {
    await db.close();
    await api.stop();
    await installation.stop();
  });
  const send = async (method: string, path: string, body?: object) => api.ask(ADMIN_KEY, path, body, method);
  const certificateOf = async (id = '') =>
    tlsCertificate.view.parse(JSON.parse((await api.ask(ADMIN_KEY, `/tls_certificates/${id}`)).text));
  const eventsOf = async (id: string) =>
    (await rows('select type, actor, revision from events where resource_id = $1 order by id', id)).slice(1);
  /** The job is due now, and its last order and certificate were long ago. */
  const makeDue = (id: string) =>
    rows(
      `with old as (update tls_certificates set issued_at = issued_at - interval '2 days')
       update reserved_domains set certificate_job_due_at = null, certificate_ordered_at = null where id = $1`,
      id,
    );

  test.each([
    ['app.users.example', 'rsa'],
    ['*.wild.users.example', 'ecdsa'],
    ['bücher.users.example', 'ecdsa'],
    ['own.service.example', 'ecdsa'],
  ] as const)('%s gets a certificate with a key of type %s', async (name, type) => {
    const reserved = await reserve(api, name, { private_key_type: type });
    pointToService(installation, reserved);
    const { certificate, certificate_management_status: status } = await untilIssued(api, reserved);
    const { certificate_pem, private_key_type, issued_at } = await certificateOf(certificate?.id);
    const leaf = new X509Certificate(certificate_pem);
    expect(leaf.subjectAltName).toBe(`DNS:${reserved.domain}`);
    expect(private_key_type).toBe(type);
    expect(issued_at).not.toBeNull();
    expect(Date.parse(status?.renews_at ?? '')).toBeLessThan(leaf.validToDate.getTime());
    expect(await eventsOf(reserved.id)).toEqual([
      { type: 'reserved_domain_certificate_issued.v0', actor: 'service', revision: 1 },
    ]);
  });

  test('what is issued serves clients that trust the authority', async () => {
    const reserved = await reserve(api, 'served.users.example', { private_key_type: 'ecdsa' });
    pointToService(installation, reserved);
    const { certificate } = await untilIssued(api, reserved);
    const { certificate_pem: cert } = await certificateOf(certificate?.id);
    const [stored] = await rows('select private_key from tls_certificates where id = $1', certificate?.id);
    const location = { table: 'tls_certificates', id: certificate?.id ?? '', field: 'private_key' };
    const server = createServer({ cert, key: createSecrets(KEYS).open(String(stored?.private_key), location) });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = z.object({ port: z.number() }).parse(server.address());
    const socket = connect({ host: '127.0.0.1', port, servername: reserved.domain, ca: await pebble.root() });
    await once(socket, 'secureConnect');
    expect(socket.authorized).toBe(true);
    socket.destroy();
    server.close();
    // Nothing is left of the order.
    expect(await rows('select 1 from acme_challenges where domain_id = $1', reserved.id)).toEqual([]);
  });

  test('a domain that does not lead to the service gets none until it does', async () => {
    const reserved = await reserve(api, 'lost.users.example');
    const job = await waitFor('the job to fail', async () => {
      const seen = (await domainOf(api, reserved)).certificate_management_status?.provisioning_job;
      return seen?.error_code === 'DNS_ERROR' && seen;
    });
    expect(job.msg).toBe(
      `self-check: lost.users.example has no CNAME record; it needs a CNAME record to ${reserved.cname_target}`,
    );
    expect(Date.parse(job.retries_at ?? '')).toBeGreaterThan(Date.now());
    pointToService(installation, reserved);
    await makeDue(reserved.id);
    await untilIssued(api, reserved);
    expect((await eventsOf(reserved.id)).map(({ type }) => type)).toEqual([
      'reserved_domain_certificate_failed.v0',
      'reserved_domain_certificate_issued.v0',
    ]);
  });

  test('a certificate is renewed when the authority says so; the old one goes, and the revision stays', async () => {
    const reserved = await reserve(api, 'renewed.users.example', { private_key_type: 'ecdsa' });
    pointToService(installation, reserved);
    const { certificate: first } = await untilIssued(api, reserved);
    const { certificate_pem, issued_at } = await certificateOf(first?.id);
    // After the certificate was issued, but long ago once its issue is moved back.
    const start = new Date(Date.parse(issued_at ?? '') - 86_400_000);
    await pebble.setRenewalInfo(certificate_pem, { start, end: new Date(start.getTime() + 1_000) });
    const { certificate: second } = await waitFor('another certificate', async () => {
      const seen = await domainOf(api, reserved);
      // Each time: a step that is under way records what it was told before.
      if (seen.certificate?.id === first?.id) {
        await rows('update reserved_domains set certificate_renewal = null where id = $1', reserved.id);
        await makeDue(reserved.id);
      }
      return (
        seen.certificate?.id !== first?.id && seen.certificate_management_status?.provisioning_job === null && seen
      );
    });
    await deleteUnused({ db, eventBase: '' }, new AbortController().signal);
    expect((await send('GET', `/tls_certificates/${first?.id}`)).status).toBe(404);
    expect((await send('GET', `/tls_certificates/${second?.id}`)).status).toBe(200);
    expect(await eventsOf(reserved.id)).toEqual([
      { type: 'reserved_domain_certificate_issued.v0', actor: 'service', revision: 1 },
      { type: 'reserved_domain_certificate_renewed.v0', actor: 'service', revision: 1 },
    ]);
  });

  test('a policy that is detached ends the job, and leaves the certificate', async () => {
    const reserved = await reserve(api, 'detached.users.example', { private_key_type: 'ecdsa' });
    pointToService(installation, reserved);
    const { certificate } = await untilIssued(api, reserved);
    const path = `/reserved_domains/${reserved.id}`;
    expect((await send('DELETE', `${path}/certificate_management_policy`)).status).toBe(204);
    await makeDue(reserved.id);
    users.set('detached.users.example', undefined);
    const seen = await domainOf(api, reserved);
    expect(seen).toMatchObject({ certificate, certificate_management_status: null });
    // A new policy begins anew.
    await send('DELETE', `${path}/certificate`);
    const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' };
    expect((await send('PATCH', path, { certificate_management_policy: policy })).status).toBe(200);
    await waitFor('the job to look', async () => {
      const job = (await domainOf(api, reserved)).certificate_management_status?.provisioning_job;
      return job?.msg.includes('has no CNAME record');
    });
  });

  test('a conditional read of a domain with a policy sees what has changed by itself', async () => {
    const reserved = await reserve(api, 'seen.service.example', { private_key_type: 'ecdsa' });
    await untilIssued(api, reserved);
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'if-none-match': '"1"' };
    expect((await fetch(`${api.url}/reserved_domains/${reserved.id}`, { headers })).status).toBe(200);
  });

  test.each(['none', '%00', 'a%20b', 'x'.repeat(600)])(
    'the token %s, which is not being validated, is not found',
    async (token) => {
      const { status, text } = await api.ask('', `/.well-known/acme-challenge/${token}`);
      expect({ status, ...JSON.parse(text) }).toMatchObject({ status: 404, error_code: 'NOT_FOUND' });
    },
  );
});
