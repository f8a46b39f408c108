/** Somebody else acts at the same moment: another operator, a user, or an abandoned request. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION, FINALIZER } from '../../src/operator/contract/names.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { readIdentity } from '../../src/operator/managed/identity.ts';
import { readStatus } from '../../src/operator/managed/spec.ts';
import { cleanUp } from './clean-up.ts';
import { untilSettled } from './inspect.ts';
import { type Call, CUT, type Fault } from './proxy.ts';
import { type CredentialSpec, openStage, SECRETS, type Stage } from './stage.ts';

const policy = { kind: 'IPPolicy', name: 'policy' } as const;
const agent = { kind: 'TunnelCredential', name: 'agent' } as const;
const POLICY = { description: 'a policy', rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] } as const;
const AGENT: CredentialSpec = { description: 'an agent', rotation: { overlap: '50ms' } };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '5s'] });
  await (await stage.startOperator()).untilReconciling();
});

afterEach(() => cleanUp(stage));

async function createBoth(): Promise<void> {
  await stage.apply({ ...policy, spec: { ...POLICY, rules: [...POLICY.rules] } });
  await stage.apply({ ...agent, spec: AGENT });
}

const isCreate = ({ method, path }: Call) => method === 'POST' && /^\/(credentials|ip_policies)$/.test(path);

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
    for (const object of policies) await stage.apply({ ...object, spec: { ...POLICY, rules: [...POLICY.rules] } });
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
    await createBoth();
    await untilSettled(stage);
    expect(annotated.met).toHaveLength(6);
    const before = annotated.met.length;
    await stage.removeAll();
    await untilSettled(stage);
    expect(annotated.met.length).toBeGreaterThanOrEqual(before);
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
    await createBoth();
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

describe('a create that was abandoned and arrives late', () => {
  it('creates nothing when its object was deleted meanwhile', async () => {
    const gate = Promise.withResolvers<void>();
    const late: Promise<unknown>[] = [];
    stage.proxy().intercept(async (call, forward) => {
      if (!isCreate(call)) return forward();
      const arrival = gate.promise.then(forward);
      late.push(arrival);
      return arrival;
    });
    await createBoth();
    await waitFor('each to be tried twice', () => late.length >= 4);
    await stage.removeAll();
    await waitFor('both to be gone', async () => !(await stage.find(agent)) && !(await stage.find(policy)));
    gate.resolve();
    const answers = await Promise.all(late);
    expect(answers).toEqual(answers.map(() => expect.objectContaining({ status: 409 })));
    await untilSettled(stage);
  });

  it('creates nothing when the result of a later attempt was deleted in the API meanwhile', async () => {
    const gate = Promise.withResolvers<void>();
    const late: Promise<unknown>[] = [];
    const held = new Set<string>();
    stage.proxy().intercept(async (call, forward) => {
      if (!isCreate(call) || held.has(call.path)) return forward();
      held.add(call.path);
      const arrival = gate.promise.then(forward);
      late.push(arrival);
      return arrival;
    });
    await createBoth();
    await untilSettled(stage);
    for await (const { id } of stage.client.ipPolicies.list()) await stage.client.ipPolicies.delete(id);
    for await (const { id } of stage.client.credentials.list()) await stage.client.credentials.delete(id);
    for (const object of [policy, agent]) await stage.annotate(object, { [ANNOTATION.reconcileRequestedAt]: 'gone' });
    await untilSettled(stage);
    gate.resolve();
    expect(await Promise.all(late)).toEqual([
      expect.objectContaining({ status: 409 }),
      expect.objectContaining({ status: 409 }),
    ]);
    await untilSettled(stage);
  });

  it('creates nothing when the token was rotated meanwhile', async () => {
    const gate = Promise.withResolvers<void>();
    let late: Promise<unknown> | undefined;
    stage.proxy().intercept(async (call, forward) => {
      if (!isCreate(call) || late) return forward();
      late = gate.promise.then(forward);
      return CUT;
    });
    await stage.apply({ ...agent, spec: AGENT });
    await untilSettled(stage);
    await stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: 'now' });
    await untilSettled(stage);
    gate.resolve();
    expect(await late).toMatchObject({ status: 409 });
    await untilSettled(stage);
  });
});

describe('an update that was abandoned and arrives late', () => {
  /** Holds back the first of these calls until it is released, long after the operator has given up waiting. */
  function holdingFirst(isHeld: (call: Call) => boolean) {
    const gate = Promise.withResolvers<void>();
    const late: Promise<unknown>[] = [];
    stage.proxy().intercept(async (call, forward) => {
      if (!isHeld(call) || late.length > 0) return forward();
      const arrival = gate.promise.then(forward);
      late.push(arrival);
      return arrival;
    });
    return { late, release: gate.resolve };
  }

  it('does not undo a newer one', async () => {
    await createBoth();
    await untilSettled(stage);
    const { late, release } = holdingFirst(
      ({ method, path }) => method === 'PATCH' && path.startsWith('/credentials/'),
    );
    await stage.apply({ ...agent, spec: { ...AGENT, description: 'second' } });
    await waitFor('the update', () => late.length > 0);
    await stage.apply({ ...agent, spec: { ...AGENT, description: 'third' } });
    await untilSettled(stage);
    release();
    expect(await Promise.all(late)).toEqual([expect.objectContaining({ status: 412 })]);
    await untilSettled(stage);
  });

  it.each([
    ['an update', { description: 'second', rules: [{ cidr: '10.1.0.0/16', action: 'deny' }] }],
    ['a create', undefined],
  ] as const)('does not bring back the rules of an older spec after %s', async (_, second) => {
    if (second) {
      await createBoth();
      await untilSettled(stage);
    }
    const { late, release } = holdingFirst(({ method, path }) => method === 'PUT' && path.endsWith('/rules'));
    if (second) await stage.apply({ ...policy, spec: { ...second, rules: [...second.rules] } });
    else await createBoth();
    await waitFor('the rules', () => late.length > 0);
    await stage.apply({ ...policy, spec: { description: 'third', rules: [{ cidr: '10.2.0.0/16', action: 'allow' }] } });
    await untilSettled(stage);
    release();
    expect(await Promise.all(late)).toEqual([expect.objectContaining({ status: 412 })]);
    await untilSettled(stage);
  });
});

describe('Retain leaves a credential that works', () => {
  const retained: CredentialSpec = { ...AGENT, deletionPolicy: 'Retain' };

  /** What is left, and only that: a Secret of nobody's whose token is that of the only credential. */
  async function expectRetained(): Promise<void> {
    const secretOf = async () => stage.kube.find(SECRETS, agent.name, stage.namespace);
    await waitFor('the object to be gone', async () => !(await stage.find(agent)));
    const secret: KubeObject | undefined = await secretOf();
    expect(secret?.metadata.ownerReferences ?? []).toEqual([]);
    const credentials = await Array.fromAsync(stage.client.credentials.list());
    expect(credentials).toHaveLength(1);
    const decision = await stage.client.authenticate({ token: await stage.token(agent.name) });
    expect(decision).toMatchObject({ allowed: true, credential_id: credentials[0]?.id });
    await stage.sweep();
  }

  it('when the operator is killed after the Secret is written, and the object deleted before it is back', async () => {
    stage.proxy().intercept(async (call, forward) => {
      const answer = await forward();
      if (call.method !== 'POST' || !call.path.endsWith('/secrets')) return answer;
      await stage.operator().kill();
      return CUT;
    });
    await stage.apply({ ...agent, spec: retained });
    await waitFor('the crash', () => !stage.operator().isRunning);
    await stage.remove(agent);
    stage.proxy().intercept();
    await (await stage.startOperator()).untilReconciling();
    await expectRetained();
  });

  it('also when it is killed once more, after the Secret was released', async () => {
    const killedAfter = (isIt: (call: Call) => boolean) =>
      stage.proxy().intercept(async (call, forward) => {
        const answer = await forward();
        if (!isIt(call)) return answer;
        await stage.operator().kill();
        return CUT;
      });
    killedAfter(({ method, path }) => method === 'POST' && path.endsWith('/secrets'));
    await stage.apply({ ...agent, spec: retained });
    await waitFor('the crash', () => !stage.operator().isRunning);
    await stage.remove(agent);
    killedAfter(({ method, path }) => method === 'PATCH' && path.endsWith(`/secrets/${agent.name}`));
    await stage.startOperator();
    await waitFor('the second crash', () => !stage.operator().isRunning);
    stage.proxy().intercept();
    await (await stage.startOperator()).untilReconciling();
    await expectRetained();
  });

  it('when a rotation was cut short before the new token was stored', async () => {
    await stage.apply({ ...agent, spec: { ...retained, rotation: { overlap: '1h' } } });
    await untilSettled(stage);
    stage.proxy().intercept(async (call, forward) => {
      const answer = await forward();
      if (!isCreate(call)) return answer;
      await stage.operator().kill();
      return CUT;
    });
    await stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: 'now' });
    await waitFor('the crash', () => !stage.operator().isRunning);
    await stage.remove(agent);
    stage.proxy().intercept();
    await (await stage.startOperator()).untilReconciling();
    await expectRetained();
  });

  it('and not the one that it superseded, when the object is deleted in the overlap', async () => {
    await stage.apply({ ...agent, spec: { ...retained, rotation: { overlap: '1h' } } });
    await untilSettled(stage);
    const old = await stage.token(agent.name);
    await stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: 'now' });
    const isRotated = async () => {
      const object = await stage.find(agent);
      return object && readIdentity(object).externalId !== undefined && readIdentity(object).retiring.length === 1;
    };
    await waitFor('the rotation', isRotated);
    expect(await stage.client.authenticate({ token: old })).toMatchObject({ allowed: true });
    await stage.remove(agent);
    await expectRetained();
    expect(await stage.client.authenticate({ token: old })).toMatchObject({ allowed: false });
  });
});
