/** What an object carries is taken away, again and again, while creates are under way: still exactly one resource. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { cleanUp } from './clean-up.ts';
import type { CredentialSpec } from './declared.ts';
import { isIdle, untilSettled } from './inspect.ts';
import { type Call, CUT } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

const agent = { kind: 'TunnelCredential', name: 'agent' } as const;
const AGENT: CredentialSpec = { description: 'an agent', rotation: { overlap: '0s' } };
const declared = { ...agent, spec: AGENT };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '5s'] });
  await (await stage.startOperator()).untilReconciling();
});

afterEach(() => cleanUp(stage));

const isCreate = ({ method, path }: Call) => method === 'POST' && path === '/credentials';

/** The operator dies with its next create: the credential is there, and nobody has heard of it. */
function killAfterCreate(): void {
  stage.proxy().intercept(async (call, forward) => {
    if (!isCreate(call)) return forward();
    await forward();
    await stage.operator().kill();
    return CUT;
  });
}

async function comeBack(): Promise<void> {
  await waitFor('the crash', () => !stage.operator().isRunning);
  stage.proxy().intercept();
}

const rotate = (value: string) => stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: value });

describe('an object from which everything is taken', () => {
  it('twice, with a rotation cut short in between, has one credential', async () => {
    await stage.apply(declared);
    await untilSettled(stage);
    await stage.replace(declared);
    await untilSettled(stage);
    killAfterCreate();
    await rotate('1');
    await comeBack();
    await stage.replace(declared);
    await stage.startOperator();
    await untilSettled(stage);
    expect(await Array.fromAsync(stage.client.credentials.list())).toHaveLength(1);
  });

  it('and whose status is taken too, while a rotation is cut short, has one credential', async () => {
    await stage.apply(declared);
    await untilSettled(stage);
    killAfterCreate();
    await rotate('1');
    await comeBack();
    await stage.replace(declared);
    await stage.wipeStatus(agent);
    await stage.startOperator();
    await untilSettled(stage);
    expect(await Array.fromAsync(stage.client.credentials.list())).toHaveLength(1);
  });

  it.each([
    { [ANNOTATION.createGeneration]: '2' },
    { [ANNOTATION.createGeneration]: '2', [ANNOTATION.createKey]: 'k' },
  ])('and to which somebody writes what looks like the next create has one credential: %o', async (annotations) => {
    await stage.apply(declared);
    await untilSettled(stage);
    await stage.operator().kill();
    await stage.replace(declared, annotations);
    await stage.wipeStatus(agent);
    await stage.startOperator();
    await untilSettled(stage);
    expect(await Array.fromAsync(stage.client.credentials.list())).toHaveLength(1);
  });

  it('leaves nothing when it is deleted before the operator is back', async () => {
    await stage.apply(declared);
    await untilSettled(stage);
    killAfterCreate();
    await rotate('1');
    await comeBack();
    const { finalizers = [] } = (await stage.find(agent))?.metadata ?? {};
    await stage.replace(declared);
    await stage.wipeStatus(agent);
    await stage.kube.patch(
      { group: 'tunnel-operator.dev', version: 'v1alpha1', plural: 'tunnelcredentials' },
      agent.name,
      { metadata: { finalizers } },
      stage.namespace,
    );
    await stage.remove(agent);
    await stage.startOperator();
    await untilSettled(stage);
    expect(await Array.fromAsync(stage.client.credentials.list())).toEqual([]);
  });

  it('while a create is late has one credential once that arrives', async () => {
    const gate = Promise.withResolvers<void>();
    const late: Promise<unknown>[] = [];
    await stage.apply(declared);
    await untilSettled(stage);
    stage.proxy().intercept(async (call, forward) => {
      if (!isCreate(call) || late.length > 0) return forward();
      late.push(gate.promise.then(forward));
      await stage.operator().kill();
      return CUT;
    });
    await rotate('1');
    await comeBack();
    await stage.replace(declared);
    await stage.wipeStatus(agent);
    await stage.startOperator();
    await untilSettled(stage);
    gate.resolve();
    expect(await Promise.all(late)).toEqual([expect.objectContaining({ status: 409 })]);
    await untilSettled(stage);
  });
});

describe('a manifest that is applied with kubectl replace', () => {
  const credentialId = async () => (await stage.find(agent))?.metadata.annotations?.[ANNOTATION.externalId];

  it('can ask for a rotation, once', async () => {
    await stage.apply(declared);
    await untilSettled(stage);
    const first = await credentialId();
    await stage.replace(declared, { [ANNOTATION.rotateRequestedAt]: 'now' });
    await untilSettled(stage);
    const second = await credentialId();
    expect(second).not.toBe(first);
    await stage.replace(declared, { [ANNOTATION.rotateRequestedAt]: 'now' });
    await untilSettled(stage);
    expect(await credentialId()).toBe(second);
  });

  it('and is older than a rotation leaves the token in use alone', async () => {
    const overlapping = { ...agent, spec: { ...AGENT, rotation: { overlap: '1h' } } };
    await stage.apply(overlapping);
    await untilSettled(stage);
    const { annotations = {} } = (await stage.find(agent))?.metadata ?? {};
    const old = annotations[ANNOTATION.externalId];
    await rotate('1');
    const rotated = async () => {
      const id = await credentialId();
      return id === undefined || id === old || !(await isIdle(stage)) ? undefined : id;
    };
    const current = await waitFor('the rotation', rotated);
    const token = await stage.token(agent.name);
    const deleted: string[] = [];
    stage.proxy().intercept(async (call, forward) => {
      if (call.target === 'api' && call.method === 'DELETE') deleted.push(call.path);
      return isCreate(call) ? { status: 503, headers: {}, body: Buffer.from('{}') } : forward();
    });
    await stage.replace(overlapping, annotations);
    await waitFor('the recovery', async () => (await credentialId()) === current && (await isIdle(stage)));
    expect(deleted).toEqual([]);
    expect(await stage.client.authenticate({ token })).toMatchObject({ allowed: true, credential_id: current });
    expect((await Array.fromAsync(stage.client.credentials.list())).map(({ id }) => id).toSorted()).toEqual(
      [current, old].toSorted(),
    );
  });
});
