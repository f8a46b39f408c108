/** A create is under way, and then its object is only to observe, is deleted, or loses what it has noted of it. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION, GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { SECRETS } from '../../src/operator/managed/secrets/secret-cache.ts';
import type { CredentialSpec } from './declared.ts';
import { isIdle, untilSettled } from './inspect.ts';
import { type Call, CUT } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

const CREDENTIALS = { group: GROUP, version: VERSION, plural: 'tunnelcredentials' };
const agent = { kind: 'TunnelCredential', name: 'agent' } as const;
const AGENT: CredentialSpec = { description: 'an agent', rotation: { overlap: '0s' } };
const declared = { ...agent, spec: AGENT };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '5s'] });
  await (await stage.startOperator()).untilReconciling();
});

afterEach(async () => {
  stage.proxy().intercept();
  await stage.sweep();
});

const isCreate = ({ method, path }: Call) => method === 'POST' && path === '/credentials';
const ids = async () => (await Array.fromAsync(stage.client.credentials.list())).map(({ id }) => id);
const currentId = async () => (await stage.find(agent))?.metadata.annotations?.[ANNOTATION.externalId];
const rotate = (value: string) => stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: value });
const reconcile = () => stage.annotate(agent, { [ANNOTATION.reconcileRequestedAt]: String(performance.now()) });
const accepts = async (token: string) => (await stage.client.authenticate({ token })).allowed;
const isGone = async () => (await stage.find(agent)) === undefined;

/** The operator dies with its next create: the credential is there, and nobody has heard of it. */
async function dieInCreate(begin: () => Promise<unknown>): Promise<void> {
  stage.proxy().intercept(async (call, forward) => {
    if (!isCreate(call)) return forward();
    await forward();
    await stage.operator().kill();
    return CUT;
  });
  await begin();
  await waitFor('the crash', () => !stage.operator().isRunning);
  stage.proxy().intercept();
}

const setSpec = (spec: object) => stage.kube.patch(CREDENTIALS, agent.name, { spec }, stage.namespace);
const create = () => stage.apply(declared);

/** An object with a credential, whose rotation is under way. */
async function rotating(): Promise<{ id: string; token: string }> {
  await create();
  await untilSettled(stage);
  const before = { id: (await currentId()) ?? '', token: await stage.token(agent.name) };
  await dieInCreate(() => rotate('1'));
  return before;
}

async function shows(reason: string): Promise<void> {
  await waitFor(`the reason ${reason}`, async () => {
    const { conditions = [] } = readStatus((await stage.find(agent)) ?? { metadata: never() });
    return conditions.some((condition) => condition.reason === reason) && (await isIdle(stage));
  });
}

describe('a create that is under way when the object is only to observe', () => {
  it('goes on when it is managed again', async () => {
    await dieInCreate(create);
    await setSpec({ managementPolicy: 'Observe' });
    await stage.startOperator();
    await shows('NothingToObserve');
    await setSpec({ managementPolicy: 'Manage' });
    await untilSettled(stage);
  });

  it('is undone where the object is deleted', async () => {
    await dieInCreate(create);
    await setSpec({ managementPolicy: 'Observe' });
    await stage.remove(agent);
    await stage.startOperator();
    await waitFor('the deletion', isGone);
    expect(await ids()).toEqual([]);
  });

  it('of a rotation leaves the token in use, and goes on when it is managed again', async () => {
    const before = await rotating();
    await setSpec({ managementPolicy: 'Observe' });
    await stage.startOperator();
    await shows('Observed');
    expect(await accepts(before.token)).toBe(true);
    await setSpec({ managementPolicy: 'Manage' });
    await untilSettled(stage);
    expect(await ids()).not.toContain(before.id);
  });

  it('of a rotation leaves the token in use, if the object is deleted', async () => {
    const before = await rotating();
    await setSpec({ managementPolicy: 'Observe' });
    await stage.remove(agent);
    await stage.startOperator();
    await waitFor('the deletion', isGone);
    expect(await ids()).toEqual([before.id]);
  });
});

describe('with Retain, a create that is under way when the object is deleted', () => {
  it('leaves no credential whose token nobody has', async () => {
    await dieInCreate(() => stage.apply({ ...agent, spec: { ...AGENT, deletionPolicy: 'Retain' } }));
    await stage.remove(agent);
    await stage.startOperator();
    await waitFor('the deletion', isGone);
    expect(await ids()).toEqual([]);
  });

  it('of a rotation whose Secret is gone leaves the credential that was there before', async () => {
    const before = await rotating();
    await setSpec({ deletionPolicy: 'Retain' });
    await stage.deleteSecret(agent.name);
    await stage.remove(agent);
    await stage.startOperator();
    await waitFor('the deletion', isGone);
    expect(await ids()).toEqual([before.id]);
  });
});

describe('the credential whose token is in the Secret goes only after its successor is there', () => {
  /** Whether the Secret's token still worked whenever a credential was deleted. */
  function watchTokens(): boolean[] {
    const worked: boolean[] = [];
    stage.proxy().intercept(async (call, forward) => {
      const answer = await forward();
      if (call.target === 'api' && call.method === 'DELETE') worked.push(await accepts(await stage.token(agent.name)));
      return answer;
    });
    return worked;
  }

  it('when the key of the create that is under way is edited', async () => {
    const before = await rotating();
    await stage.annotate(agent, { [ANNOTATION.createKey]: 'edited' });
    const worked = watchTokens();
    await stage.startOperator();
    await untilSettled(stage);
    expect(await ids()).toEqual([await currentId()]);
    expect(await ids()).not.toContain(before.id);
    expect(worked).not.toContain(false);
    expect(worked).not.toEqual([]);
  });

  it('when it was adopted, and everything noted of its rotation is lost', async () => {
    const { id, token } = await stage.client.credentials.create({ description: 'an agent' });
    await stage.apply(declared, { [ANNOTATION.adopt]: id });
    await shows('TokenUnavailable');
    // It dies after the new token is stored, before anything says so.
    stage.proxy().intercept(async (call, forward) => {
      if (call.target !== 'kube' || call.method === 'GET' || !call.path.endsWith('/secrets')) return forward();
      await forward();
      await stage.operator().kill();
      return CUT;
    });
    await rotate('1');
    await waitFor('the crash', () => !stage.operator().isRunning);
    const stored = await stage.token(agent.name);
    await stage.annotate(agent, {
      [ANNOTATION.externalId]: null,
      [ANNOTATION.createGeneration]: null,
      [ANNOTATION.createKey]: null,
      [ANNOTATION.retiring]: null,
      [ANNOTATION.adopt]: null,
      [ANNOTATION.rotateRequestedAt]: null,
      [ANNOTATION.rotateHandledAt]: null,
    });
    const worked = watchTokens();
    await stage.startOperator();
    await untilSettled(stage);
    expect(await stage.token(agent.name)).toBe(stored);
    expect(await ids()).toEqual([await currentId()]);
    expect(await accepts(token ?? '')).toBe(false);
    expect(worked).not.toContain(false);
  });

  it('when the annotations say that it is superseded, and the successor has no token', async () => {
    await create();
    await untilSettled(stage);
    const { externalId = '', generation } = readIdentity((await stage.find(agent)) ?? { metadata: never() });
    await dieInCreate(() => rotate('1'));
    const [newest = ''] = await ids();
    const { resourceVersion } = (await stage.kube.get(SECRETS, agent.name, stage.namespace)).metadata;
    await stage.annotate(agent, {
      [ANNOTATION.externalId]: newest,
      [ANNOTATION.retiring]: JSON.stringify([{ id: externalId, generation, after: '2026-01-01T00:00:00.000Z' }]),
    });
    const worked = watchTokens();
    await stage.startOperator();
    await untilSettled(stage);
    expect(await ids()).toHaveLength(1);
    expect((await stage.kube.get(SECRETS, agent.name, stage.namespace)).metadata.resourceVersion).not.toBe(
      resourceVersion,
    );
    expect(worked).not.toContain(false);
    await reconcile();
    await untilSettled(stage);
  });
});

function never(): never {
  throw new Error('there is no object');
}
