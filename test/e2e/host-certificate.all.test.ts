/** An SSHHostCertificate is issued anew, whatever the reason, and its Secret follows. handed-out.test.ts has the rest. */
import { describe, expect, test } from 'vitest';
import { hostKeyLine } from '../../dev/fixtures/ssh-keys.ts';
import { eventually, manifest, ours, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'host-certificate' });
const { client } = stack;

const AUTHORITIES = ours('sshcertificateauthorities');
const CERTIFICATES = ours('sshhostcertificates');

const authority = await client.sshCertificateAuthorities.create({});
const publicKey = hostKeyLine();

describe('a host certificate', () => {
  const apply = (name: string, spec: object) =>
    stack.apply(
      manifest({ name: 'SSHHostCertificate' }, name, {
        publicKey: { value: publicKey },
        sshCertificateAuthorityRef: { id: authority.id },
        ...spec,
      }),
    );
  const shown = async (name: string) => {
    const { status } = await stack.ready(CERTIFICATES, name);
    return client.sshHostCertificates.get(String(status.id));
  };
  /** Waits until another certificate than this is in place, alone, and in the Secret. */
  const reissued = (name: string, id: string) =>
    eventually(async () => {
      const resource = await shown(name);
      expect(resource.id).not.toBe(id);
      expect(await stack.secret(name)).toEqual({
        'ssh_host_key-cert.pub': resource.certificate,
        'ssh-host-certificate-id': resource.id,
      });
      expect(await stack.remoteIds()).not.toContain(id);
      return resource;
    });
  /** As if it had been issued so long ago. */
  const age = (id: string, days: number) =>
    stack.sql(
      `update ssh_host_certificates set created_at = created_at - make_interval(days => $2),
       valid_after = valid_after - make_interval(days => $2), valid_until = valid_until - make_interval(days => $2)
       where id = $1`,
      [id, days],
    );

  test.each<[string, object, object]>([
    ['principals', { principals: ['a.example.com'] }, { principals: ['a.example.com'] }],
    ['the start', { validAfter: '2026-01-01T00:00:00Z' }, { valid_after: '2026-01-01T00:00:00Z' }],
    ['the end', { validUntil: '2099-01-01T00:00:00Z' }, { valid_until: '2099-01-01T00:00:00Z' }],
  ])('is issued anew when %s is changed', async (what, spec, remote) => {
    const name = what.replaceAll(' ', '-');
    await apply(name, {});
    const { id } = await shown(name);
    await apply(name, spec);
    expect(await reissued(name, id)).toMatchObject(remote);
    await eventually(async () => {
      const events = (await stack.events(name)).map(({ reason }) => reason);
      expect(events).toEqual(expect.arrayContaining(['Replaced', 'OldResourceDeleted']));
    });
  });

  test('follows the key in its source, and another authority under the name', async () => {
    const keys = (key: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'host-keys' },
      data: { 'web-1.pub': key },
    });
    await stack.apply(
      keys(publicKey),
      manifest({ name: 'SSHCertificateAuthority' }, 'hosts', {}),
      manifest({ name: 'SSHHostCertificate' }, 'followed', {
        publicKey: { configMapKeyRef: { name: 'host-keys', key: 'web-1.pub' } },
        sshCertificateAuthorityRef: { name: 'hosts' },
      }),
    );
    const first = await shown('followed');
    expect(first.public_key).toBe(publicKey);
    const other = hostKeyLine();
    await stack.apply(keys(other));
    const second = await reissued('followed', first.id);
    expect(second.public_key).toBe(other);
    // Somebody removes the authority from the API, with the certificate that it has signed.
    await client.sshHostCertificates.delete(second.id);
    await client.sshCertificateAuthorities.delete(second.ssh_certificate_authority_id);
    await stack.reconciled(AUTHORITIES, 'hosts');
    const { id } = (await stack.ready(AUTHORITIES, 'hosts')).status;
    expect((await reissued('followed', second.id)).ssh_certificate_authority_id).toBe(id);
    await stack.remove(CERTIFICATES, 'followed');
    await stack.remove(AUTHORITIES, 'hosts');
  });

  test('is issued anew before it ends, after a restart, too', async () => {
    await apply('renewed', {});
    const { id } = await shown('renewed');
    const { status } = await stack.see(CERTIFICATES, 'renewed');
    const days = (Date.parse(String(status.validUntil)) - Date.parse(String(status.renewsAt))) / 86_400_000;
    expect(days).toBe(30);
    await age(id, 300);
    expect((await stack.reconciled(CERTIFICATES, 'renewed')).status.id).toBe(id);
    await stack.restart(() => age(id, 40));
    await stack.reconciled(CERTIFICATES, 'renewed');
    const renewed = await reissued('renewed', id);
    expect((await stack.reconciled(CERTIFICATES, 'renewed')).status.id).toBe(renewed.id);
  });

  test('is issued anew so long before its end as the spec says', async () => {
    await apply('sooner', { renewBefore: '2400h' });
    const { id } = await shown('sooner');
    await age(id, 260);
    expect((await stack.reconciled(CERTIFICATES, 'sooner')).status.id).toBe(id);
    await age(id, 10);
    await stack.reconciled(CERTIFICATES, 'sooner');
    await reissued('sooner', id);
  });

  test('with an end of its own is not issued anew', async () => {
    const validUntil = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
    await apply('fixed', { validUntil });
    const { id } = await shown('fixed');
    const { status } = await stack.reconciled(CERTIFICATES, 'fixed');
    expect(status).toMatchObject({ id, validUntil });
    expect(status.renewsAt).toBeUndefined();
  });
});
