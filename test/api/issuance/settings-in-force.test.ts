/** Starts the API with each setting of automatic certificates, and checks what that changes. */

import { once } from 'node:events';
import { createServer } from 'node:https';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startUserZone } from '../../../dev/acme/user-zone.ts';
import { startWebServer } from '../../../dev/acme/web-server.ts';
import { makeCertificate } from '../../../dev/fixtures/x509.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { certificateSettings } from '../../../src/api/certificate-settings.ts';
import type { ApiConfig } from '../../../src/api/settings.ts';
import { freePort } from '../../../src/postgres/ports.ts';
import { ask, query } from '../../dns/dns-client.ts';
import { emptyDatabase } from '../harness.ts';
import { type StartedApi, startedApi } from '../started-api.ts';
import { ADMIN_KEY, domainOf, reserve } from './installation.ts';

const jws = z.object({ protected: z.string(), payload: z.string(), signature: z.string() });
const decoded = (text: string) =>
  z.record(z.string(), z.unknown()).parse(JSON.parse(Buffer.from(text, 'base64url').toString()));

/** An authority that accepts every account, refuses every order, and shows what it was asked for. */
async function startRecorder() {
  const asked: { path: string; payload: Record<string, unknown> }[] = [];
  const server = await startWebServer(async (incoming, outgoing) => {
    const path = incoming.url ?? '';
    const at = (to: string) => `${server.url}${to}`;
    outgoing.setHeader('replay-nonce', 'n');
    if (path === '/dir')
      return outgoing.end(
        JSON.stringify({ newNonce: at('/nonce'), newAccount: at('/account'), newOrder: at('/order') }),
      );
    if (path === '/nonce') return outgoing.end();
    const chunks = await Array.fromAsync(incoming);
    asked.push({ path, payload: decoded(jws.parse(JSON.parse(Buffer.concat(chunks).toString())).payload) });
    if (path === '/account') return outgoing.writeHead(201, { location: at('/account/1') }).end('{}');
    return outgoing.writeHead(500).end(JSON.stringify({ detail: 'refused by the test' }));
  });
  onTestFinished(server.stop);
  const payloadOf = (path: string) =>
    waitFor(`a request to ${path}`, () => asked.find((each) => each.path === path)?.payload);
  return { url: `${server.url}/dir`, payloadOf };
}

async function running(settings: Partial<ApiConfig>): Promise<StartedApi> {
  const api = await startedApi({
    ...{ databaseUrl: await emptyDatabase(), bootstrapApiKey: ADMIN_KEY, serviceDomains: ['service.example'] },
    encryptionKey: [{ id: 'a', bytes: Buffer.alloc(32, 1) }],
    acmeSelfCheck: false,
    ...settings,
  });
  onTestFinished(api.stop);
  return api;
}

/** The message of the job of a new domain, once it has failed. */
async function failureOf(api: StartedApi, domain = 'app.example.com'): Promise<string> {
  const reserved = await reserve(api, domain);
  return waitFor('the job to fail', async () => {
    const job = (await domainOf(api, reserved)).certificate_management_status?.provisioning_job;
    return job?.error_code ? job.msg : undefined;
  });
}

/** The payload of a request that a job makes with these settings. */
async function askedWith(settings: Partial<ApiConfig>, path: string) {
  const { url, payloadOf } = await startRecorder();
  await reserve(await running({ acmeDirectoryUrl: url, ...settings }), 'app.example.com');
  return payloadOf(path);
}

const refused = (settings: Partial<ApiConfig>) => expect(running(settings)).rejects;
const external = { acmeExternalKeyId: 'kid-1', acmeExternalHmacKey: 'aGVsbG8gd29ybGQhISEh' };

const PROOFS: { readonly [name in keyof typeof certificateSettings]: () => Promise<unknown> } = {
  async certificateIssuance() {
    const { url } = await startRecorder();
    const api = await running({ acmeDirectoryUrl: url, certificateIssuance: false });
    const reserved = await reserve(api, 'app.example.com');
    // Another process finds it.
    await running({ databaseUrl: api.databaseUrl, acmeDirectoryUrl: url });
    await waitFor('the job to fail', async () => {
      const job = (await domainOf(api, reserved)).certificate_management_status?.provisioning_job;
      return job?.msg.includes('refused by the test');
    });
    expect(api.logs.join()).not.toContain('a certificate could not be issued');
  },
  async acmeDirectoryUrl() {
    const { certificate_management_status: waits } = await reserve(await running({}), 'app.example.com');
    expect(waits?.provisioning_job?.msg).toContain('ACME_DIRECTORY_URL is not set');
    const { url } = await startRecorder();
    expect(await failureOf(await running({ acmeDirectoryUrl: url }))).toBe('refused by the test');
  },
  async acmeContacts() {
    const { contact } = await askedWith({ acmeContacts: ['mailto:ops@example.com'] }, '/account');
    expect(contact).toEqual(['mailto:ops@example.com']);
  },
  async acmeExternalKeyId() {
    const binding = jws.parse((await askedWith(external, '/account')).externalAccountBinding);
    expect(decoded(binding.protected)).toMatchObject({ alg: 'HS256', kid: 'kid-1' });
    await refused({ acmeDirectoryUrl: 'http://127.0.0.1:1', acmeExternalKeyId: 'kid-1' }).toThrow(
      /^ACME_EXTERNAL_HMAC_KEY/,
    );
  },
  acmeExternalHmacKey: () =>
    refused({ acmeDirectoryUrl: 'http://127.0.0.1:1', acmeExternalHmacKey: external.acmeExternalHmacKey }).toThrow(
      /^ACME_EXTERNAL_KEY_ID/,
    ),
  async acmeProfile() {
    expect(await askedWith({ acmeProfile: 'shortlived' }, '/order')).toMatchObject({ profile: 'shortlived' });
  },
  async acmeTrustedCertificates() {
    const names = [{ type: 'dns', value: 'localhost' }] as const;
    const { pem, keyPem } = await makeCertificate({ subject: 'CN=localhost', names: [...names] });
    const server = createServer({ cert: pem, key: keyPem }, (_, outgoing) => outgoing.writeHead(418).end());
    await once(server.listen(0, 'localhost'), 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const acmeDirectoryUrl = `https://localhost:${typeof address === 'object' ? address?.port : ''}/`;
    expect(await failureOf(await running({ acmeDirectoryUrl, acmeTrustedCertificates: pem }))).toContain('status 418');
    expect(await failureOf(await running({ acmeDirectoryUrl }))).toContain('self-signed certificate');
  },
  async acmeSelfCheck() {
    const zone = await startUserZone('example.com');
    onTestFinished(zone.stop);
    const settings = { acmeDirectoryUrl: 'http://127.0.0.1:1', acmeResolvers: [`127.0.0.1:${zone.port}`] };
    const wanted =
      /^self-check: app.example.com has no CNAME record; it needs a CNAME record to \w+\.cname\.service\.example$/;
    expect(await failureOf(await running({ ...settings, acmeSelfCheck: true }))).toMatch(wanted);
    expect(await failureOf(await running({ ...settings, acmeSelfCheck: false }))).toContain('ECONNREFUSED');
  },
  async acmeResolvers() {
    const settings = { acmeDirectoryUrl: 'http://127.0.0.1:1', acmeSelfCheck: true };
    const said = await failureOf(await running({ ...settings, acmeResolvers: ['127.0.0.1:1'] }));
    expect(said).toBe('the self-check could not look up CNAME of app.example.com: ECONNREFUSED');
  },
  async acmeNameServers() {
    const { url } = await startRecorder();
    const without = await failureOf(await running({ acmeDirectoryUrl: url }), '*.example.com');
    expect(without).toContain('ACME_DNS_NAMESERVERS');
    const names = ['ns1.example.net'] as [string];
    const api = await running({ acmeDirectoryUrl: url, acmeNameServers: names });
    expect(await failureOf(api, '*.example.com')).toBe('refused by the test');
    await refused({ acmeDnsPort: 0 }).toThrow(/^ACME_DNS_PORT needs ACME_DNS_NAMESERVERS/);
    const inside = ['ns1.acme.service.example'] as [string];
    await refused({ acmeDnsPort: 0, acmeNameServers: inside }).toThrow(/must lie outside of acme.service.example/);
  },
  async acmeDnsPort() {
    const acmeDnsPort = await freePort();
    await running({ acmeDnsPort, acmeNameServers: ['ns1.example.net'] });
    const { answers } = await ask(query('acme.service.example', 'NS'), acmeDnsPort, 'udp');
    expect(answers).toMatchObject([{ type: 'NS', data: 'ns1.example.net' }]);
  },
  acmeDnsHost: () =>
    refused({ acmeDnsPort: 1, acmeDnsHost: '192.0.2.1', acmeNameServers: ['ns1.example.net'] }).toThrow(
      /^ACME_DNS_HOST: "192.0.2.1" is not an address of this machine/,
    ),
};

describe('settings of automatic certificates', () => {
  test.each(Object.entries(PROOFS))('%s takes effect', async (_, proof) => {
    await proof();
  });
});
