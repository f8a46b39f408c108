/** A request that the operator has given up waiting for arrives all the same, long after. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { cleanUp } from './clean-up.ts';
import { untilSettled } from './inspect.ts';
import { AGENT, agent, createBoth, isCreate, policy } from './pair.ts';
import { type Call, CUT } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '5s'] });
  await (await stage.startOperator()).untilReconciling();
});

afterEach(() => cleanUp(stage));

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
    await createBoth(stage);
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
    await createBoth(stage);
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
    await createBoth(stage);
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
      await createBoth(stage);
      await untilSettled(stage);
    }
    const { late, release } = holdingFirst(({ method, path }) => method === 'PUT' && path.endsWith('/rules'));
    if (second) await stage.apply({ ...policy, spec: { ...second, rules: [...second.rules] } });
    else await createBoth(stage);
    await waitFor('the rules', () => late.length > 0);
    await stage.apply({ ...policy, spec: { description: 'third', rules: [{ cidr: '10.2.0.0/16', action: 'allow' }] } });
    await untilSettled(stage);
    release();
    expect(await Promise.all(late)).toEqual([expect.objectContaining({ status: 412 })]);
    await untilSettled(stage);
  });
});
