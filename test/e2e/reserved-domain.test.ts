/** Reserved domains: what they need in the DNS, and what is known of their certificates. */
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { kubectl } from '../harness.ts';
import { DNS_ENDPOINTS, dnsEndpointCrd } from './foreign-crds.ts';
import { eventually, startStack } from './stack.ts';

// Less than the API server waits for a webhook that says nothing.
const stack = await startStack({ prefix: 'domains', settings: { kubeTimeoutMs: 5_000 } });
const DOMAINS = { group: GROUP, version: VERSION, plural: 'reserveddomains' };

const domain = (name: string, spec: object) => ({
  apiVersion: `${GROUP}/${VERSION}`,
  kind: 'ReservedDomain',
  metadata: { name },
  spec,
});
/** Longer than it takes until the watch has told what was just written. */
const settle = () => delay(500);
const condition = async (name: string, type: string) =>
  findCondition((await stack.see(DOMAINS, name)).status.conditions ?? [], type);

const published = (name: string) =>
  eventually(async () => {
    expect(await condition(name, 'DNSPublished')).toMatchObject({ status: 'True', reason: 'Published' });
  });

const crd = dnsEndpointCrd({
  'x-kubernetes-validations': [{ rule: "self.metadata.name != 'refused'", message: 'not this one' }],
});
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

test('says how far its automatic certificate is, as the job goes on', async () => {
  const certificateManagementPolicy = { authority: 'letsencrypt', privateKeyType: 'rsa' };
  await stack.apply(domain('auto', { domain: 'auto.example.net', certificateManagementPolicy }));
  const { status } = await stack.ready(DOMAINS, 'auto');
  /** Nothing else than the job's own time has the operator look. */
  const goesOn = (to: object) =>
    stack.sql('update reserved_domains set certificate_management_status = $1 where id = $2', [to, status.id]);
  const job = { error_code: 'DNS_ERROR', msg: 'auto.example.net has no CNAME', started_at: null, retries_at: null };
  const says = (type: string, expected: object) =>
    eventually(async () => expect(await condition('auto', type)).toMatchObject(expected));

  await says('CertificateReady', { status: 'False', reason: 'Pending', message: 'waiting to be started' });
  await goesOn({ renews_at: null, provisioning_job: job });
  await says('CertificateReady', { status: 'False', reason: 'DNSError', message: job.msg });
  const shown = async () => (await stack.see(DOMAINS, 'auto')).status.certificateManagementStatus;
  expect(await shown()).toEqual({ provisioningJob: { errorCode: job.error_code, msg: job.msg } });
  await says('DNSConfigured', { status: 'False', reason: 'DNSError', message: job.msg });
  await goesOn({ renews_at: '2040-01-01T00:00:00.000Z', provisioning_job: null });
  await says('CertificateReady', { status: 'True', reason: 'Issued' });
  await says('DNSConfigured', { status: 'True', reason: 'Checked' });
  expect(await shown()).toEqual({ renewsAt: '2040-01-01T00:00:00.000Z' });
  // Another version of the object, for which there is nothing to do.
  const reconciles = () => stack.metric('controller_runtime_reconcile_total', { controller: 'ReservedDomain' });
  const patches = () => stack.metric('rest_client_requests_total', { method: 'PATCH' });
  const before = [await reconciles(), await patches()];
  await stack.run('label', 'rdom', 'auto', 'touched=yes');
  await eventually(async () => expect(await reconciles()).toBeGreaterThan(before[0] ?? 0));
  expect(await patches()).toBe(before[1]);
  await stack.remove(DOMAINS, 'auto');
});

test('publishes them to ExternalDNS when it is asked to, if the cluster has that', { timeout: 120_000 }, async () => {
  await remove();
  const asked = domain('www', { domain: 'www.example.net', dns: { publish: true } });
  await stack.apply(asked);
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
    const found = await stack.find(DNS_ENDPOINTS, 'www');
    expect(found).toMatchObject({ metadata: { name: 'www' } });
    return found;
  }, 60_000);
  expect(written?.spec).toEqual({
    endpoints: [{ dnsName: 'www.example.net', recordType: 'CNAME', targets: [target] }],
  });
  expect(written?.metadata.ownerReferences).toMatchObject([{ kind: 'ReservedDomain', name: 'www', controller: true }]);
  await published('www');

  // While the domain is only observed, nobody looks after what was written for it.
  await stack.apply(domain('www', { ...asked.spec, managementPolicy: 'Observe' }));
  await stack.ready(DOMAINS, 'www');
  expect(await condition('www', 'DNSPublished')).toBeUndefined();
  expect((await stack.find(DNS_ENDPOINTS, 'www'))?.spec).toEqual(written?.spec);
  await stack.apply(domain('www', { domain: 'www.example.net' }));
  await eventually(async () => {
    expect(await stack.find(DNS_ENDPOINTS, 'www')).toBeUndefined();
    expect(await condition('www', 'DNSPublished')).toBeUndefined();
  });
  // Once it is gone, nobody looks for it any more.
  const requests = () => stack.metric('rest_client_requests_total', { method: 'GET' });
  await eventually(async () => {
    const before = await requests();
    await stack.reconciled(DOMAINS, 'www');
    expect(await requests()).toBe(before);
  });
  await stack.apply(domain('www', { domain: 'www.example.net', description: 'changed' }));
  await stack.ready(DOMAINS, 'www');
  await stack.remove(DOMAINS, 'www');
});

test.each([
  ['fails', 'failing', 'failed calling webhook "failing.example.com"'],
  ['hangs', 'hanging', 'POST /apis/externaldns.k8s.io/'],
])('is Ready although the cluster %s at every DNSEndpoint', async (_, what, says) => {
  const name = `${what}-${stack.namespace}`;
  let calls = 0;
  const server = createServer((socket) => {
    calls++;
    socket.on('error', () => {});
    if (what === 'failing') socket.destroy();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const webhook = {
    name: `${what}.example.com`,
    timeoutSeconds: 30,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    clientConfig: { url: `https://127.0.0.1:${port}/` },
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': stack.namespace } },
    rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE'], resources: ['dnsendpoints'] }],
  };
  const kind = 'ValidatingWebhookConfiguration';
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name },
    webhooks: [webhook],
  };
  expect(await kubectl(['apply', '-f', '-'], { input: JSON.stringify(configuration) })).toMatchObject({ code: 0 });
  try {
    const any = { apiVersion: 'externaldns.k8s.io/v1alpha1', kind: 'DNSEndpoint', metadata: { name: 'any' } };
    await eventually(async () => {
      await stack.tryApply({ ...any, spec: { endpoints: [] } }, '--dry-run=server', '--request-timeout=2s');
      expect(calls).toBeGreaterThan(0);
    });
    await stack.apply(domain(what, { domain: `${what}.example.net`, dns: { publish: true } }));
    await stack.ready(DOMAINS, what);
    const found = await condition(what, 'DNSPublished');
    expect(found).toMatchObject({ status: 'False', reason: 'PublishRefused' });
    expect(found?.message).toContain(says);
  } finally {
    await kubectl(['delete', kind, name]);
    server.close();
  }
  await eventually(async () => {
    await stack.reconciled(DOMAINS, what);
    expect(await condition(what, 'DNSPublished')).toMatchObject({ status: 'True' });
  });
  await stack.remove(DOMAINS, what);
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
  expect((await stack.find(DNS_ENDPOINTS, 'taken'))?.spec).toEqual({ endpoints: [] });
  // The remedy that the condition names is noticed.
  await stack.run('delete', 'dnsendpoint', 'taken');
  await published('taken');
  await stack.remove(DOMAINS, 'taken');
});

test('writes its DNSEndpoint again that somebody has edited or deleted', async () => {
  await stack.apply(domain('kept', { domain: 'kept.example.net', dns: { publish: true } }));
  await published('kept');
  const written = (await stack.find(DNS_ENDPOINTS, 'kept'))?.spec;
  await stack.run('patch', 'dnsendpoint', 'kept', '--type=merge', '--patch={"spec":{"endpoints":[]}}');
  await eventually(async () => expect((await stack.find(DNS_ENDPOINTS, 'kept'))?.spec).toEqual(written));
  await settle();
  await stack.run('delete', 'dnsendpoint', 'kept');
  await eventually(async () => expect((await stack.find(DNS_ENDPOINTS, 'kept'))?.spec).toEqual(written));
});

test('takes back a DNSEndpoint that no status tells of', async () => {
  // As after a crash between the two, or a change of the spec.
  await stack.run('annotate', 'rdom', 'kept', 'tunnel-operator.dev/paused=true');
  const { status } = await stack.see(DOMAINS, 'kept');
  const conditions = status.conditions?.filter(({ type }) => type !== 'DNSPublished');
  const wiped = JSON.stringify({ status: { conditions } });
  await stack.run('patch', 'rdom', 'kept', '--subresource=status', '--type=merge', `--patch=${wiped}`);
  await stack.run('patch', 'rdom', 'kept', '--type=merge', '--patch={"spec":{"dns":{"publish":false}}}');
  await stack.run('annotate', 'rdom', 'kept', 'tunnel-operator.dev/paused-');
  await eventually(async () => expect(await stack.find(DNS_ENDPOINTS, 'kept')).toBeUndefined());
  await stack.remove(DOMAINS, 'kept');
});

test('is left at rest by a restart if it has no DNSEndpoint', async () => {
  await stack.apply(
    domain('plain', { domain: 'plain.example.net' }),
    domain('beside', { domain: 'beside.example.net', dns: { publish: true } }),
  );
  await Promise.all([stack.ready(DOMAINS, 'plain'), published('beside')]);
  await settle();
  await stack.restart(async () => void stack.logs.splice(0));
  const reconciled = (name: string) =>
    stack.logs.some((line) => line.includes('"reconciled"') && line.includes(`/${name}"`));
  await eventually(async () => expect(reconciled('beside')).toBe(true));
  await settle();
  expect(reconciled('plain')).toBe(false);
  await stack.remove(DOMAINS, 'beside');
  await stack.remove(DOMAINS, 'plain');
});

test('leaves its DNSEndpoint to the domain that Retain keeps, also if that is managed again', async () => {
  const spec = { domain: 'retained.example.net', dns: { publish: true }, deletionPolicy: 'Retain' };
  await stack.apply(domain('retained', spec));
  await published('retained');
  const { status } = await stack.see(DOMAINS, 'retained');
  const written = await stack.find(DNS_ENDPOINTS, 'retained');
  await stack.remove(DOMAINS, 'retained');
  const kept = await stack.find(DNS_ENDPOINTS, 'retained');
  expect(kept?.spec).toEqual(written?.spec);
  // By which Kubernetes would collect it.
  expect(kept?.metadata.ownerReferences).toBeUndefined();

  const again = domain('retained', { ...spec, deletionPolicy: 'Delete' });
  const annotations = { 'tunnel-operator.dev/adopt': String(status.id) };
  await stack.apply({ ...again, metadata: { ...again.metadata, annotations } });
  await published('retained');
  expect((await stack.find(DNS_ENDPOINTS, 'retained'))?.metadata).toMatchObject({
    uid: kept?.metadata.uid,
    ownerReferences: [{ kind: 'ReservedDomain', name: 'retained' }],
  });
  await stack.remove(DOMAINS, 'retained');
});

test('is Ready though its DNSEndpoint is refused, and says so', async () => {
  await stack.apply(domain('refused', { domain: 'refused.example.net', dns: { publish: true } }));
  await stack.ready(DOMAINS, 'refused');
  const found = await condition('refused', 'DNSPublished');
  expect(found).toMatchObject({ status: 'False', reason: 'PublishRefused' });
  expect(found?.message).toContain('not this one');
  await stack.remove(DOMAINS, 'refused');
});
