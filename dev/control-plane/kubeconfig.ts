import { stringify } from 'yaml';
import type { KeyPair } from './certificates.ts';

/**
 * A self-contained kubeconfig: its text alone gives access.
 * @param ca PEM of the authority that signed the server's certificate.
 */
export function renderKubeconfig(options: {
  readonly server: string;
  readonly ca: string;
  readonly user: string;
  readonly client: KeyPair;
}): string {
  const { server, ca, user, client } = options;
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(client.certificate), 'client-key-data': base64(client.key) },
      },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user } }],
    'current-context': 'test',
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
