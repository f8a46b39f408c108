/** What Retain leaves, wherever the work of the operator was cut short. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import { SECRETS } from '../../src/operator/managed/secrets/secret-cache.ts';
import { cleanUp } from './clean-up.ts';
import type { CredentialSpec } from './declared.ts';
import { untilSettled } from './inspect.ts';
import { AGENT, agent, isCreate } from './pair.ts';
import { type Call, CUT } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '5s'] });
  await (await stage.startOperator()).untilReconciling();
});

afterEach(() => cleanUp(stage));

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
