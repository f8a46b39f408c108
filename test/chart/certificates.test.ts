/** What the chart does for automatic certificates. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { workerSettings } from '../../src/api/worker-settings.ts';
import { CHART, DATABASE, helm, named, type Rendered, render } from './helm.ts';
import { CERTIFICATES } from './matrix.ts';

const variable = z.looseObject({ name: z.string(), value: z.string().optional() });
const port = z.looseObject({ name: z.string(), containerPort: z.number() });
const deployment = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.tuple([z.object({ env: z.array(variable), ports: z.array(port) })]).rest(z.unknown()),
      }),
    }),
  }),
});
const service = z.object({ spec: z.looseObject({ selector: z.record(z.string(), z.string()) }) });

function containerOf(objects: readonly Rendered[], component: string) {
  const found = named(objects, 'Deployment').find(({ metadata }) => metadata.name.endsWith(`-${component}`));
  const [{ env, ports }] = deployment.parse(found).spec.template.spec.containers;
  const acme = env.filter(({ name }) => /^(ACME|CERTIFICATE)_/.test(name));
  return {
    acme: Object.fromEntries(acme.map(({ name, value }) => [name, value ?? '…'])),
    ports: ports.map(({ name }) => name),
  };
}

const SETTINGS = {
  ACME_DIRECTORY_URL: 'https://ca.example.com/directory',
  ACME_CONTACT: 'ops@example.com,other@example.com',
  ACME_PROFILE: 'shortlived',
  ACME_TRUSTED_CERTIFICATES: '-----BEGIN CERTIFICATE-----',
  ACME_SELF_CHECK: 'false',
  ACME_RESOLVERS: '10.0.0.10,[2001:db8::1]:53',
  ACME_EXTERNAL_KEY_ID: 'kid-1',
  ACME_EXTERNAL_HMAC_KEY: '…',
  ACME_DNS_NAMESERVERS: 'ns1.example.net,ns2.example.net',
  ACME_DNS_HOST: '::',
  ACME_DNS_PORT: '5353',
};

test('the API issues certificates, answers over DNS, and gets all settings', async () => {
  const objects = await render({ ...DATABASE, certificates: CERTIFICATES });
  const { acme, ports } = containerOf(objects, 'api');
  expect(acme).toEqual({ ...SETTINGS, ACME_AUTHORITY: 'private' });
  expect(ports).toEqual(['http', 'metrics', 'dns-udp', 'dns-tcp']);
  const dns = named(objects, 'Service').find(({ metadata }) => metadata.name === 'it-tunnel-operator-dns');
  expect(service.parse(dns).spec).toMatchObject({
    type: 'NodePort',
    externalTrafficPolicy: 'Local',
    selector: { 'app.kubernetes.io/component': 'api' },
    ports: [
      { port: 53, targetPort: 'dns-udp', protocol: 'UDP' },
      { port: 53, targetPort: 'dns-tcp', protocol: 'TCP' },
    ],
  });
});

test('a worker does so instead of the API, for the domains of the API', async () => {
  const extraEnv = [{ name: 'SERVICE_DOMAINS', value: 'tunnels.example.com' }];
  const objects = await render({
    ...DATABASE,
    api: { extraEnv },
    worker: { enabled: true },
    certificates: CERTIFICATES,
  });
  expect(containerOf(objects, 'worker')).toEqual({ acme: SETTINGS, ports: ['metrics', 'dns-udp', 'dns-tcp'] });
  expect(Object.values(workerSettings).map(({ env }) => env)).toEqual(expect.arrayContaining(Object.keys(SETTINGS)));
  expect(containerOf(objects, 'api')).toEqual({
    acme: {
      CERTIFICATE_ISSUANCE: 'false',
      ACME_DIRECTORY_URL: SETTINGS.ACME_DIRECTORY_URL,
      ACME_AUTHORITY: 'private',
    },
    ports: ['http', 'metrics'],
  });
  const dns = named(objects, 'Service').find(({ metadata }) => metadata.name.endsWith('-dns'));
  expect(service.parse(dns).spec.selector).toMatchObject({ 'app.kubernetes.io/component': 'worker' });
  expect(
    JSON.stringify(named(objects, 'Deployment').find(({ metadata }) => metadata.name.endsWith('-worker'))),
  ).toContain('{"name":"SERVICE_DOMAINS","value":"tunnels.example.com"}');
});

test('by default, none are issued', async () => {
  const objects = await render(DATABASE);
  expect(containerOf(objects, 'api')).toEqual({ acme: {}, ports: ['http', 'metrics'] });
  expect(named(objects, 'Service').map(({ metadata }) => metadata.name)).not.toContain('it-tunnel-operator-dns');
});

test('an Ingress leads challenges of all hosts to the API', async () => {
  const certificates = { ingress: { enabled: true, className: 'nginx' } };
  const [ingress] = named(await render({ ...DATABASE, certificates }), 'Ingress');
  expect(ingress).toMatchObject({
    metadata: { name: 'it-tunnel-operator-acme' },
    spec: {
      ingressClassName: 'nginx',
      rules: [
        {
          http: {
            paths: [
              {
                path: '/.well-known/acme-challenge/',
                pathType: 'Prefix',
                backend: { service: { name: 'it-tunnel-operator-api', port: { name: 'http' } } },
              },
            ],
          },
        },
      ],
    },
  });
});

test.each([
  [{ directoryUrl: 'http://ca.example.com' }, 'certificates'],
  [{ contacts: ['mailto:'] }, 'contacts'],
  [
    { directoryUrl: 'https://ca.example.com', externalAccount: { keyId: 'kid-1' } },
    'keyId and existingSecret belong together',
  ],
])('%j is refused', async (certificates, said) => {
  const { code, stderr } = await helm(['template', 'it', CHART], { ...DATABASE, certificates });
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(said) });
});
