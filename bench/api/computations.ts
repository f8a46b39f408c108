/**
 * The computations of operations besides their statements, by the title of their case: signing, creating keys, reading
 * certificates. Both sides use the same functions; otherwise the bench would measure cryptography.
 */
import { createPrivateKey, randomBytes } from 'node:crypto';
import { readAuthority } from '../../src/api/certificates/authority.ts';
import { readChain, readPrivateKey } from '../../src/api/certificates/chain.ts';
import { fieldsOf } from '../../src/api/certificates/x509.ts';
import { createSecrets } from '../../src/api/secrets/sealing.ts';
import { API_KEY_PREFIX, AUTHTOKEN_PREFIX, newToken } from '../../src/api/secrets/tokens.ts';
import { signHostCertificate } from '../../src/api/ssh/certificate.ts';
import { generatePrivateKey, lineOf, sshPublicOf } from '../../src/api/ssh/keys.ts';
import { parseSshPublicKey } from '../../src/resources/formats/ssh-public-key.ts';
import { KEYRING } from '../keys.ts';
import type { Computation } from './replay.ts';

const secrets = createSecrets(KEYRING);
const place = { table: 'a table', id: 'an id', field: 'a field' };
const seal = (secret: string) => secrets.seal(secret, place);

const pemOf = (key: Awaited<ReturnType<typeof generatePrivateKey>>) =>
  key.export({ type: 'pkcs8', format: 'pem' }).toString();
const SEALED_KEY = seal(pemOf(await generatePrivateKey('ed25519', null)));

const text = (body: unknown, member: string) => String(Object(body)[member]);

/** Settings of a module with sealed secrets. */
const SETTINGS = JSON.stringify({
  provider: { github: { client_id: 'bench', client_secret: 'secret of the benchmark' } },
});
const SEALED_SETTINGS = seal(SETTINGS);
const openSettings = () => JSON.parse(secrets.open(SEALED_SETTINGS, place));
const replaceSettings = () => [openSettings(), seal(SETTINGS)];

export const COMPUTATIONS: Readonly<Record<string, Computation>> = {
  'POST /credentials': () => newToken(AUTHTOKEN_PREFIX),
  'POST /api_keys': () => newToken(API_KEY_PREFIX),
  'POST /event_destinations': () => seal(randomBytes(32).toString('base64')),
  'POST /certificate_authorities': ({ body }) => {
    const authority = readAuthority(text(body, 'ca_pem'));
    return 'value' in authority && fieldsOf(authority.value);
  },
  'POST /tls_certificates': ({ body }) => {
    const chain = readChain(text(body, 'certificate_pem'));
    const key = readPrivateKey(text(body, 'private_key_pem'));
    if ('reason' in chain || 'reason' in key) throw new Error('not a certificate with its key');
    chain.value.x509.checkPrivateKey(key.value.key);
    return [fieldsOf(chain.value), seal(pemOf(key.value.key))];
  },
  'POST /ssh_certificate_authorities': async () => {
    const key = await generatePrivateKey('ed25519', null);
    const { algorithm, blob } = sshPublicOf(key);
    return [lineOf(algorithm, blob), seal(pemOf(key))];
  },
  'POST /ssh_host_certificates': async ({ body }) => {
    const subject = parseSshPublicKey(text(body, 'public_key'));
    if ('reason' in subject) throw new Error(subject.reason);
    const authority = createPrivateKey(secrets.open(SEALED_KEY, place));
    const now = BigInt(Math.floor(Date.now() / 1000));
    const valid = { validAfter: now, validBefore: now + 31_536_000n };
    const named = { keyId: 'bench', serial: 1n, principals: ['web.example.com'] };
    return signHostCertificate({ subject: subject.key, ...named, ...valid }, authority);
  },
  'GET /edges/https/{id}/routes/{id}/oidc': openSettings,
  'PUT /edges/https/{id}/routes/{id}/oidc': replaceSettings,
  'GET /edges/https/{id}/routes/{id}/oauth': openSettings,
  'PUT /edges/https/{id}/routes/{id}/oauth': replaceSettings,
};
