/**
 * A certificate authority beside a release, as Pods: Pebble, and the unbound that it and the service resolve names with.
 * Only for test files.
 */
import { expect } from 'vitest';
import { makeCertificate } from '../../dev/fixtures/x509.ts';
import { kubectl as tryKubectl } from '../harness.ts';
import { kubectl } from './node-release.ts';

/** Lines of zone files, by the apex of the zone. */
export type Zones = Readonly<Record<string, readonly string[]>>;

/** How unbound asks other servers. */
export type Transport = 'UDP' | 'TCP';

const PEBBLE_PORT = 14_000;
/** Pods that are not root cannot listen on 53. */
export const UNBOUND_PORT = 5353;

/** @param namespace that of the release */
export async function nodeAuthority(namespace: string, images: { pebble: string; unbound: string }) {
  const host = `pebble.${namespace}.svc`;
  const server = await makeCertificate({ subject: `CN=${host}`, names: [{ type: 'dns', value: host }] });
  const apply = async (...items: object[]) => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    expect(await tryKubectl(['-n', namespace, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0, stderr: '' });
  };
  await apply(
    service('pebble', [{ port: PEBBLE_PORT }]),
    service('unbound', [
      { name: 'udp', port: 53, targetPort: UNBOUND_PORT, protocol: 'UDP' },
      { name: 'tcp', port: 53, targetPort: UNBOUND_PORT, protocol: 'TCP' },
    ]),
  );
  async function ready(name: string): Promise<void> {
    const args = ['-n', namespace, 'wait', '--for=condition=Ready', '--timeout=60s', `pod/${name}`];
    const { code, stderr } = await tryKubectl(args);
    if (code === 0) return;
    const { stdout } = await tryKubectl(['-n', namespace, 'logs', name]);
    throw new Error(`${name} is not ready: ${stderr}${stdout}`);
  }
  const addressOf = (name: string) =>
    kubectl('-n', namespace, 'get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}');
  const resolver = await addressOf('unbound');

  async function startPebble(): Promise<void> {
    const config = {
      listenAddress: `:${PEBBLE_PORT}`,
      managementListenAddress: '127.0.0.1:15000',
      certificate: '/etc/pebble/server.pem',
      privateKey: '/etc/pebble/server.key',
      ...{ httpPort: 80, tlsPort: 443, keyAlgorithm: 'ecdsa', retryAfter: { authz: 1, order: 1 } },
      profiles: { default: { description: 'default', validityPeriod: 90 * 86_400 } },
    };
    const files = {
      'config.json': JSON.stringify({ pebble: config }),
      ...{ 'server.pem': server.pem, 'server.key': server.keyPem },
    };
    const args = ['-config', '/etc/pebble/config.json', '-strict', '-dnsserver', `${resolver}:53`];
    const env = [{ name: 'PEBBLE_VA_NOSLEEP', value: '1' }];
    await apply(...podWith('pebble', files, { image: images.pebble, args, env, port: PEBBLE_PORT }));
    await ready('pebble');
  }

  /** Starts unbound with these zones, in place of one that runs and of what that remembers. */
  async function startUnbound(zones: Zones, transport: Transport): Promise<void> {
    await kubectl('-n', namespace, 'delete', 'pod', 'unbound', '--ignore-not-found', '--grace-period=1');
    const files = {
      'unbound.conf': unboundConfig(Object.keys(zones), transport),
      ...Object.fromEntries(Object.entries(zones).map(([apex, records]) => [`${apex}.zone`, zoneFile(apex, records)])),
    };
    const args = ['-c', '/etc/unbound/unbound.conf'];
    await apply(...podWith('unbound', files, { image: images.unbound, args, env: [], port: UNBOUND_PORT }));
    await ready('unbound');
  }

  return {
    /** Values of the chart for this authority. */
    certificates: {
      directoryUrl: `https://${host}:${PEBBLE_PORT}/dir`,
      authority: 'pebble',
      trustedCertificates: server.pem,
      resolvers: [resolver],
    },
    ...{ addressOf, startPebble, startUnbound },
  };
}

const service = (name: string, ports: object[]) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ports },
});

/** As strict as the resolver of an authority: letters in random case, and names asked for from the top. */
const unboundConfig = (zones: readonly string[], transport: Transport) => `
server:
  interface: 0.0.0.0@${UNBOUND_PORT}
  access-control: 0.0.0.0/0 allow
  username: ""
  chroot: ""
  directory: "/etc/unbound"
  pidfile: ""
  use-syslog: no
  module-config: "iterator"
  use-caps-for-id: yes
  qname-minimisation: yes
  qname-minimisation-strict: yes
  do-ip6: no
  tcp-upstream: ${transport === 'TCP' ? 'yes' : 'no'}
${zones.map((apex) => `auth-zone:\n  name: "${apex}"\n  zonefile: "${apex}.zone"\n  for-downstream: no\n`).join('')}`;

const zoneFile = (apex: string, records: readonly string[]) =>
  [`${apex}. 0 IN SOA ns.example. hostmaster.${apex}. 1 3600 600 86400 0`, ...records, ''].join('\n');

/** A Pod that keeps to the Pod Security Standard "restricted", and the Secret of files that it reads below /etc. */
function podWith(
  name: string,
  files: Readonly<Record<string, string>>,
  { image, args, env, port }: { image: string; args: string[]; env: object[]; port: number },
) {
  const container = {
    ...{ name, image, args, env, imagePullPolicy: 'IfNotPresent' },
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    volumeMounts: [{ name: 'files', mountPath: `/etc/${name}` }],
  };
  const spec = {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container],
    volumes: [{ name: 'files', secret: { secretName: name } }],
  };
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: files },
    { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } }, spec },
  ];
}
