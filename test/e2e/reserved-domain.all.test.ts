/** A reserved domain with dns.publish, in a cluster that lacks ExternalDNS's CustomResourceDefinition at first. */
import { afterAll, expect, test } from 'vitest';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { kubectl } from '../harness.ts';
import { DNS_ENDPOINTS, dnsEndpointCrd } from './foreign-crds.ts';
import { manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'late-dns' });
const DOMAINS = ours('reserveddomains');
const crd = dnsEndpointCrd();
const remove = () => kubectl(['delete', 'crd', crd.metadata.name, '--ignore-not-found']);
afterAll(remove);

test('a reserved domain is Ready without the CRD, and published once it is there', { timeout: 120_000 }, async () => {
  await remove();
  await stack.apply(manifest('ReservedDomain', 'www', { domain: 'www.example.net', dns: { publish: true } }));
  await stack.ready(DOMAINS, 'www');
  const says = (expected: object) =>
    eventually(async () => {
      const { status } = await stack.see(DOMAINS, 'www');
      expect(findCondition(status.conditions ?? [], 'DNSPublished')).toMatchObject(expected);
    }, 60_000);
  await says({ status: 'False', reason: 'KindNotInstalled' });
  expect(await kubectl(['apply', '-f', '-'], { input: JSON.stringify(crd) })).toMatchObject({ code: 0 });
  // Nothing changes the object.
  await says({ status: 'True', reason: 'Published' });
  expect(await stack.find(DNS_ENDPOINTS, 'www')).toMatchObject({ metadata: { name: 'www' } });
  await stack.remove(DOMAINS, 'www');
});
