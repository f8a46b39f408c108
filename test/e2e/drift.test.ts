/** Changes made in the API are reverted. every-kind.test.ts covers each field of each kind, and the steady state. */
import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { CREDENTIALS, credential, manifest, ours, POLICIES, policy } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'drift', settings: { resyncMs: 300 } });
const { client } = stack;

const rules = [
  { cidr: '10.0.0.0/8', action: 'allow', description: 'inside' },
  { cidr: '2001:DB8:0::/48', action: 'deny' },
];
const drifts = () => stack.metric('tunnel_operator_drift_corrected_total', { kind: 'IPPolicy' });
const resyncs = () => stack.metric('tunnel_operator_resyncs_total', { kind: 'IPPolicy', result: 'success' });

async function made(name: string, spec: object = { description: 'mine', rules }) {
  await stack.apply(policy(name, spec));
  return stack.idOf(POLICIES, name);
}

describe('an IP policy', () => {
  test('is reverted when changed, with an Event, a metric, and a condition until the object changes', async () => {
    const id = await made('changed');
    const before = await drifts();
    await client.ipPolicies.update(id, { description: 'theirs', metadata: 'x' });
    const { synced, ready } = await stack.reason(POLICIES, 'changed', 'Synced', 'DriftCorrected');
    const message = `${id} differed from the spec in spec.description, spec.metadata; the change was reverted`;
    expect(synced).toMatchObject({ status: 'True', message });
    expect(ready).toMatchObject({ status: 'True' });
    expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'mine', metadata: null });
    expect(await drifts()).toBe(before + 1);
    await eventually(async () =>
      expect(await stack.events('changed')).toContainEqual({ type: 'Warning', reason: 'DriftCorrected', message }),
    );
    await stack.apply(policy('changed', { description: 'new', rules }));
    await stack.reason(POLICIES, 'changed', 'Synced', 'UpToDate');
  });

  test.each([
    ['added', (id: string) => client.ipPolicyRules.create({ ip_policy_id: id, cidr: '0.0.0.0/0', action: 'allow' })],
    [
      'changed',
      async (id: string) =>
        client.ipPolicyRules.update((await client.rulesOf(id))[0]?.id ?? '', { description: 'other' }),
    ],
    ['deleted', async (id: string) => client.ipPolicyRules.delete((await client.rulesOf(id))[0]?.id ?? '')],
  ])('is reverted when a rule is %s', async (what, change) => {
    const id = await made(`rule-${what}`);
    await change(id);
    const { synced } = await stack.reason(POLICIES, `rule-${what}`, 'Synced', 'DriftCorrected');
    expect(synced?.message).toContain('spec.rules');
    const now = (await client.rulesOf(id)).map(({ cidr, action, description }) => `${cidr} ${action} ${description}`);
    expect(now.toSorted()).toEqual(['10.0.0.0/8 allow inside', '2001:db8::/48 deny null']);
  });

  test('is recreated with its rules when deleted', async () => {
    const id = await made('gone');
    await client.ipPolicies.delete(id);
    const again = await stack.newIdOf(POLICIES, 'gone', id);
    expect(await client.rulesOf(again)).toHaveLength(2);
    const message = `${id} no longer exists; creating a new one`;
    await eventually(async () =>
      expect(await stack.events('gone')).toContainEqual({ type: 'Warning', reason: 'ExternalResourceGone', message }),
    );
  });

  test('is not reverted while paused or only observed; an observed one shows what differs', async () => {
    const paused = await made('paused');
    await stack.annotate(POLICIES, 'paused', { [ANNOTATION.paused]: 'true' });
    await stack.reason(POLICIES, 'paused', 'Synced', 'Paused');
    const { id: observed } = await client.ipPolicies.create({});
    await stack.apply(policy('observed', { managementPolicy: 'Observe' }, { [ANNOTATION.adopt]: observed }));
    await stack.ready(POLICIES, 'observed');
    for (const id of [paused, observed]) await client.ipPolicies.update(id, { description: 'theirs' });
    const before = await resyncs();
    await eventually(async () => expect(await resyncs()).toBeGreaterThan(before + 2));
    await eventually(async () => {
      const { synced } = await stack.see(POLICIES, 'observed');
      expect(synced?.message).toBe('Only observed; differs in spec.description');
    });
    for (const id of [paused, observed]) {
      expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'theirs' });
    }
  });
});

test('a credential is recreated when deleted, with a new token in the same Secret', async () => {
  const issued = (labels = {}) => stack.metric('tunnel_operator_credentials_issued_total', labels);
  await stack.apply(credential('gone'));
  const { status } = await stack.ready(CREDENTIALS, 'gone');
  const issuedBefore = await issued();
  const before = await stack.secret('gone');
  await client.credentials.delete(String(status.id));
  await eventually(async () => {
    const after = await stack.secret('gone');
    expect(after?.token).not.toBe(before?.token);
    expect(await stack.accepts(after?.token)).toBe(true);
    expect((await stack.ready(CREDENTIALS, 'gone')).status.id).toBe(after?.['credential-id']);
  });
  expect(await stack.accepts(before?.token)).toBe(false);
  expect(await issued()).toBe(issuedBefore + 1);
  expect(await issued({ cause: 'gone' })).toBe(1);
});

test('an event destination that is paused at the API says so, and that events are sent again', async () => {
  const type = ours('eventdestinations');
  await stack.apply(
    manifest('EventDestination', 'watched', { target: { webhook: { url: 'https://hooks.tunnels.test' } } }),
  );
  const id = await stack.idOf(type, 'watched');
  const says = (expected: object) =>
    eventually(async () => {
      const { status, ready } = await stack.see(type, 'watched');
      expect(findCondition(status.conditions ?? [], 'Delivering')).toMatchObject(expected);
      expect(ready).toMatchObject({ status: 'True' });
    });
  await says({ status: 'True', reason: 'Active' });
  await client.eventDestinations.pause(id);
  await says({ status: 'False', reason: 'Paused', message: 'Somebody has paused it.' });
  await client.eventDestinations.resume(id);
  await says({ status: 'True', reason: 'Active' });
});
