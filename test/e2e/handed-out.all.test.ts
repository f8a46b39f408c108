/** What resources of every kind hand out: where it is stored, and what becomes of it. secret.test.ts has more, of tokens. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { hostKeyLine } from '../../dev/fixtures/ssh-keys.ts';
import { createClient } from '../../src/client/client.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { apiKeyKind } from '../../src/operator/kinds/api-key.ts';
import { eventDestinationKind } from '../../src/operator/kinds/event-destination.ts';
import type { AnyPlainKind } from '../../src/operator/kinds/plain-kind.ts';
import { sshHostCertificateKind } from '../../src/operator/kinds/ssh-host-certificate.ts';
import { CREDENTIALS, credential, eventually, manifest, ours, SECRETS, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'handed-out' });
const { client, kube, namespace } = stack;

const KEYS = ours('apikeys');
const DESTINATIONS = ours('eventdestinations');
const SUBSCRIPTIONS = ours('eventsubscriptions');

const object = (kind: string, name: string, spec: object, annotations: Record<string, string> = {}) =>
  manifest({ name: kind }, name, spec, annotations);
const sha256 = (text = '') => createHash('sha256').update(text).digest('hex');
const encoded = (text: string) => Buffer.from(text).toString('base64');

const authority = await client.sshCertificateAuthorities.create({});

interface Row {
  kind: AnyPlainKind;
  spec: object;
  /** What the API is sent for the same. */
  body: object;
  secretType: string;
  key: string;
  idKey: string;
  value: RegExp;
  /** Whether nobody can read it again. */
  isOneTime: boolean;
}

const publicKey = hostKeyLine();
const TARGET = { webhook: { url: 'https://hooks.example.com/tunnels' } };
const ROWS: Row[] = [
  {
    kind: apiKeyKind,
    spec: {},
    body: {},
    secretType: 'tunnel-operator.dev/api-key',
    key: 'token',
    idKey: 'api-key-id',
    value: /^tnl_ak_/,
    isOneTime: true,
  },
  {
    kind: eventDestinationKind,
    spec: { target: TARGET },
    body: { target: TARGET },
    secretType: 'tunnel-operator.dev/signing-secret',
    key: 'signing-secret',
    idKey: 'event-destination-id',
    value: /^whsec_/,
    isOneTime: true,
  },
  {
    kind: sshHostCertificateKind,
    spec: { publicKey: { value: publicKey }, sshCertificateAuthorityRef: { id: authority.id } },
    body: { public_key: publicKey, ssh_certificate_authority_id: authority.id },
    secretType: 'tunnel-operator.dev/ssh-certificate',
    key: 'ssh_host_key-cert.pub',
    idKey: 'ssh-host-certificate-id',
    value: /^ssh-ed25519-cert-v01@openssh.com /,
    isOneTime: false,
  },
];

describe.each(ROWS)('what $kind.kind hands out', (row) => {
  const { kind, spec, key, idKey } = row;
  const of = ours(kind.plural);
  const named = (what: string) => `${kind.singular}-${what}`;
  const value = async (name: string) => (await stack.secret(name))?.[key] ?? '';
  const make = (name: string, more: object = {}, annotations: Record<string, string> = {}) =>
    stack.apply(object(kind.kind, name, { ...spec, ...more }, annotations));
  const made = async (name: string, more: object = {}) => {
    await make(name, more);
    const { status } = await stack.ready(of, name);
    return { id: String(status.id), value: await value(status.secretName as string) };
  };
  const patch = (name: string, body: object) =>
    stack.run('patch', 'secret', name, '--type=merge', '-p', JSON.stringify(body));
  /** Restored from the API if that shows it; otherwise new. */
  const isRestored = (name: string, before: { id: string; value: string }) =>
    eventually(async () => {
      const { status } = await stack.ready(of, name);
      const data = await stack.secret(name);
      expect(data).toEqual({ [key]: expect.stringMatching(row.value), [idKey]: status.id });
      if (row.isOneTime) {
        expect(data?.[key]).not.toBe(before.value);
        expect(await stack.remoteIds()).not.toContain(before.id);
      } else expect({ id: status.id, value: data?.[key] }).toEqual(before);
    });

  test('is in a Secret of its own type, owned by the object, and nowhere else', async () => {
    const name = named('plain');
    const { id, value } = await made(name);
    expect(value).toMatch(row.value);
    const secret = await kube.get(SECRETS, name, namespace);
    expect(secret.type).toBe(row.secretType);
    expect(await stack.secret(name)).toEqual({ [key]: value, [idKey]: id });
    expect(secret.metadata.labels).toEqual({ 'app.kubernetes.io/managed-by': 'tunnel-operator' });
    expect(secret.metadata.annotations).toEqual({ [ANNOTATION.tokenSha256]: sha256(value) });
    const { object: owner, status } = await stack.see(of, name);
    expect(secret.metadata.ownerReferences).toMatchObject([
      { kind: kind.kind, name, uid: owner.metadata.uid, controller: true, blockOwnerDeletion: true },
    ]);
    expect(status).toMatchObject({ id, secretName: name });
    expect(JSON.stringify([owner, await stack.events(name), stack.logs])).not.toContain(value);
  });

  test('is restored when the Secret is deleted', async () => {
    const name = named('deleted');
    const before = await made(name);
    await stack.run('delete', 'secret', name);
    await isRestored(name, before);
  });

  test('is restored when the Secret was deleted while the operator was down', async () => {
    const name = named('away');
    const before = await made(name);
    await stack.restart(async () => {
      await stack.run('delete', 'secret', name);
    });
    await isRestored(name, before);
  });

  test.each([
    ['given another value', { data: { [key]: encoded('made up') } }],
    ['given the id of another', { data: { [idKey]: encoded('made up') } }],
    ['emptied', { data: null }],
  ])('is restored when the Secret was %s', async (what, change) => {
    const name = named(what.replaceAll(' ', '-'));
    const before = await made(name);
    await patch(name, change);
    await isRestored(name, before);
  });

  test('moves when the Secret is to have another name, key and labels', async () => {
    const name = named('moving');
    const before = await made(name);
    await make(name, { secret: { name: named('moved'), key: 'OTHER', template: { labels: { app: 'shop' } } } });
    await stack.ready(of, name);
    expect(await stack.secret(named('moved'))).toEqual({ OTHER: before.value, [idKey]: before.id });
    expect(await stack.secret(name)).toBeUndefined();
    expect((await kube.get(SECRETS, named('moved'), namespace)).metadata.labels).toMatchObject({ app: 'shop' });
  });

  test('is not issued while a Secret of the name belongs to something else', async () => {
    const name = named('taken');
    const remotes = await stack.remoteIds();
    await stack.run('create', 'secret', 'generic', name, '--from-literal=mine=mine');
    await make(name);
    const { ready } = await stack.reason(of, name, 'Ready', 'SecretConflict');
    expect(ready?.message).toContain(`Secret ${name} exists`);
    expect(await stack.secret(name)).toEqual({ mine: 'mine' });
    expect(await stack.remoteIds()).toEqual(remotes);
    await stack.run('delete', 'secret', name);
    await stack.ready(of, name);
  });

  test('keeps its Secret with Retain, which is adopted with it', async () => {
    const name = named('kept');
    const before = await made(name, { deletionPolicy: 'Retain' });
    await stack.remove(of, name);
    expect((await kube.get(SECRETS, name, namespace)).metadata.ownerReferences).toBeUndefined();
    await make(name, {}, { [ANNOTATION.adopt]: before.id });
    expect((await stack.ready(of, name)).status.id).toBe(before.id);
    expect(await stack.secret(name)).toEqual({ [key]: before.value, [idKey]: before.id });
    expect((await kube.get(SECRETS, name, namespace)).metadata.ownerReferences).toHaveLength(1);
  });

  test('of what was made in the API is stored if it can be read, and else asked for', async () => {
    const name = named('adopted');
    const { id } = await kind.calls(client).create({ ...row.body });
    await make(name, {}, { [ANNOTATION.adopt]: id });
    if (row.isOneTime) {
      const { ready } = await stack.reason(of, name, 'Ready', 'TokenUnavailable');
      expect(ready?.message).toContain(`of the adopted ${id} cannot be read back`);
      expect(await stack.secret(name)).toBeUndefined();
    } else {
      await stack.ready(of, name);
      expect((await stack.secret(name))?.[idKey]).toBe(id);
    }
    await stack.annotate(of, name, { [ANNOTATION.rotateRequestedAt]: 'now' });
    await eventually(async () => {
      const { status } = await stack.ready(of, name);
      expect(status.id).not.toBe(id);
      expect(await stack.secret(name)).toEqual({ [key]: expect.stringMatching(row.value), [idKey]: status.id });
    });
  });
});

describe('an API key', () => {
  test('works, until its end if it has one', async () => {
    await stack.apply(object('APIKey', 'ending', { expiresAt: '2099-01-01T00:00:00Z' }));
    const { status } = await stack.ready(KEYS, 'ending');
    const apiKey = (await stack.secret('ending'))?.token ?? '';
    const own = createClient({ baseUrl: stack.api.url, apiKey });
    expect(await own.whoami()).toMatchObject({ owner: { id: status.ownerId } });
    await own.close();
    await stack.apply(object('APIKey', 'ending', { expiresAt: '2098-01-01T00:00:00Z' }));
    await stack.ready(KEYS, 'ending');
    expect(await client.apiKeys.get(String(status.id))).toMatchObject({ expires_at: '2098-01-01T00:00:00Z' });
  });
});

describe('an event destination', () => {
  test('that is made anew for its lost signing secret takes its subscriptions along', async () => {
    const sources = [{ type: 'ip_policy_created.v0' }];
    await stack.apply(
      object('EventDestination', 'moved', { target: TARGET }),
      object('EventSubscription', 'moved', { sources, destinationRefs: [{ name: 'moved' }] }),
    );
    const subscription = await stack.ready(SUBSCRIPTIONS, 'moved');
    const before = (await stack.ready(DESTINATIONS, 'moved')).status.id;
    await stack.run('delete', 'secret', 'moved');
    const after = await eventually(async () => {
      const { id } = (await stack.ready(DESTINATIONS, 'moved')).status;
      expect(id).not.toBe(before);
      return id;
    });
    await eventually(async () => {
      const { destinations } = await client.eventSubscriptions.get(String(subscription.status.id));
      expect(destinations.map(({ id }) => id)).toEqual([after]);
    });
    await stack.reconciled(DESTINATIONS, 'moved');
    expect(await stack.remoteIds()).not.toContain(before);
    expect((await stack.secret('moved'))?.['event-destination-id']).toBe(after);
  });

  test('follows a change of its URL without another signing secret', async () => {
    await stack.apply(object('EventDestination', 'changed', { target: TARGET }));
    const { status } = await stack.ready(DESTINATIONS, 'changed');
    const before = await stack.secret('changed');
    const target = { webhook: { url: 'https://hooks.example.com/others' } };
    await stack.apply(object('EventDestination', 'changed', { target }));
    expect((await stack.ready(DESTINATIONS, 'changed')).status.id).toBe(status.id);
    expect(await client.eventDestinations.get(String(status.id))).toMatchObject({ target });
    expect(await stack.secret('changed')).toEqual(before);
  });
});

test('names that others use are taken, whatever is in the Secret', async () => {
  await stack.apply(credential('shared'));
  await stack.ready(CREDENTIALS, 'shared');
  const before = await stack.secret('shared');
  await stack.apply(object('APIKey', 'shared', {}));
  const { ready } = await stack.reason(KEYS, 'shared', 'Ready', 'SecretConflict');
  expect(ready?.message).toContain('belongs to TunnelCredential shared: set spec.secret.name to another name');
  expect(await stack.secret('shared')).toEqual(before);
});
