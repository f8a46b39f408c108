/** Reasons to reissue an SSHHostCertificate; its Secret follows. handed-out.all.test.ts covers the rest. */
import { expect, test } from 'vitest';
import { hostKeyLine } from '../../dev/fixtures/ssh-keys.ts';
import { manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'host-certificate' });
const { client } = stack;

const CERTIFICATES = ours('sshhostcertificates');
const authority = await client.sshCertificateAuthorities.create({});
const keys = (key: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'host-keys' },
  data: { 'web.pub': key },
});
await stack.apply(keys(hostKeyLine()));

const apply = (name: string, spec: object = {}) =>
  stack.apply(
    manifest('SSHHostCertificate', name, {
      publicKey: { configMapKeyRef: { name: 'host-keys', key: 'web.pub' } },
      sshCertificateAuthorityRef: { id: authority.id },
      ...spec,
    }),
  );
const shown = async (name: string) => {
  const { status } = await stack.ready(CERTIFICATES, name);
  return client.sshHostCertificates.get(String(status.id));
};
/** Waits until a certificate other than `id` is in place and in the Secret, and `id` is deleted. */
const reissued = (name: string, id: string) =>
  eventually(async () => {
    const resource = await shown(name);
    expect(resource.id).not.toBe(id);
    expect(await stack.secret(`${name}-ssh-certificate`)).toEqual({
      'ssh_host_key-cert.pub': resource.certificate,
      'ssh-host-certificate-id': resource.id,
    });
    expect(await stack.remoteIds()).not.toContain(id);
    return resource;
  });
/** Makes the certificate older by so many days. */
const age = (id: string, days: number) =>
  stack.sql(
    `update ssh_host_certificates set created_at = created_at - make_interval(days => $2),
     valid_after = valid_after - make_interval(days => $2), valid_until = valid_until - make_interval(days => $2)
     where id = $1`,
    [id, days],
  );

test('a host certificate is reissued when its spec or the key in its source changes', async () => {
  await apply('changed');
  const first = await shown('changed');
  const spec = { principals: ['a.example.com'], validAfter: '2026-01-01T00:00:00Z' };
  await apply('changed', spec);
  const second = await reissued('changed', first.id);
  expect(second).toMatchObject({ principals: spec.principals, valid_after: spec.validAfter });
  await eventually(async () => {
    const events = (await stack.events('changed')).map(({ reason }) => reason);
    expect(events).toEqual(expect.arrayContaining(['Replaced', 'OldResourceDeleted']));
  });
  const other = hostKeyLine();
  await stack.apply(keys(other));
  expect((await reissued('changed', second.id)).public_key).toBe(other);
});

test.each([
  ['30 days', {}, 300, 40],
  ['the time in renewBefore', { renewBefore: '2400h' }, 260, 10],
])('a host certificate is reissued %s before it expires, also after a restart', async (what, spec, early, rest) => {
  const name = `renewed-${what.split(' ')[0]}`;
  await apply(name, spec);
  const { id } = await shown(name);
  await age(id, early);
  expect((await stack.reconciled(CERTIFICATES, name)).status.id).toBe(id);
  await stack.restart(() => age(id, rest));
  await stack.reconciled(CERTIFICATES, name);
  const renewed = await reissued(name, id);
  expect((await stack.reconciled(CERTIFICATES, name)).status.id).toBe(renewed.id);
});
