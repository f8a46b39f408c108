/** Values that resources other than credentials hand out: where they are stored, restored, moved and adopted. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { hostKeyLine } from '../../dev/fixtures/ssh-keys.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { apiKeyKind } from '../../src/operator/kinds/api-key.ts';
import { eventDestinationKind } from '../../src/operator/kinds/event-destination.ts';
import { sshHostCertificateKind } from '../../src/operator/kinds/ssh-host-certificate.ts';
import { encoded } from './credentials.ts';
import { manifest, ours, SECRETS } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'handed-out' });
const { client, kube, namespace } = stack;

const authority = await client.sshCertificateAuthorities.create({});
const publicKey = hostKeyLine();
const target = { webhook: { url: 'https://hooks.example.com/tunnels' } };

describe.each([
  {
    kind: apiKeyKind,
    spec: {},
    body: {},
    secretType: 'tunnel-operator.dev/api-key',
    key: 'token',
    idKey: 'api-key-id',
    format: /^tnl_ak_/,
    /** Whether the API shows it only once. */
    isOneTime: true,
    /** Whether its resource can issue several, one after the other. */
    isRotated: false,
  },
  {
    kind: eventDestinationKind,
    spec: { target },
    body: { target },
    secretType: 'tunnel-operator.dev/signing-secret',
    key: 'signing-secret',
    idKey: 'event-destination-id',
    format: /^whsec_/,
    isOneTime: true,
    isRotated: true,
  },
  {
    kind: sshHostCertificateKind,
    spec: { publicKey: { value: publicKey }, sshCertificateAuthorityRef: { id: authority.id } },
    body: { public_key: publicKey, ssh_certificate_authority_id: authority.id },
    secretType: 'tunnel-operator.dev/ssh-certificate',
    key: 'ssh_host_key-cert.pub',
    idKey: 'ssh-host-certificate-id',
    format: /^ssh-ed25519-cert-v01@openssh.com /,
    isOneTime: false,
    isRotated: false,
  },
])('the value from $kind.kind', ({ kind, spec, body, secretType, key, idKey, format, isOneTime, isRotated }) => {
  const type = ours(kind.plural);
  const suffix = kind.delivery?.handout.suffix ?? '';
  const make = (name: string, more: object = {}, annotations: Record<string, string> = {}) =>
    stack.apply(manifest(kind.kind, name, { ...spec, ...more }, annotations));
  const made = async (name: string, more: object = {}) => {
    await make(name, more);
    const id = await stack.idOf(type, name);
    return { id, value: (await stack.secret(name + suffix))?.[key] ?? '' };
  };

  test('is in a Secret of its own type, owned by the object, and nowhere else', async () => {
    const name = `${kind.singular}-plain`;
    const { id, value } = await made(name);
    expect(value).toMatch(format);
    const { metadata, type: secret } = await kube.get(SECRETS, name + suffix, namespace);
    expect(secret).toBe(secretType);
    expect(await stack.secret(name + suffix)).toEqual({ [key]: value, [idKey]: id });
    const sha256 = createHash('sha256').update(value).digest('hex');
    const { object, status } = await stack.see(type, name);
    const issued = isRotated ? { [ANNOTATION.issuedAt]: status.issuedAt } : {};
    expect(metadata.annotations).toEqual({ [ANNOTATION.tokenSha256]: sha256, ...issued });
    expect(metadata.ownerReferences).toMatchObject([{ kind: kind.kind, name, uid: object.metadata.uid }]);
    expect(status).toMatchObject({ id, secretName: name + suffix });
    expect(JSON.stringify([object, await stack.events(name), stack.logs])).not.toContain(value);
  });

  test.each([
    ['deleted', undefined],
    ['altered', { data: { [key]: encoded('made up') } }],
  ])('is restored if the API still shows it, or else replaced, when the Secret was %s', async (what, patch) => {
    const name = `${kind.singular}-${what}`;
    const before = await made(name);
    await stack.restart(async () => {
      const change = patch ? ['patch', '--type=merge', '-p', JSON.stringify(patch)] : ['delete'];
      await stack.run(...change, 'secret', name + suffix);
    });
    await eventually(async () => {
      const { status } = await stack.ready(type, name);
      const data = await stack.secret(name + suffix);
      expect(data).toEqual({ [key]: expect.stringMatching(format), [idKey]: status.id });
      expect(data?.[key] === before.value).toBe(!isOneTime);
      expect(status.id === before.id).toBe(!isOneTime || isRotated);
      expect((await stack.remoteIds()).includes(before.id)).toBe(!isOneTime || isRotated);
    });
  });

  test('moves with the Secret, stays in it with Retain, and is adopted from there', async () => {
    const [name, moved] = [`${kind.singular}-moving`, `${kind.singular}-moved`];
    const secret = { name: moved, key: 'OTHER', template: { labels: { app: 'shop' } } };
    const before = await made(name);
    await make(name, { secret, deletionPolicy: 'Retain' });
    await stack.ready(type, name);
    expect(await stack.secret(moved)).toEqual({ OTHER: before.value, [idKey]: before.id });
    expect(await stack.secret(name + suffix)).toBeUndefined();
    expect((await kube.get(SECRETS, moved, namespace)).metadata.labels).toMatchObject({ app: 'shop' });

    await stack.remove(type, name);
    expect((await kube.get(SECRETS, moved, namespace)).metadata.ownerReferences).toBeUndefined();
    await make(name, { secret }, { [ANNOTATION.adopt]: before.id });
    expect((await stack.ready(type, name)).status.id).toBe(before.id);
    expect(await stack.secret(moved)).toEqual({ OTHER: before.value, [idKey]: before.id });
    expect((await kube.get(SECRETS, moved, namespace)).metadata.ownerReferences).toHaveLength(1);
  });

  test('is stored on adoption if the API still shows it, or else unavailable until a rotation', async () => {
    const name = `${kind.singular}-adopted`;
    const { id } = await kind.calls(client).create(body);
    await make(name, {}, { [ANNOTATION.adopt]: id });
    if (isOneTime) {
      await stack.reason(type, name, 'Ready', 'TokenUnavailable');
      expect(await stack.secret(name + suffix)).toBeUndefined();
    } else {
      await stack.ready(type, name);
      expect((await stack.secret(name + suffix))?.[idKey]).toBe(id);
    }
    await stack.annotate(type, name, { [ANNOTATION.rotateRequestedAt]: 'now' });
    await eventually(async () => {
      const { status } = await stack.ready(type, name);
      expect(status.id === id).toBe(isRotated);
      expect(await stack.secret(name + suffix)).toEqual({ [key]: expect.stringMatching(format), [idKey]: status.id });
    });
  });
});
