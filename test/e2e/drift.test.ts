/** Changes made in the API by others are reverted, and a steady state is left alone. */
import { describe, expect, test } from 'vitest';
import { CREDENTIALS, credential, eventually, POLICIES, policy, SECRETS, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'drift', settings: { resyncMs: 300 } });
const { client, namespace } = stack;

const rules = [
  { cidr: '10.0.0.0/8', action: 'allow', description: 'inside' },
  { cidr: '2001:DB8:0::/48', action: 'deny' },
];
const drifts = (kind: string) => stack.metric('tunnel_operator_drift_corrected_total', { kind });
const resyncs = (kind: string) => stack.metric('tunnel_operator_resyncs_total', { kind, result: 'success' });

/** Two whole comparisons with the API have begun and ended after this was called. */
async function compared(kind: 'IPPolicy' | 'TunnelCredential') {
  const before = await resyncs(kind);
  await eventually(async () => expect(await resyncs(kind)).toBeGreaterThan(before + 2));
}

async function made(name: string, spec: object = { description: 'mine', rules }) {
  await stack.apply(policy(name, spec));
  return String((await stack.ready(POLICIES, name)).status.id);
}

describe('an IP policy that is only observed', () => {
  const ADOPT = 'tunnel-operator.dev/adopt';

  test('shows what happens to it: changed rules, changed fields, deletion', async () => {
    const { id } = await client.ipPolicies.create({ description: 'theirs' });
    const manifest = policy('watched', { description: 'theirs', managementPolicy: 'Observe' }, { [ADOPT]: id });
    await stack.apply(manifest);
    expect((await stack.ready(POLICIES, 'watched')).status.rules).toBe(0);

    await client.replaceRules(id, { rules: [{ cidr: '10.0.0.0/8', action: 'deny' }] });
    await eventually(async () => expect((await stack.see(POLICIES, 'watched')).status.rules).toBe(1));
    await client.ipPolicies.update(id, { description: 'changed' });
    await eventually(async () => {
      const { synced } = await stack.see(POLICIES, 'watched');
      expect(synced?.message).toBe('Only observed; differs in spec.description, spec.rules');
    });

    const settled = (await stack.see(POLICIES, 'watched')).object.metadata.resourceVersion;
    await compared('IPPolicy');
    expect((await stack.see(POLICIES, 'watched')).object.metadata.resourceVersion).toBe(settled);

    await client.ipPolicies.delete(id);
    await stack.reason(POLICIES, 'watched', 'Ready', 'ExternalNotFound');
  });
});

describe('an IP policy', () => {
  test('that was changed is reverted, which shows as condition, Event and metric', async () => {
    const id = await made('changed');
    const before = await drifts('IPPolicy');
    await client.ipPolicies.update(id, { description: 'theirs', metadata: 'x' });
    const { synced, ready } = await stack.reason(POLICIES, 'changed', 'Synced', 'DriftCorrected');
    const message = `${id} differed from the spec in spec.description, spec.metadata; the change was reverted`;
    expect(synced).toMatchObject({ status: 'True', message });
    expect(ready).toMatchObject({ status: 'True' });
    expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'mine', metadata: null });
    expect(await drifts('IPPolicy')).toBe(before + 1);
    await eventually(async () => {
      expect(await stack.events('changed')).toContainEqual({ type: 'Warning', reason: 'DriftCorrected', message });
    });
  });

  test.each([
    [
      'added',
      async (id: string) => {
        await client.ipPolicyRules.create({ ip_policy_id: id, cidr: '0.0.0.0/0', action: 'allow' });
      },
    ],
    [
      'changed',
      async (id: string) => {
        const [rule] = await client.rulesOf(id);
        await client.ipPolicyRules.update(rule?.id ?? '', { description: 'other' });
      },
    ],
    [
      'deleted',
      async (id: string) => {
        const [rule] = await client.rulesOf(id);
        await client.ipPolicyRules.delete(rule?.id ?? '');
      },
    ],
  ])('of which a rule was %s is reverted', async (what, change) => {
    const name = `rule-${what}`;
    const id = await made(name);
    await change(id);
    const { synced } = await stack.reason(POLICIES, name, 'Synced', 'DriftCorrected');
    expect(synced?.message).toContain('spec.rules');
    expect((await client.rulesOf(id)).map(({ cidr, action, description }) => ({ cidr, action, description }))).toEqual(
      expect.arrayContaining([
        { cidr: '10.0.0.0/8', action: 'allow', description: 'inside' },
        { cidr: '2001:db8::/48', action: 'deny', description: null },
      ]),
    );
    expect(await client.rulesOf(id)).toHaveLength(2);
  });

  test('that was deleted is created again, with its rules', async () => {
    const id = await made('gone');
    await client.ipPolicies.delete(id);
    const again = await eventually(async () => {
      const { status } = await stack.ready(POLICIES, 'gone');
      expect(status.id).not.toBe(id);
      return String(status.id);
    });
    expect(await client.rulesOf(again)).toHaveLength(2);
    await eventually(async () => {
      const message = `${id} no longer exists; creating a new one`;
      expect(await stack.events('gone')).toContainEqual({ type: 'Warning', reason: 'ExternalResourceGone', message });
    });
  });

  test('that was deleted does not block the deletion of its object', async () => {
    const id = await made('twice', {});
    await stack.annotate(POLICIES, 'twice', { 'tunnel-operator.dev/paused': 'true' });
    await stack.reason(POLICIES, 'twice', 'Synced', 'Paused');
    await client.ipPolicies.delete(id);
    await stack.run('delete', 'ipp', 'twice', '--wait=false');
    await stack.annotate(POLICIES, 'twice', { 'tunnel-operator.dev/paused': null });
    await eventually(async () => expect(await stack.find(POLICIES, 'twice')).toBeUndefined());
  });

  test('no longer reports a correction after its object changes', async () => {
    const id = await made('marked');
    await client.ipPolicies.update(id, { description: 'theirs' });
    await stack.reason(POLICIES, 'marked', 'Synced', 'DriftCorrected');
    await stack.apply(policy('marked', { description: 'new', rules }));
    await stack.reason(POLICIES, 'marked', 'Synced', 'UpToDate');
  });

  test('that is paused or only observed is not reverted', async () => {
    const paused = await made('paused');
    await stack.annotate(POLICIES, 'paused', { 'tunnel-operator.dev/paused': 'true' });
    await stack.reason(POLICIES, 'paused', 'Synced', 'Paused');
    const { id: observed } = await client.ipPolicies.create({});
    await stack.apply(policy('observed', { managementPolicy: 'Observe' }, { 'tunnel-operator.dev/adopt': observed }));
    await stack.ready(POLICIES, 'observed');
    for (const id of [paused, observed]) await client.ipPolicies.update(id, { description: 'theirs' });
    await compared('IPPolicy');
    for (const id of [paused, observed]) {
      expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'theirs' });
    }
  });
});

describe('a credential', () => {
  test('that was changed is reverted and keeps its token', async () => {
    await stack.apply(credential('changed', { acl: ['bind:a.example.com'] }));
    const { status } = await stack.ready(CREDENTIALS, 'changed');
    const before = await stack.secret('changed');
    await client.credentials.update(String(status.id), { acl: [] });
    await stack.reason(CREDENTIALS, 'changed', 'Synced', 'DriftCorrected');
    expect(await client.credentials.get(String(status.id))).toMatchObject({ acl: ['bind:a.example.com'] });
    expect(await stack.secret('changed')).toEqual(before);
  });

  test('that was deleted is created again, with a new token in the same Secret', async () => {
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
});

describe('a steady state', () => {
  test('writes nothing to the cluster or the API, however often they are compared', async () => {
    await stack.apply(policy('steady', { description: 'x', rules }), credential('steady', { acl: ['*'] }));
    await stack.ready(POLICIES, 'steady');
    await stack.ready(CREDENTIALS, 'steady');
    const versions = async () => {
      const lists = await Promise.all(
        [POLICIES, CREDENTIALS, SECRETS].map((type) => stack.kube.list(type, { namespace })),
      );
      return lists.map(({ items }) =>
        items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort(),
      );
    };
    const changes = () => stack.sql('select count(*) as n from events');
    await compared('IPPolicy');
    const before = { versions: await versions(), changes: await changes() };
    const sent = await stack.metric('rest_client_requests_total', { method: 'PATCH' });
    await compared('IPPolicy');
    await compared('TunnelCredential');
    expect({ versions: await versions(), changes: await changes() }).toEqual(before);
    expect(await stack.metric('rest_client_requests_total', { method: 'PATCH' })).toBe(sent);
  });

  test('is left as it is by a restart', async () => {
    const before = await stack.see(CREDENTIALS, 'steady');
    await stack.restart();
    await compared('IPPolicy');
    await compared('TunnelCredential');
    expect((await stack.see(CREDENTIALS, 'steady')).object).toEqual(before.object);
    const writes = ['PATCH', 'POST', 'PUT', 'DELETE'].map((method) =>
      stack.metric('rest_client_requests_total', { method }),
    );
    expect(await Promise.all(writes)).toEqual([0, 0, 0, 0]);
  });
});
