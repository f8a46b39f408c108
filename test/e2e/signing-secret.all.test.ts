/** The signing secret of an EventDestination is rotated, and everything else about the destination stays. */
import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { eventDestinationKind } from '../../src/operator/kinds/event-destination.ts';
import { manifest, ours } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'signing-secret', settings: { resyncMs: 1_000 } });
const { client } = stack;

const DESTINATIONS = ours(eventDestinationKind.plural);
const target = { webhook: { url: 'https://hooks.example.com/tunnels' } };
const destination = (name: string, spec: object = {}) => manifest('EventDestination', name, { target, ...spec });
const secretOf = async (name: string) => (await stack.secret(`${name}-signing-secret`))?.['signing-secret'] ?? '';
const rotate = (name: string, when = 'now') =>
  stack.annotate(DESTINATIONS, name, { [ANNOTATION.rotateRequestedAt]: when });

async function made(name: string, spec: object = {}) {
  await stack.apply(destination(name, spec));
  return { id: await stack.idOf(DESTINATIONS, name), secret: await secretOf(name) };
}

/** Whether the destination signs with it: an update may send back the current secret, and no other. */
async function isCurrent(id: string, signing_secret: string): Promise<boolean> {
  const sent = eventDestinationKind.calls(client).update(id, { signing_secret });
  return sent.then(
    () => true,
    () => false,
  );
}

/** Waits until the same destination signs with another secret, which is in the Secret. */
const rotated = (name: string, before: { id: string; secret: string }) =>
  eventually(async () => {
    const { object, status } = await stack.ready(DESTINATIONS, name);
    const secret = await secretOf(name);
    expect(['', before.secret]).not.toContain(secret);
    expect(await isCurrent(before.id, secret)).toBe(true);
    const remote = await client.eventDestinations.get(before.id);
    expect(status).toMatchObject({ id: before.id, issuedAt: remote.signing_secret_issued_at });
    expect(object.metadata.annotations).not.toHaveProperty([ANNOTATION.rotation]);
    return { id: before.id, secret, remote, status };
  });

/** How often a secret of the destination was issued after its first. */
async function rotations(id: string): Promise<number> {
  const text = "select 1 from events where resource_id = $1 and 'signing_secret' = any (changed_fields)";
  return (await stack.sql(text, [id])).length;
}

describe('a rotation', () => {
  test('on request keeps the destination, its subscriptions and what is pending, once per value', async () => {
    const before = await made('kept', { rotation: { overlap: '1h' } });
    await stack.apply(
      manifest('EventSubscription', 'all', {
        sources: [{ type: 'ip_policy_created.v0' }],
        destinationRefs: [{ name: 'kept' }],
      }),
    );
    const subscribed = await stack.idOf(ours('eventsubscriptions'), 'all');
    const subscription = await client.eventSubscriptions.get(subscribed);
    await client.ipPolicies.create({});
    const pending = async () =>
      (await Array.fromAsync(client.eventDeliveries.list({ filter: { destination_id: before.id } }))).map(
        ({ id, state }) => `${id} ${state}`,
      );
    await eventually(async () => expect(await pending()).toEqual([expect.stringMatching(/ pending$/)]));
    const waiting = await pending();

    const start = Date.now();
    await rotate('kept');
    const { remote } = await rotated('kept', before);
    expect(Date.parse(remote.previous_signing_secret_until ?? '')).toBeGreaterThanOrEqual(start + 3_600_000);
    expect(await pending()).toEqual(waiting);
    expect(await client.eventSubscriptions.get(subscribed)).toEqual(subscription);
    await stack.restart();
    await stack.reconciled(DESTINATIONS, 'kept');
    expect(await rotations(before.id)).toBe(1);
    await eventually(async () => {
      const reasons = (await stack.events('kept')).map(({ reason }) => reason);
      expect(reasons).toContain('TokenRotated');
      expect(reasons).not.toContain('Replaced');
    });
  });

  test('by age happens when the secret reaches that age, and not again before the new one does', async () => {
    const before = await made('aged', { rotation: { interval: '1h', overlap: '30m' } });
    const text =
      'update event_destinations set signing_secret_issued_at = now() - make_interval(mins => 61) where id = $1';
    await stack.sql(text, [before.id]);
    const { status } = await rotated('aged', before);
    expect(Date.parse(String(status.rotatesAt))).toBeGreaterThan(Date.now() + 3_000_000);
    await stack.reconciled(DESTINATIONS, 'aged');
    expect(await rotations(before.id)).toBe(1);
  });

  test('begins only when its Secret can be written', async () => {
    const before = await made('taken');
    await stack.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'others' } });
    await stack.apply({
      ...destination('taken', { secret: { name: 'others' } }),
      metadata: { name: 'taken', annotations: { [ANNOTATION.rotateRequestedAt]: 'now' } },
    });
    await stack.reason(DESTINATIONS, 'taken', 'Ready', 'SecretConflict');
    expect(await isCurrent(before.id, before.secret)).toBe(true);
    await stack.apply(destination('taken'));
    await rotate('taken');
    await rotated('taken', before);
  });

  test('that somebody makes at the API is followed by one that the Secret has', async () => {
    const before = await made('elsewhere');
    await client.eventDestinations.rotateSecret(before.id);
    await rotated('elsewhere', before);
    expect(await rotations(before.id)).toBe(2);
  });

  test('refills a lost Secret, and lets receivers with the old one go on', async () => {
    const before = await made('lost', { rotation: { overlap: '1h' } });
    await stack.run('delete', 'secret', 'lost-signing-secret');
    const { remote } = await rotated('lost', before);
    expect(remote.previous_signing_secret_until).not.toBeNull();
    await eventually(async () =>
      expect((await stack.events('lost')).map(({ reason }) => reason)).toContain('TokenReissued'),
    );
  });
});

test('kubectl apply refuses an overlap that the API would refuse', async () => {
  const refused = await stack.tryApply(destination('long', { rotation: { overlap: '721h' } }));
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('rotation.overlap must be at most 720h') });
  await stack.apply(destination('long', { rotation: { overlap: '720h' } }));
});
