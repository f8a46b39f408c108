import { createPrivateKey, X509Certificate } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import {
  type CertificateKeyType,
  certificateId,
  certificateRequest,
  generateCertificateKey,
} from '../../src/acme/certificates.ts';
import { createAcmeClient } from '../../src/acme/client.ts';
import { challengeRecord, generateAccountKey, keyAuthorization, readAccountKey } from '../../src/acme/jose.ts';
import type { Account } from '../../src/acme/transport.ts';
import { skipFor } from '../skip.ts';
import { noAuthority, startAuthority } from './authority.ts';

const ACCOUNT_ID = 'kid-1';
const HMAC_KEY = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';
const DAY = 86_400;

describe('with an authority that refuses half of the nonces', skipFor(noAuthority), async () => {
  if (noAuthority !== undefined) return;
  const authority = await startAuthority({
    externalAccounts: { [ACCOUNT_ID]: HMAC_KEY },
    profiles: { classic: 90 * DAY, shortlived: 6 * DAY },
    refusedNonces: 50,
    reusedAuthorizations: 50,
    blocked: ['blocked.users.example'],
  });
  const { pebble, users, served, texts } = authority;
  const client = createAcmeClient({
    directoryUrl: pebble.directoryUrl,
    userAgent: 'tunnel-operator-test/1',
    trustedCertificates: pebble.serverCertificate,
  });
  afterAll(async () => {
    await client.close();
    await authority.stop();
  });
  const key = readAccountKey(generateAccountKey());
  const external = { keyId: ACCOUNT_ID, hmacKey: HMAC_KEY };
  const wanted = { contacts: ['mailto:ops@example.com'], external };
  const account: Account = { key, url: await client.register(key, wanted) };
  users.set('*.users.example', { type: 'A', data: '127.0.0.1' });

  /** Answers all challenges of an order, and takes its certificate. */
  async function issue(
    names: readonly string[],
    options: { profile?: string; replaces?: string; type?: CertificateKeyType },
  ) {
    const { type = 'ecdsa', profile = 'classic', replaces } = options;
    const order = await client.newOrder(account, { names, profile, replaces });
    for (const url of order.authorizations) await prove(url);
    const settled = (...statuses: string[]) =>
      waitFor(`the order to be ${statuses.join(' or ')}`, async () => {
        const seen = await client.order(account, order.url);
        if (seen.error) throw seen.error;
        return statuses.includes(seen.status) && seen;
      });
    const keyPem = await generateCertificateKey(type);
    await client.finalize(account, await settled('ready'), await certificateRequest(keyPem, names));
    const { certificate } = await settled('valid');
    return { keyPem, chain: await client.download(account, String(certificate)) };
  }

  async function prove(url: string) {
    const { status, identifier, wildcard = false, challenges } = await client.authorization(account, url);
    if (status === 'valid') return;
    const asked = wildcard ? 'dns-01' : 'http-01';
    const challenge = challenges.find(({ type }) => type === asked);
    const { token = '', url: at = '' } = challenge ?? {};
    if (wildcard) {
      // Its own target: resolvers keep the records of another for a second.
      const target = `${identifier.value.split('.', 1)[0]}.acme.service.example`;
      users.set(`_acme-challenge.${identifier.value}`, { type: 'CNAME', data: target });
      texts.set(target, ['of another order', challengeRecord(token, key)]);
    } else served.set(token, keyAuthorization(token, key));
    await client.answer(account, at);
  }

  test('an account is found again by its key', async () => {
    expect(await client.register(key, wanted)).toBe(account.url);
  });

  test('an account that the operator of the authority does not know is refused', async () => {
    const other = readAccountKey(generateAccountKey());
    await expect(client.register(other, { contacts: [] })).rejects.toMatchObject({ type: 'externalAccountRequired' });
  });

  test.each<[string, string[], CertificateKeyType]>([
    ['one name', ['app.users.example'], 'ecdsa'],
    ['an international name', ['xn--bcher-kva.users.example'], 'rsa'],
    ['a wildcard', ['*.wild.users.example'], 'ecdsa'],
    ['a wildcard and the name above it', ['*.both.users.example', 'both.users.example'], 'rsa'],
  ])('a certificate for %s is issued', async (_, names, type) => {
    const { keyPem, chain } = await issue(names, { type });
    const leaf = new X509Certificate(chain);
    expect(leaf.subjectAltName?.split(', ').toSorted()).toEqual(names.map((name) => `DNS:${name}`).toSorted());
    expect(leaf.checkPrivateKey(createPrivateKey(keyPem))).toBe(true);
    expect(leaf.publicKey.asymmetricKeyType).toBe(type === 'rsa' ? 'rsa' : 'ec');
    const [, issuer = ''] = chain.split(/(?=-----BEGIN)/);
    expect(leaf.verify(new X509Certificate(issuer).publicKey)).toBe(true);
  });

  test('a profile is chosen, and the certificate renewed once within its window', async () => {
    expect((await client.directory()).meta.profiles).toHaveProperty('shortlived');
    const { chain } = await issue(['short.users.example'], { profile: 'shortlived' });
    const { validFromDate, validToDate } = new X509Certificate(chain);
    expect((validToDate.getTime() - validFromDate.getTime()) / 1000).toBeCloseTo(6 * DAY, -1);

    const id = String(certificateId(chain));
    const given = { start: new Date('2030-01-01T00:00:00Z'), end: new Date('2030-01-02T00:00:00Z') };
    await pebble.setRenewalInfo(chain, given);
    expect(await client.renewalWindow(id)).toMatchObject({ ...given, retryAfterMs: 6 * 3_600_000 });

    await issue(['short.users.example'], { profile: 'shortlived', replaces: id });
    const again = client.newOrder(account, { names: ['short.users.example'], profile: 'shortlived', replaces: id });
    await expect(again).rejects.toMatchObject({ status: 409, type: 'alreadyReplaced' });
  });

  test('a name that is refused is named', async () => {
    const refused = client.newOrder(account, { names: ['blocked.users.example'], profile: 'classic' });
    await expect(refused).rejects.toMatchObject({
      type: 'rejectedIdentifier',
      detail: expect.stringContaining('blocked'),
    });
  });

  test('a failed challenge says why', async () => {
    const { authorizations } = await client.newOrder(account, { names: ['fails.users.example'], profile: 'classic' });
    const [url = ''] = authorizations;
    const { challenges } = await client.authorization(account, url);
    await client.answer(account, challenges.find(({ type }) => type === 'http-01')?.url ?? '');
    const { challenges: tried } = await waitFor('the authorization to fail', async () => {
      const seen = await client.authorization(account, url);
      return seen.status === 'invalid' && seen;
    });
    expect(tried.find(({ status }) => status === 'invalid')?.error).toMatchObject({ type: 'unauthorized' });
  });
});
