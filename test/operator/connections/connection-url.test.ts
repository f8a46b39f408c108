import { rootCertificates } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import type { ConnectionSpec } from '../../../src/operator/connections/connection-kinds.ts';
import { ConnectionUrls, type Destination } from '../../../src/operator/connections/connection-url.ts';

const OWN_URL = 'http://tunnel-api.tunnels.svc:8080/base';
const apiKeySecretRef = { name: 'key', key: 'apiKey' };
const ended: (() => Promise<void>)[] = [];
afterEach(async () => void (await Promise.all(ended.splice(0).map((end) => end()))));

function setUp() {
  const urls = new ConnectionUrls(OWN_URL, ['https://10.1.2.3:8443/api', 'http://api.example.com']);
  ended.push(() => urls.destroy());
  const lead = (spec: Partial<ConnectionSpec>, kind: 'APIConnection' | 'ClusterAPIConnection' = 'APIConnection') => {
    const found: Destination = urls.destinationOf(kind, { apiKeySecretRef, ...spec });
    if (!found.isShared) ended.push(() => found.agent.destroy());
    return found;
  };
  return { lead };
}

describe('a connection', () => {
  test('to the URL of the operator shares its agent, and has its own with a caBundle', () => {
    const { lead } = setUp();
    const own = lead({});
    expect(own).toMatchObject({ url: OWN_URL, isShared: true, isTrusted: true });
    expect(lead({ url: `${OWN_URL}/` })).toMatchObject({ agent: own.agent });
    const trusting = lead({ caBundle: rootCertificates.slice(0, 2).join('\n') });
    expect(trusting).toMatchObject({ url: OWN_URL, isShared: false });
    expect(trusting.agent).not.toBe(own.agent);
  });

  test.each([
    ['at a public address, which is not trusted', 'https://93.184.215.14', false],
    ['by its name, which is not trusted', 'https://api.example.com', false],
    ['that is listed', 'https://10.1.2.3:8443/api', true],
    ['that is listed, by http', 'http://api.example.com/', true],
  ])('may lead to an API %s', (_, url, isTrusted) => {
    expect(setUp().lead({ url })).toMatchObject({ url, isShared: false, isTrusted });
  });

  test.each([
    ['a private address', 'https://10.1.2.3', 'must have a public address, or one that --connection-urls allows'],
    ['the machine itself', 'https://[::1]:8443', 'must have a public address'],
    ['where clouds hand out credentials', 'https://169.254.169.254', 'must have a public address'],
    ['another port of the operator’s API', 'http://tunnel-api.tunnels.svc', 'must be an https URL'],
    ['another path of a listed host', 'https://10.1.2.3:8443/other', 'must have a public address'],
    ['plain http', 'http://93.184.215.14', 'must be an https URL, since --connection-urls does not list its host'],
  ])('of a namespace must not lead to %s, one of the cluster may', (_, url, message) => {
    const { lead } = setUp();
    const refusal = { reason: 'Rejected', message: expect.stringContaining(`spec.url ${message}`) };
    expect(() => lead({ url })).toThrow(expect.objectContaining(refusal));
    expect(lead({ url }, 'ClusterAPIConnection')).toMatchObject({ url, isShared: false, isTrusted: true });
  });

  test('of a namespace does not call a name that leads to the machine itself', async () => {
    const { agent } = setUp().lead({ url: 'https://localhost:1' });
    const call = agent.request({ origin: 'https://localhost:1', path: '/', method: 'GET' });
    await expect(call).rejects.toMatchObject({ name: 'ForbiddenAddress' });
  });

  test.each(['', 'no certificate', '-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----'])(
    'has no caBundle %j',
    (caBundle) => {
      const refusal = { reason: 'Rejected', message: 'spec.caBundle must consist of certificates in PEM' };
      expect(() => setUp().lead({ caBundle })).toThrow(expect.objectContaining(refusal));
    },
  );
});
