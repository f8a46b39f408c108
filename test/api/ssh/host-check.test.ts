/** For which hosts OpenSSH accepts our certificates: clients before 10.3 and since read the principals differently. */
import { afterAll, describe, expect, test } from 'vitest';
import { sshCertificateAuthority } from '../../../src/resources/ssh-certificate-authority.ts';
import { sshHostCertificate } from '../../../src/resources/ssh-host-certificate.ts';
import { skipFor } from '../../skip.ts';
import { startTestApi } from '../harness.ts';
import { clients, noServer, startHost } from './host-check.ts';
import { keygen, missing } from './openssh.ts';

const why = missing ?? noServer;

/** Per certificate: its principals, and the hosts for which old and new clients accept it. */
const CASES = {
  listed: {
    principals: ['a.web.example.com', '192.0.2.1'],
    before: ['a.web.example.com'],
    since: ['a.web.example.com'],
  },
  empty: { principals: [], before: ['a.web.example.com', 'b.a.web.example.com', 'web-1'], since: [] },
  below: { principals: ['*.web.example.com'], before: [], since: ['a.web.example.com', 'b.a.web.example.com'] },
  one: { principals: ['web-?'], before: [], since: ['web-1'] },
  any: { principals: ['*'], before: [], since: ['a.web.example.com', 'b.a.web.example.com', 'web-1'] },
};
const HOSTS = ['a.web.example.com', 'b.a.web.example.com', 'web-1'];

const host = why === undefined ? await signedHost() : undefined;
afterAll(() => host?.stop());

async function signedHost() {
  const { admin } = await startTestApi();
  const authority = (await admin.post('/ssh_certificate_authorities', {})).as(sshCertificateAuthority.view);
  const { publicKey, privateKey } = await keygen('-t', 'ed25519');
  const certificates: Record<string, string> = {};
  for (const [name, { principals }] of Object.entries(CASES)) {
    const body = { ssh_certificate_authority_id: authority.id, public_key: publicKey, principals };
    const made = (await admin.post('/ssh_host_certificates', body)).as(sshHostCertificate.view);
    certificates[name] = made.certificate;
  }
  return startHost(privateKey, authority.public_key, certificates);
}

describe('OpenSSH', skipFor(why), () => {
  test.each(Object.entries(CASES))('accepts a certificate as expected: %s', async (name, { before, since }) => {
    for (const client of clients) {
      const accepted = [];
      for (const each of HOSTS) if (await host?.accepts(client, each, name)) accepted.push(each);
      expect(accepted, client.version).toEqual(client.isNew ? since : before);
    }
  });
});
