/** What specs take from elsewhere: other objects' ids, and text from Secrets and ConfigMaps. */
import { describe, expect, test } from 'vitest';
import { tlsSecret } from '../../dev/fixtures/source-texts.ts';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { manifest, ours, POLICIES } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'refs' });
const { client } = stack;

const CONFIGURATIONS = ours('endpointconfigurations');
const BACKENDS = ours('httpresponsebackends');
const EDGES = ours('httpsedges');
const ROUTES = ours('httpsedgeroutes');
const CERTIFICATES = ours('tlscertificates');
const DOMAINS = ours('reserveddomains');

const configMap = (name: string, data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

/** Waits until the condition ReferencesResolved has the reason; returns its message. */
const resolved = (of: ReturnType<typeof ours>, name: string, reason: string) =>
  eventually(async () => {
    const { status } = await stack.see(of, name);
    const found = findCondition(status.conditions ?? [], 'ReferencesResolved');
    expect(found?.reason).toBe(reason);
    return found?.message ?? '';
  });

describe('a reference', () => {
  test('waits for a target that is created later, and follows one that is recreated under the same name', async () => {
    await stack.apply(
      manifest('EndpointConfiguration', 'later', { type: 'http', ipPolicyRefs: [{ name: 'missing' }] }),
    );
    const message = await resolved(CONFIGURATIONS, 'later', 'ReferenceNotFound');
    expect(message).toBe(
      `spec.ipPolicyRefs[0]: IPPolicy ${stack.namespace}/missing does not exist: create it, or correct the reference`,
    );

    await stack.apply(manifest('IPPolicy', 'missing', { rules: [] }));
    const first = await stack.ready(CONFIGURATIONS, 'later');
    expect(await resolved(CONFIGURATIONS, 'later', 'Resolved')).toContain('is there');
    const policy = await stack.see(POLICIES, 'missing');
    const { ip_policies: shown } = await client.endpointConfigurations.get(String(first.status.id));
    expect(shown.map(({ id }) => id)).toEqual([policy.status.id]);

    await stack.remove(POLICIES, 'missing');
    await resolved(CONFIGURATIONS, 'later', 'ReferenceNotFound');
    await stack.apply(manifest('IPPolicy', 'missing', { rules: [] }));
    await stack.ready(CONFIGURATIONS, 'later');
    const { status } = await stack.see(POLICIES, 'missing');
    expect(status.id).not.toBe(policy.status.id);
    const { ip_policies: now } = await client.endpointConfigurations.get(String(first.status.id));
    expect(now.map(({ id }) => id)).toEqual([status.id]);
    await stack.remove(CONFIGURATIONS, 'later');
    await stack.remove(POLICIES, 'missing');
  });

  test('blocks the deletion of its target, which reports that, until the referring object is deleted', async () => {
    await stack.apply(
      manifest('HTTPSEdgeRoute', 'shop', { edgeRef: { name: 'shop' }, match: '/', matchType: 'path_prefix' }),
      manifest('HTTPSEdge', 'shop', {}),
    );
    const { status } = await stack.ready(ROUTES, 'shop');
    const edge = await stack.ready(EDGES, 'shop');
    expect(status.id).toMatch(new RegExp(`^${edge.status.id}/edghtsrt_`));
    await stack.run('delete', EDGES.plural, 'shop', '--wait=false');
    const { ready } = await stack.reason(EDGES, 'shop', 'Ready', 'DeletionBlocked');
    expect(ready?.message).toContain(`HTTPSEdgeRoute ${stack.namespace}/shop refers to this object`);
    await resolved(ROUTES, 'shop', 'ReferenceDeleting');
    await stack.remove(ROUTES, 'shop');
    await eventually(async () => expect(await stack.find(EDGES, 'shop')).toBeUndefined());
    expect(await stack.remoteIds()).toEqual([]);
  });

  test('waits for a target that is not ready itself', async () => {
    const name = 'unready';
    await stack.apply(
      manifest('ReservedDomain', name, { domain: 'unready.example.com', certificateRef: { name } }),
      manifest('TLSCertificate', name, { secretRef: { name } }),
    );
    const message = await resolved(DOMAINS, name, 'ReferenceNotReady');
    expect(message).toBe(
      `spec.certificateRef: TLSCertificate ${stack.namespace}/${name} is not ready yet: its condition Ready says why`,
    );
    const { pem, keyPem } = await makeCertificate({
      ca: false,
      names: [{ type: 'dns', value: 'unready.example.com' }],
    });
    await stack.apply(tlsSecret(name, { chain: pem, key: keyPem }));
    await stack.ready(DOMAINS, name);
    await stack.remove(DOMAINS, name);
    await stack.remove(CERTIFICATES, name);
  });
});

describe('a source', () => {
  test('is waited for, followed when it changes, and reported as missing when it is deleted', async () => {
    const name = 'page';
    await stack.apply(
      manifest('HTTPResponseBackend', name, {
        body: { configMapKeyRef: { name, key: 'html' } },
        headers: { 'Content-Type': { value: 'text/html' } },
      }),
    );
    expect(await resolved(BACKENDS, name, 'SourceNotFound')).toBe(
      `spec.body: ConfigMap ${stack.namespace}/page does not exist: create it, or name another`,
    );
    await stack.apply(configMap(name, { html: 'one' }));
    const { status } = await stack.ready(BACKENDS, name);
    const body = async () => (await client.httpResponseBackends.get(String(status.id))).body;
    expect(await body()).toBe('one');
    await stack.apply(configMap(name, { html: 'two' }));
    await eventually(async () => expect(await body()).toBe('two'));
    await stack.restart(async () => stack.apply(configMap(name, { html: 'three' })));
    await eventually(async () => expect(await body()).toBe('three'));
    await stack.run('delete', 'configmap', name);
    await resolved(BACKENDS, name, 'SourceNotFound');
    expect(await body()).toBe('three');
    await stack.remove(BACKENDS, name);
  });

  test('that the API refuses is named but not quoted', async () => {
    const name = 'header';
    const hidden = 'hidden\nvalue';
    await stack.tryApply({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { auth: hidden } });
    const headers = { 'X-Auth': { secretKeyRef: { name, key: 'auth' } } };
    await stack.apply(manifest('HTTPResponseBackend', name, { headers }));
    const { ready } = await stack.reason(BACKENDS, name, 'Ready', 'Rejected');
    expect(ready?.message).toBe(
      'spec.headers["X-Auth"]: the value of "auth" in Secret header must be printable ASCII without line breaks or surrounding white space',
    );
    await stack.remove(BACKENDS, name);
  });
});
