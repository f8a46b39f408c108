/** Private keys and client secrets exist only sealed, in their columns, whether or not a request succeeds. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { createSecrets } from '../../../src/api/secrets/sealing.ts';
import { dumpOf } from '../dump.ts';
import { startTestApi } from '../harness.ts';

const withId = z.looseObject({ id: z.string(), public_key: z.string().optional() });
const { pem, keyPem } = await makeCertificate({});
const CERTIFICATE = { certificate_pem: pem, private_key_pem: keyPem };
const OIDC = { issuer: 'https://accounts.example.com', client_id: 'my-id', client_secret: 'hush-5a0e-secret' };
const GITHUB = { client_id: 'my-id', client_secret: 'hush-1c44-secret' };
const SIGNING_SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const TARGET = { webhook: { url: 'https://hooks.example.com/' } };

test('no secret appears unsealed in the database or in the log', async () => {
  const keyring = createSecrets([{ id: 'k', bytes: Buffer.alloc(32, 1) }]);
  const opened: string[] = [];
  // The service generates the keys of SSH certificate authorities, so the test sees them only as they are sealed.
  const secrets = {
    ...keyring,
    seal(secret: string, ...location: [Parameters<typeof keyring.seal>[1]]) {
      opened.push(secret);
      return keyring.seal(secret, ...location);
    },
  };
  const { admin, rows, logs } = await startTestApi({ secrets });
  const under = { 'idempotency-key': 'k' };
  const authority = (await admin.post('/ssh_certificate_authorities', {}, under)).as(withId);
  const host = { ssh_certificate_authority_id: authority.id, public_key: authority.public_key };
  const edge = (await admin.post('/edges/https', {})).as(withId).id;
  const route = await admin.post(`/edges/https/${edge}/routes`, { match: '/', match_type: 'path_prefix' });
  const modules = `/edges/https/${edge}/routes/${route.as(withId).id}`;
  async function write(isBroken: boolean) {
    const replies = [
      await admin.post('/tls_certificates', CERTIFICATE),
      await admin.post('/ssh_host_certificates', host),
      await admin.post('/event_destinations', { target: TARGET, signing_secret: SIGNING_SECRET }),
      await admin.put(`${modules}/oidc`, { ...OIDC, enabled: isBroken }),
      await admin.put(`${modules}/oauth`, { enabled: isBroken, provider: { github: GITHUB } }),
    ];
    for (const { status } of replies) expect(status >= 500).toBe(isBroken);
  }
  await write(false);
  await admin.put(`${modules}/oidc`, { ...OIDC, issuer: 'http://wrong.example' });
  await admin.put(`${modules}/oauth`, { provider: { github: { ...GITHUB, scopes: 'wrong' } } });
  await admin.post('/tls_certificates', { ...CERTIFICATE, certificate_pem: 'wrong' });
  await rows('alter table events add constraint broken check (false) not valid');
  await write(true);

  const { events } = (await admin.get('/events')).as(z.object({ events: z.array(withId) }));
  const shown = await Promise.all(events.map(async ({ id }) => (await admin.get(`/events/${id}`)).text));
  const stored = [...(await dumpOf({ rows })).values()].join('\n');
  const everything = stored + shown.join('\n') + logs.join('\n');
  expect(everything).toContain('https_edge_route_oauth_created.v0');
  expect(everything).toContain(authority.id);
  const lines = opened.flatMap((text) => text.split('\n').filter((line) => line.length > 40));
  expect(lines.length).toBeGreaterThan(4);
  for (const secret of [...lines, OIDC.client_secret, GITHUB.client_secret, SIGNING_SECRET]) {
    expect(everything).not.toContain(secret);
  }
});

test('a service without an encryption key stores no secrets, and names the missing setting', async () => {
  const { admin, rows } = await startTestApi({ secrets: createSecrets(undefined) });
  const { error } = await admin.post('/tls_certificates', CERTIFICATE);
  expect(error).toMatchObject({ error_code: 'UNAVAILABLE', msg: expect.stringMatching(/ENCRYPTION_KEY/) });
  expect(await rows('select 1 from tls_certificates')).toEqual([]);
  const edge = (await admin.post('/edges/https', {})).as(withId).id;
  const route = await admin.post(`/edges/https/${edge}/routes`, { match: '/', match_type: 'path_prefix' });
  const path = `/edges/https/${edge}/routes/${route.as(withId).id}/oidc`;
  expect((await admin.put(path, OIDC)).error.error_code).toBe('UNAVAILABLE');
  expect((await admin.get(path)).status).toBe(404);
});
