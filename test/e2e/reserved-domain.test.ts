/** Reserved domains: their records in the DNS, and the state of their certificates. */
import { afterAll, expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { kubectl } from '../harness.ts';
import { DNS_ENDPOINTS, dnsEndpointCrd } from './foreign-crds.ts';
import { manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const crd = dnsEndpointCrd({
  'x-kubernetes-validations': [{ rule: "self.metadata.name != 'refused'", message: 'not this one' }],
});
afterAll(() => kubectl(['delete', 'crd', crd.metadata.name, '--ignore-not-found']));
const stack = await startStack({ prefix: 'domains', operators: 0 });
expect(await kubectl(['apply', '-f', '-'], { input: JSON.stringify(crd) })).toMatchObject({ code: 0 });
await kubectl(['wait', '--for=condition=Established', '--timeout=30s', `crd/${crd.metadata.name}`]);
await stack.operate();

const DOMAINS = ours('reserveddomains');
const domain = (name: string, spec: object = {}, annotations = {}) =>
  manifest('ReservedDomain', name, { domain: `${name}.example.net`, ...spec }, annotations);
const publish = { dns: { publish: true } };
const condition = async (name: string, type: string) =>
  findCondition((await stack.see(DOMAINS, name)).status.conditions ?? [], type);
const isPublished = (name: string) =>
  eventually(async () => {
    expect(await condition(name, 'DNSPublished')).toMatchObject({ status: 'True', reason: 'Published' });
  });
const endpoint = (name: string) => stack.find(DNS_ENDPOINTS, name);

test('a reserved domain shows the DNS records that it needs, and that they are not checked', async () => {
  await stack.apply(domain('shop', { domain: '*.shop.example.net' }));
  const { status } = await stack.ready(DOMAINS, 'shop');
  const { cname_target: target } = await stack.client.reservedDomains.get(String(status.id));
  expect(status.dnsRecords).toContainEqual({ name: '*.shop.example.net', type: 'CNAME', target });
  expect(await condition('shop', 'CertificateReady')).toMatchObject({ status: 'False', reason: 'NotRequested' });
  expect(await condition('shop', 'DNSConfigured')).toMatchObject({ status: 'Unknown', reason: 'NotChecked' });
  expect((await stack.run('get', 'rdom', 'shop')).stdout).toContain(String(target));
  expect(await condition('shop', 'DNSPublished')).toBeUndefined();
  await stack.remove(DOMAINS, 'shop');
});

test('a reserved domain shows the progress of its automatic certificate', async () => {
  const certificateManagementPolicy = { authority: 'letsencrypt', privateKeyType: 'rsa' };
  await stack.apply(domain('auto', { certificateManagementPolicy }));
  const { status } = await stack.ready(DOMAINS, 'auto');
  expect(await condition('auto', 'CertificateReady')).toMatchObject({ status: 'False', reason: 'Pending' });

  const goesOn = async (to: object) => {
    await stack.sql('update reserved_domains set certificate_management_status = $1 where id = $2', [to, status.id]);
    return (await stack.reconciled(DOMAINS, 'auto')).status.certificateManagementStatus;
  };
  const job = { error_code: 'DNS_ERROR', msg: 'auto.example.net has no CNAME', started_at: null, retries_at: null };
  const failed = { provisioningJob: { errorCode: job.error_code, msg: job.msg } };
  expect(await goesOn({ renews_at: null, provisioning_job: job })).toEqual(failed);
  for (const type of ['CertificateReady', 'DNSConfigured'])
    expect(await condition('auto', type)).toMatchObject({ status: 'False', reason: 'DNSError', message: job.msg });
  // Without a certificate, whatever was to be renewed.
  const renews_at = '2040-01-01T00:00:00.000Z';
  expect(await goesOn({ renews_at, provisioning_job: null })).toEqual({ renewsAt: renews_at });
  expect(await condition('auto', 'CertificateReady')).toMatchObject({ status: 'False', reason: 'Pending' });
  await stack.remove(DOMAINS, 'auto');
});

test('a reserved domain publishes its records to ExternalDNS while dns.publish is set', async () => {
  await stack.apply(domain('www', publish));
  await isPublished('www');
  const { status } = await stack.see(DOMAINS, 'www');
  const { cname_target: target } = await stack.client.reservedDomains.get(String(status.id));
  const written = await endpoint('www');
  expect(written?.spec).toEqual({
    endpoints: [{ dnsName: 'www.example.net', recordType: 'CNAME', targets: [target] }],
  });
  expect(written?.metadata.ownerReferences).toMatchObject([{ kind: 'ReservedDomain', name: 'www', controller: true }]);

  await stack.apply(domain('www', { ...publish, managementPolicy: 'Observe' }));
  await stack.ready(DOMAINS, 'www');
  expect(await condition('www', 'DNSPublished')).toBeUndefined();
  expect((await endpoint('www'))?.spec).toEqual(written?.spec);
  await stack.apply(domain('www'));
  await eventually(async () => {
    expect(await endpoint('www')).toBeUndefined();
    expect(await condition('www', 'DNSPublished')).toBeUndefined();
  });
  await stack.remove(DOMAINS, 'www');
});

test('a reserved domain leaves a DNSEndpoint alone that is not its own', async () => {
  const theirs = { apiVersion: 'externaldns.k8s.io/v1alpha1', kind: 'DNSEndpoint', metadata: { name: 'taken' } };
  expect(await stack.tryApply({ ...theirs, spec: { endpoints: [] } })).toMatchObject({ code: 0 });
  await stack.apply(domain('taken', publish));
  await eventually(async () => {
    const found = await condition('taken', 'DNSPublished');
    expect(found).toMatchObject({ status: 'False', reason: 'PublishConflict' });
    expect(found?.message).toContain('DNSEndpoint taken exists and does not belong to this object');
  });
  expect((await endpoint('taken'))?.spec).toEqual({ endpoints: [] });
  // The operator notices that the remedy was carried out.
  await stack.run('delete', 'dnsendpoint', 'taken');
  await isPublished('taken');
  await stack.remove(DOMAINS, 'taken');
});

test('a reserved domain restores its DNSEndpoint after an edit or deletion', async () => {
  await stack.apply(domain('kept', publish));
  await isPublished('kept');
  const written = (await endpoint('kept'))?.spec;
  await stack.run('patch', 'dnsendpoint', 'kept', '--type=merge', '--patch={"spec":{"endpoints":[]}}');
  await eventually(async () => expect((await endpoint('kept'))?.spec).toEqual(written));
  await stack.run('delete', 'dnsendpoint', 'kept');
  await eventually(async () => expect((await endpoint('kept'))?.spec).toEqual(written));
  await stack.remove(DOMAINS, 'kept');
});

test('a reserved domain with Retain leaves its DNSEndpoint behind, and takes it over when adopted', async () => {
  await stack.apply(domain('retained', { ...publish, deletionPolicy: 'Retain' }));
  await isPublished('retained');
  const { status } = await stack.see(DOMAINS, 'retained');
  const written = await endpoint('retained');
  await stack.remove(DOMAINS, 'retained');
  const kept = await endpoint('retained');
  expect(kept?.spec).toEqual(written?.spec);
  // With an owner reference, Kubernetes would collect it as garbage.
  expect(kept?.metadata.ownerReferences).toBeUndefined();

  await stack.apply(domain('retained', publish, { [ANNOTATION.adopt]: String(status.id) }));
  await isPublished('retained');
  expect((await endpoint('retained'))?.metadata).toMatchObject({
    uid: kept?.metadata.uid,
    ownerReferences: [{ kind: 'ReservedDomain', name: 'retained' }],
  });
  await stack.remove(DOMAINS, 'retained');
});

test('a reserved domain is Ready even if its DNSEndpoint is refused, and reports that', async () => {
  await stack.apply(domain('refused', publish));
  await stack.ready(DOMAINS, 'refused');
  const found = await condition('refused', 'DNSPublished');
  expect(found).toMatchObject({ status: 'False', reason: 'PublishRefused' });
  expect(found?.message).toContain('not this one');
  await stack.remove(DOMAINS, 'refused');
});
