import { describe, expect, test } from 'vitest';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { createClient } from '../../src/client/client.ts';
import { isNotFound } from '../../src/client/errors.ts';
import { ADMIN_KEY, startTestApi } from '../api/harness.ts';
import { atEnd } from '../end-of-file.ts';

const api = await startTestApi();
const baseUrl = await api.app.listen({ host: '127.0.0.1', port: 0 });
const client = createClient({ baseUrl, apiKey: ADMIN_KEY });
atEnd(() => client.close());

const gone = (call: Promise<unknown>) => expect(call).rejects.toSatisfy(isNotFound);

describe('the client', () => {
  test('knows backends, endpoint configurations and events', async () => {
    const backend = await client.httpResponseBackends.create({ status_code: 503, headers: { 'X-A': 'b' } });
    expect(backend.headers).toEqual({ 'x-a': 'b' });
    const group = await client.tunnelGroupBackends.create({ labels: { app: 'web' } });
    expect((await client.tunnelGroupBackends.get(group.id)).labels).toEqual({ app: 'web' });
    const policy = await client.ipPolicies.create({});
    const configuration = await client.endpointConfigurations.create({ type: 'http', ip_policy_ids: [policy.id] });
    expect(configuration.ip_policies.map(({ id }) => id)).toEqual([policy.id]);

    const target = { webhook: { url: 'https://hooks.example.com' } };
    const destination = await client.eventDestinations.create({ target });
    expect(destination.signing_secret).toMatch(/^whsec_/);
    const sources = [{ type: 'ip_policy_created.v0' }];
    const subscription = await client.eventSubscriptions.create({ sources, destination_ids: [destination.id] });
    expect(subscription.destinations).toEqual([{ id: destination.id, uri: destination.uri }]);
    const ofSubscription = client.eventSources(subscription.id);
    const added = await ofSubscription.create('user_created.v0', { idempotencyKey: 'client' });
    expect(await ofSubscription.get('user_created.v0')).toEqual(added);
    expect((await ofSubscription.list()).map(({ type }) => type)).toEqual(['ip_policy_created.v0', 'user_created.v0']);
    await ofSubscription.delete('user_created.v0');
    await gone(ofSubscription.get('user_created.v0'));
  });

  test('knows reserved domains and what detaches', async () => {
    const { pem, keyPem } = await makeCertificate({ subject: 'CN=client.example.org' });
    const certificate = await client.tlsCertificates.create({ certificate_pem: pem, private_key_pem: keyPem });
    const domain = await client.reservedDomains.create({
      domain: 'Client.example.org',
      certificate_id: certificate.id,
    });
    expect(domain).toMatchObject({ domain: 'client.example.org', certificate: { id: certificate.id } });
    await client.detachCertificate(domain.id);
    const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' } as const;
    const managed = await client.reservedDomains.update(domain.id, { certificate_management_policy: policy });
    expect(managed.certificate_management_status?.provisioning_job?.started_at).toBeNull();
    await client.detachCertificatePolicy(domain.id);
    expect(await client.reservedDomains.get(domain.id)).toMatchObject({
      certificate: null,
      certificate_management_policy: null,
    });
  });

  test('knows edges, routes inside them, and modules', async () => {
    await client.reservedDomains.create({ domain: '*.edges.example.org' });
    const edge = await client.httpsEdges.create({ hostports: ['a.edges.example.org:443'] });
    const routes = client.httpsEdgeRoutes(edge.id);
    for (const match of ['/a', '/b', '/c']) await routes.create({ match, match_type: 'exact_path' });
    const first = await routes.page({ limit: 2 });
    expect(first.items.map(({ match }) => match)).toEqual(['/c', '/b']);
    const rest = await routes.page({ limit: 2, beforeId: first.next });
    const [last] = rest.items;
    expect([last?.match, rest.next]).toEqual(['/a', undefined]);

    const { oidc, oauth } = client.httpsEdgeRouteModules(edge.id, last?.id ?? '');
    const put = await oidc.put({ issuer: 'https://x.example', client_id: 'a', client_secret: 'b' });
    expect(await oidc.get()).toEqual(put);
    const { provider } = await oauth.put({ provider: { github: { teams: ['acme/admins'] } } });
    expect([provider.github?.teams, provider.google]).toEqual([['acme/admins'], null]);
    await oauth.delete();
    await gone(oauth.get());
    expect((await routes.get(last?.id ?? '')).modules).toEqual(['oidc']);

    const tls = await client.tlsEdges.create({ hostports: ['b.edges.example.org:443'] });
    const { backend, ipRestriction, mutualTls } = client.tlsEdgeModules(tls.id);
    const policy = await client.ipPolicies.create({});
    const restriction = await ipRestriction.put({ ip_policy_ids: [policy.id] });
    expect(restriction).toEqual({ enabled: true, ip_policies: [{ id: policy.id, uri: policy.uri }] });
    const group = await client.tunnelGroupBackends.create({ labels: { app: 'tls' } });
    expect((await backend.put({ backend_id: group.id, enabled: false })).backend.id).toBe(group.id);
    await gone(mutualTls.get());
    await client.tlsEdges.delete(tls.id);
    await gone(backend.get());
  });
});
