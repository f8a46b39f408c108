/** Pebble, the ACME server that Let's Encrypt tests clients with. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { freePort } from '../../src/postgres/ports.ts';
import { BinaryUnavailable, ensureBinaries } from '../control-plane/binaries.ts';
import { makeCertificate } from '../fixtures/x509.ts';
import { startChild, waitForChild } from '../processes/child-process.ts';

export interface PebbleOptions {
  /** Where it resolves names: port on 127.0.0.1. */
  dnsPort: number;
  /** Where it expects answers to challenges over HTTP. */
  httpPort: number;
  /** External accounts, which are required if there are any: HMAC keys in base64url by id. */
  externalAccounts?: Readonly<Record<string, string>>;
  /** Validity of certificates in seconds, by profile. Default: 90 days for `default`. */
  profiles?: Readonly<Record<string, number>>;
  /** Percentage of nonces that are refused. Default 0. */
  refusedNonces?: number;
  /** Percentage of valid authorizations that a later order reuses. Default 0. */
  reusedAuthorizations?: number;
  /** Names that no certificate is issued for. */
  blocked?: readonly string[];
}

export interface Pebble {
  readonly directoryUrl: string;
  /** Certificate of its own server, in PEM. */
  readonly serverCertificate: string;
  /** The root that its certificates can be verified with, in PEM. */
  root(): Promise<string>;
  /** Sets when a certificate should be renewed; what it answers to requests for renewal information. */
  setRenewalInfo(certificatePem: string, window: { start: Date; end: Date }): Promise<void>;
  /** The last lines of its log. */
  logTail(lines?: number): string;
  stop(): Promise<void>;
}

const program = await ensureBinaries(['pebble']).catch((error: unknown) => {
  if (!(error instanceof BinaryUnavailable)) throw error;
  return error;
});
/** Why there is no Pebble here; undefined if there is one. */
export const noPebble = program instanceof BinaryUnavailable ? program.message : undefined;

export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  if (program instanceof BinaryUnavailable) throw program;
  const { dnsPort, httpPort, externalAccounts = {}, profiles = { default: 90 * 86_400 }, blocked = [] } = options;
  const { refusedNonces = 0, reusedAuthorizations = 0 } = options;
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-pebble-'));
  const path = (name: string) => join(folder, name);
  const made = await makeCertificate({ subject: 'CN=localhost', names: [{ type: 'dns', value: 'localhost' }] });
  await writeFile(path('server.pem'), made.pem);
  await writeFile(path('server.key'), made.keyPem);
  const [port, management] = [await freePort(), await freePort()];
  const config = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: path('server.pem'),
    privateKey: path('server.key'),
    httpPort,
    tlsPort: 1,
    keyAlgorithm: 'ecdsa',
    externalAccountBindingRequired: Object.keys(externalAccounts).length > 0,
    externalAccountMACKeys: externalAccounts,
    domainBlocklist: blocked,
    retryAfter: { authz: 1, order: 1 },
    profiles: Object.fromEntries(
      Object.entries(profiles).map(([name, validityPeriod]) => [name, { description: name, validityPeriod }]),
    ),
  };
  await writeFile(path('config.json'), JSON.stringify({ pebble: config }));
  const child = startChild({
    name: 'pebble',
    command: program.pebble,
    args: ['-config', path('config.json'), '-strict', '-dnsserver', `127.0.0.1:${dnsPort}`],
    env: {
      ...process.env,
      PEBBLE_VA_NOSLEEP: '1',
      PEBBLE_WFE_NONCEREJECT: String(refusedNonces),
      PEBBLE_AUTHZREUSE: String(reusedAuthorizations),
    },
    logFile: path('log'),
    removeOnLoss: folder,
  });
  const dispatcher = new Agent({ connect: { ca: made.pem } });
  const at = (place: string) => `https://localhost:${management}${place}`;
  const root = async () => (await request(at('/roots/0'), { dispatcher })).body.text();
  await waitForChild(child, 'answer', async () => (await root()) !== '');
  return {
    directoryUrl: `https://localhost:${port}/dir`,
    serverCertificate: made.pem,
    root,
    async setRenewalInfo(certificate, { start, end }) {
      const ari = JSON.stringify({ suggestedWindow: { start: start.toISOString(), end: end.toISOString() } });
      const body = JSON.stringify({ certificate, ariResponse: ari });
      const response = await request(at('/set-renewal-info/'), {
        method: 'POST',
        headers: { 'user-agent': 'test' },
        body,
        dispatcher,
      });
      if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${await response.body.text()}`);
    },
    logTail: (lines) => child.logTail(lines),
    async stop() {
      await dispatcher.close();
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
