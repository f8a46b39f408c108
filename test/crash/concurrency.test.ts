/** Somebody else acts at the same moment: another operator, or a user. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION, FINALIZER } from '../../src/operator/contract/names.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { SECRETS } from '../../src/operator/managed/secrets/secret-cache.ts';
import { cleanUp } from './clean-up.ts';
import { untilSettled } from './inspect.ts';
import { AGENT, agent, createBoth, POLICY, policy } from './pair.ts';
import type { Fault } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '5s'] });
  await (await stage.startOperator()).untilReconciling();
});

afterEach(() => cleanUp(stage));

describe('two operators at once, without leader election,', () => {
  const MANY = Array.from({ length: 12 }, (_, n) => n);
  const agents = MANY.map((n) => ({ kind: 'TunnelCredential', name: `agent-${n}` }) as const);
  const policies = MANY.map((n) => ({ kind: 'IPPolicy', name: `policy-${n}` }) as const);

  it('together do what one would do alone', { timeout: 180_000 }, async () => {
    await (await stage.startOperator(1)).untilReconciling();
    const count = async (type: string) => {
      const [row] = await stage.query('select count(*)::int as n from events where type = $1', [type]);
      return Number(row?.n);
    };
    const before = { credentials: await count('credential_created.v0'), policies: await count('ip_policy_created.v0') };
    const settle = () => untilSettled(stage, 60_000, 100);

    for (const object of agents) await stage.apply({ ...object, spec: AGENT });
    for (const object of policies) await stage.apply({ ...object, spec: POLICY });
    await settle();
    expect(await count('credential_created.v0')).toBe(before.credentials + agents.length);
    expect(await count('ip_policy_created.v0')).toBe(before.policies + policies.length);

    for (const object of agents) await stage.apply({ ...object, spec: { ...AGENT, acl: ['bind:a.example.com'] } });
    for (const object of policies) await stage.apply({ ...object, spec: { description: 'without rules' } });
    await settle();

    for (const object of agents) await stage.annotate(object, { [ANNOTATION.rotateRequestedAt]: 'now' });
    await settle();
    expect(await count('credential_created.v0')).toBe(before.credentials + 2 * agents.length);

    for (const { name } of agents) await stage.deleteSecret(name);
    await settle();

    for (const object of agents) {
      await stage.apply({ ...object, spec: { ...AGENT, secret: { name: `${object.name}-renamed` } } });
    }
    await settle();

    for (const { metadata } of (await stage.kube.list(SECRETS, { namespace: stage.namespace })).items) {
      await stage.deleteSecret(metadata.name);
    }
    for await (const { id } of stage.client.ipPolicies.list()) await stage.client.ipPolicies.delete(id);
    for (const object of policies) await stage.annotate(object, { [ANNOTATION.reconcileRequestedAt]: 'now' });
    await settle();

    await stage.removeAll();
    await settle();
    await stage.operator(1).stop();
    stage.leave(1);
  });
});

describe('somebody who edits the object at the same moment', () => {
  /** Before every write of an object by the operator, once for each kind of write, the object changes. */
  function interfering(change: (object: { kind: 'IPPolicy' | 'TunnelCredential'; name: string }) => Promise<unknown>) {
    const met: string[] = [];
    const fault: Fault = async (call, forward) => {
      const [, plural, name, rest = ''] = /\/(ippolicies|tunnelcredentials)\/([^/]+)(\/status)?$/.exec(call.path) ?? [];
      if (call.method !== 'PATCH' || name === undefined) return forward();
      const body = call.body.replaceAll(/"(uid|resourceVersion)":"[^"]*"/g, '');
      const key = `${plural}${rest} ${body.includes('finalizers') ? 'finalizers' : ''} ${body.includes('external-id":"') ? 'id' : ''}`;
      if (met.includes(key)) return forward();
      met.push(key);
      await change({ kind: plural === 'ippolicies' ? 'IPPolicy' : 'TunnelCredential', name });
      return forward();
    };
    return { fault, met };
  }

  it('costs one attempt and nothing else', async () => {
    const annotated = interfering((object) => stage.annotate(object, { 'example.com/by': `${performance.now()}` }));
    stage.proxy().intercept(annotated.fault);
    await createBoth(stage);
    await untilSettled(stage);
    expect(annotated.met).toHaveLength(6);
    await stage.removeAll();
    await untilSettled(stage);
  });

  it('keeps the finalizer that they added, at the start and at the end', async () => {
    const THEIRS = 'example.com/theirs';
    const add = async ({ kind, name }: { kind: 'IPPolicy' | 'TunnelCredential'; name: string }) => {
      const finalizers = (await stage.find({ kind, name }))?.metadata.finalizers ?? [];
      if (!finalizers.includes(THEIRS)) await patchFinalizers(kind, name, [...finalizers, THEIRS]);
    };
    const patchFinalizers = async (kind: 'IPPolicy' | 'TunnelCredential', name: string, finalizers: string[]) => {
      const type = { group: 'tunnel-operator.dev', version: 'v1alpha1', plural: pluralOf(kind) };
      await stage.kube.patch(type, name, { metadata: { finalizers } }, stage.namespace);
    };
    stage.proxy().intercept(interfering(add).fault);
    await createBoth(stage);
    const finalizersOf = async () => (await stage.find(agent))?.metadata.finalizers;
    await waitFor('both finalizers', async () => (await finalizersOf())?.length === 2 && (await isReady()));
    expect(new Set(await finalizersOf())).toEqual(new Set([FINALIZER, THEIRS]));
    await stage.remove(agent);
    await stage.remove(policy);
    await waitFor('ours to go', async () => (await finalizersOf())?.join() === THEIRS);
    for (const { kind, name } of [agent, policy]) {
      await waitFor('ours to go', async () => (await stage.find({ kind, name }))?.metadata.finalizers?.length === 1);
      await patchFinalizers(kind, name, []);
    }
    await untilSettled(stage);
  });

  const pluralOf = (kind: string) => (kind === 'IPPolicy' ? 'ippolicies' : 'tunnelcredentials');
  const isReady = async () => {
    const object = await stage.find(agent);
    return (
      object !== undefined && readStatus(object).conditions?.some((c) => c.type === 'Ready' && c.status === 'True')
    );
  };
});
