import { mkdir, writeFile } from 'node:fs/promises';
import { createAuthority, createSigningKey, type KeyPair } from './certificates.ts';
import type { Layout } from './components.ts';
import { renderKubeconfig } from './kubeconfig.ts';

/** What a client of a new control plane needs. */
export interface Credentials {
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string;
  /** A client certificate of the group `system:masters`. */
  readonly admin: KeyPair;
  /** The same as a kubeconfig. */
  readonly kubeconfig: string;
}

/**
 * Creates all keys and certificates of a control plane that will listen at `server`, and writes them where it expects
 * them.
 */
export async function writeCredentials(files: Layout, server: string): Promise<Credentials> {
  await mkdir(files.pki, { recursive: true, mode: 0o700 });
  const authority = await createAuthority('tunnel-operator-test');
  const ca = authority.certificate;
  const [serving, admin, manager] = await Promise.all([
    authority.issueServer('kube-apiserver', ['localhost', 'kubernetes.default.svc'], ['127.0.0.1']),
    authority.issueClient('admin', ['system:masters']),
    authority.issueClient('system:kube-controller-manager'),
  ]);
  const signing = createSigningKey();
  const kubeconfig = renderKubeconfig({ server, ca, user: 'admin', client: admin });
  const managerKubeconfig = renderKubeconfig({ server, ca, user: 'controller-manager', client: manager });
  const secret = { mode: 0o600 };
  await Promise.all([
    writeFile(files.ca, ca),
    writeFile(files.serverCertificate, serving.certificate),
    writeFile(files.serverKey, serving.key, secret),
    writeFile(files.serviceAccountPublicKey, signing.publicKey),
    writeFile(files.serviceAccountKey, signing.privateKey, secret),
    writeFile(files.adminKubeconfig, kubeconfig, secret),
    writeFile(files.controllerManagerKubeconfig, managerKubeconfig, secret),
  ]);
  return { ca, admin, kubeconfig };
}
