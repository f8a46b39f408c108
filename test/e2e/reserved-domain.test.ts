/** Reserved domains: what they need in the DNS, and what is known of their certificates. */
import { afterAll, expect, test } from 'vitest';
import { GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { kubectl } from '../harness.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'domains' });
const DOMAINS = { group: GROUP, version: VERSION, plural: 'reserveddomains' };
const ENDPOINTS = { group: 'externaldns.k8s.io', version: 'v1alpha1', plural: 'dnsendpoints' };

const domain = (name: string, spec: object) => ({
  apiVersion: `${GROUP}/${VERSION}`,
  kind: 'ReservedDomain',
  metadata: { name },
  spec,
});
const condition = async (name: string, type: string) =>
  findCondition((await stack.see(DOMAINS, name)).status.conditions ?? [], type);

/** The part of ExternalDNS's CRD that matters here. */
const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'dnsendpoints.externaldns.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/external-dns/pull/2007' },
  },
  spec: {
    group: ENDPOINTS.group,
    scope: 'Namespaced',
    names: { kind: 'DNSEndpoint', listKind: 'DNSEndpointList', plural: 'dnsendpoints', singular: 'dnsendpoint' },
    versions: [
      {
        name: ENDPOINTS.version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
const remove = () => kubectl(['delete', 'crd', crd.metadata.name, '--ignore-not-found']);
afterAll(remove);

test('shows the records that it needs, and that nobody has checked them', async () => {
  await stack.apply(domain('shop', { domain: '*.shop.example.net' }));
  const { status } = await stack.ready(DOMAINS, 'shop');
  const { cname_target: target } = await stack.client.reservedDomains.get(String(status.id));
  expect(status.dnsRecords).toContainEqual({ name: '*.shop.example.net', type: 'CNAME', target });
  expect(await condition('shop', 'CertificateReady')).toMatchObject({ status: 'False', reason: 'NotRequested' });
  expect(await condition('shop', 'DNSConfigured')).toMatchObject({ status: 'Unknown', reason: 'NotChecked' });
  const { stdout } = await stack.run('get', 'rdom', 'shop');
  expect(stdout).toContain(String(target));
  expect(await condition('shop', 'DNSPublished')).toBeUndefined();
  await stack.remove(DOMAINS, 'shop');
});

test('publishes them to ExternalDNS when it is asked to, if the cluster has that', async () => {
  await remove();
  const published = domain('www', { domain: 'www.example.net', dns: { publish: true } });
  await stack.apply(published);
  await eventually(async () => {
    expect(await condition('www', 'DNSPublished')).toMatchObject({ status: 'False', reason: 'KindNotInstalled' });
  });
  await stack.ready(DOMAINS, 'www');

  expect(await kubectl(['apply', '-f', '-'], { input: JSON.stringify(crd) })).toMatchObject({ code: 0 });
  await kubectl(['wait', '--for=condition=Established', '--timeout=30s', `crd/${crd.metadata.name}`]);
  // Noticed without anything having happened to the object.
  const { status } = await stack.see(DOMAINS, 'www');
  const { cname_target: target } = await stack.client.reservedDomains.get(String(status.id));
  const written = await eventually(async () => {
    const found = await stack.find(ENDPOINTS, 'www');
    expect(found).toBeDefined();
    return found;
  }, 60_000);
  expect(written?.spec).toEqual({
    endpoints: [{ dnsName: 'www.example.net', recordType: 'CNAME', targets: [target] }],
  });
  expect(written?.metadata.ownerReferences).toMatchObject([{ kind: 'ReservedDomain', name: 'www', controller: true }]);
  await eventually(async () => {
    expect(await condition('www', 'DNSPublished')).toMatchObject({ status: 'True', reason: 'Published' });
  });

  await stack.apply(domain('www', { domain: 'www.example.net' }));
  await eventually(async () => {
    expect(await stack.find(ENDPOINTS, 'www')).toBeUndefined();
    expect(await condition('www', 'DNSPublished')).toMatchObject({ status: 'False', reason: 'NotPublished' });
  });
  // Once it is gone, nobody looks for it any more.
  const asked = () => stack.metric('rest_client_requests_total', { method: 'GET' });
  const before = await asked();
  await stack.reconciled(DOMAINS, 'www');
  expect(await asked()).toBe(before);
  await stack.remove(DOMAINS, 'www');
});

test('leaves a DNSEndpoint alone that is not its own', async () => {
  const theirs = { apiVersion: 'externaldns.k8s.io/v1alpha1', kind: 'DNSEndpoint', metadata: { name: 'taken' } };
  expect(await stack.tryApply({ ...theirs, spec: { endpoints: [] } })).toMatchObject({ code: 0 });
  await stack.apply(domain('taken', { domain: 'taken.example.net', dns: { publish: true } }));
  await eventually(async () => {
    const found = await condition('taken', 'DNSPublished');
    expect(found).toMatchObject({ status: 'False', reason: 'PublishConflict' });
    expect(found?.message).toContain('DNSEndpoint taken exists and does not belong to this object');
  });
  await stack.remove(DOMAINS, 'taken');
  expect((await stack.find(ENDPOINTS, 'taken'))?.spec).toEqual({ endpoints: [] });
});
