/** The demo's certificate authority: Pebble, which finds every domain of the service at the API of the demo. */
import { ensureBinaries } from '../dev/control-plane/binaries.ts';
import { formatProgress } from '../dev/control-plane/progress.ts';
import { DEFAULT_PLATFORM } from '../src/api/http/platform.ts';

export interface DemoAuthority {
  /** Settings of the API. */
  readonly env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

const [SERVICE_DOMAIN] = DEFAULT_PLATFORM.serviceDomains;
/** A domain below that of the service needs no DNS records. */
const NAME = 'blog';

/**
 * @param httpPort where challenges over HTTP are answered
 * @throws BinaryUnavailable if Pebble can be neither found nor built
 */
export async function startDemoAuthority(httpPort: number, report: (line: string) => void): Promise<DemoAuthority> {
  await ensureBinaries(['pebble'], { onProgress: (progress) => report(formatProgress(progress)) });
  // Not before: it looks for Pebble as it is loaded.
  const { startPebble } = await import('../dev/acme/pebble.ts');
  const { startUserZone } = await import('../dev/acme/user-zone.ts');
  const zone = await startUserZone(SERVICE_DOMAIN);
  zone.set(`*.${SERVICE_DOMAIN}`, { type: 'A', data: '127.0.0.1' });
  const pebble = await startPebble({ dnsPort: zone.port, httpPort });
  return {
    env: { ACME_DIRECTORY_URL: pebble.directoryUrl, ACME_TRUSTED_CERTIFICATES: pebble.serverCertificate },
    async stop() {
      await pebble.stop();
      await zone.stop();
    },
  };
}

/** A ReservedDomain with a policy. */
const manifest = {
  apiVersion: 'tunnel-operator.dev/v1alpha1',
  kind: 'ReservedDomain',
  metadata: { name: NAME },
  spec: {
    domain: `${NAME}.${SERVICE_DOMAIN}`,
    certificateManagementPolicy: { authority: DEFAULT_PLATFORM.acmeAuthority, privateKeyType: 'ecdsa' },
  },
};

interface DemoObjects {
  applyUntil(condition: string, manifest: object): Promise<void>;
  /** The output of kubectl. */
  show(...args: string[]): Promise<string>;
}

/** Declares the domain; returns what to say when it has its certificate. */
export async function proveCertificate(demo: DemoObjects): Promise<string> {
  await demo.applyUntil('CertificateReady', manifest);
  const template = '--output=go-template={{.spec.domain}} has a certificate until {{.status.expiresAt}}';
  return demo.show('get', 'reserveddomain', NAME, template);
}
