/** The operator comes back with another API key while a create is under way: still exactly one resource. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { untilSettled } from './inspect.ts';
import { type Call, CUT } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

const LEASES: ResourceType = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

const agent = { kind: 'TunnelCredential', name: 'agent' } as const;
const declared = { ...agent, spec: { description: 'an agent', rotation: { overlap: '0s' } } };

let stage: Stage;
let [first, second] = ['', ''];
beforeEach(async () => {
  stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '5s'] });
  first = (await stage.client.whoami()).owner.id;
  second = (await stage.client.users.create({ name: 'Somebody else', admin: true })).id;
});
afterEach(() => stage.close());

const isCreate = ({ method, path }: Call) => method === 'POST' && path === '/credentials';
const isWrite = ({ target, method }: Call) => target === 'api' && method !== 'GET';
const remembered = async () => {
  const lease = await stage.kube.find(LEASES, 'tunnel-operator', stage.namespace);
  return lease?.metadata.annotations?.[ANNOTATION.apiOwner];
};
const credentials = () => Array.fromAsync(stage.client.credentials.list());

/** The operator dies with its first create: the credential is there, and nobody has heard of it. */
async function dieInCreate(): Promise<void> {
  await (await stage.startOperator()).untilReconciling();
  stage.proxy().intercept(async (call, forward) => {
    if (!isCreate(call)) return forward();
    await forward();
    await stage.operator().kill();
    return CUT;
  });
  await stage.apply(declared);
  await waitFor('the crash', () => !stage.operator().isRunning);
  stage.proxy().intercept();
  stage.proxy().forget();
}

/** An operator that has seen that its key is another owner's. */
async function refused(flags: readonly string[] = []): Promise<string> {
  await stage.operator().kill();
  const operator = await stage.startOperator(0, flags);
  return waitFor('the refusal', async () => {
    const problems = await operator.problems();
    return /the API key belongs to|refuses the operator's API key/.test(problems) && problems;
  });
}

it('with a new key of the same owner, it goes on', async () => {
  await dieInCreate();
  expect(await remembered()).toBe(first);
  await stage.exchangeApiKey();
  await stage.startOperator();
  await untilSettled(stage);
  expect(await credentials()).toHaveLength(1);
  expect(await remembered()).toBe(first);
});

it('with a key of another owner, it leaves everything alone and says what to do; with the first, it goes on', async () => {
  await dieInCreate();
  await stage.exchangeApiKey(second);
  const problem = await refused();
  expect(problem).toContain(`the API key belongs to ${second} (Somebody else)`);
  expect(problem).toContain(`belongs to ${first}`);
  expect(problem).toContain(`--accept-new-owner ${second}`);
  const operator = stage.operator();
  expect(await operator.metrics()).toMatch(/^tunnel_operator_api_owner_refused 1$/m);
  // It gathers lines before it writes them.
  const lines = await waitFor('the line', async () => {
    const found = (await operator.log()).split('\n').filter((line) => line.includes('the API key belongs to'));
    return found.length > 0 && found;
  });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('"level":50');
  expect(stage.proxy().calls.filter(isWrite)).toEqual([]);
  expect(operator.isRunning).toBe(true);
  expect(await remembered()).toBe(first);

  await operator.stop();
  await stage.exchangeApiKey();
  await stage.startOperator();
  await untilSettled(stage);
  expect(await credentials()).toHaveLength(1);
});

it('with a key of another owner that was accepted, it goes on with what is there', async () => {
  const run = await stage.startOperator();
  await stage.apply(declared);
  await untilSettled(stage);
  const [before] = await credentials();
  await run.stop();

  await stage.exchangeApiKey(second);
  await (await stage.startOperator(0, ['--accept-new-owner', second])).untilReconciling();
  expect(await remembered()).toBe(second);
  await untilSettled(stage);
  expect(await credentials()).toMatchObject([{ id: before?.id }]);

  await stage.operator().stop();
  await stage.startOperator();
  await stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: '1' });
  await untilSettled(stage);
  const after = await credentials();
  expect(after).toHaveLength(1);
  expect(after).not.toMatchObject([{ id: before?.id }]);

  // The flag that was left over is for that owner, not for the next one.
  await stage.exchangeApiKey(first);
  expect(await refused(['--accept-new-owner', second])).toContain(`It was started with --accept-new-owner ${second}`);
});

it('with a key that the API does not know, it says so and sends nothing', async () => {
  await dieInCreate();
  await stage.exchangeApiKey();
  for await (const { id, description } of stage.client.apiKeys.list()) {
    if (description === 'another key') await stage.client.apiKeys.delete(id);
  }
  expect(await refused()).toContain("the management API refuses the operator's API key (TUNNEL_API_KEY)");
  await waitFor('the condition', async () =>
    JSON.stringify((await stage.find(agent))?.status).includes('AccessDenied'),
  );
  expect(stage.proxy().calls.filter(isWrite)).toEqual([]);
});

it('an API that is too old to say whose key it is, is warned of once', async () => {
  await stage.prepareProxy();
  stage.proxy().intercept(async (call, forward) => {
    if (call.path !== '/whoami') return forward();
    // What such an API answers.
    const response = await fetch(`${stage.apiUrl}/no-such-path`, { headers: { authorization: 'Bearer x' } });
    return {
      status: response.status,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(await response.arrayBuffer()),
    };
  });
  const operator = await stage.startOperator();
  await stage.apply(declared);
  await untilSettled(stage);
  expect((await operator.log()).match(/too old to say whose key this is/g)).toHaveLength(1);
  expect(await remembered()).toBeUndefined();
  expect(await operator.problems()).toBe('');
});

it('a key that changes hands while the API refuses it ends the process before anything is written', async () => {
  const operator = await stage.startOperator();
  await stage.apply(declared);
  await untilSettled(stage);
  // Another installation of the API in its place: it knows the key, as its first one, and has an owner of its own.
  const other = await openStage();
  try {
    let isBack = false;
    stage.proxy().forget();
    stage.proxy().intercept(async ({ target, method, path, body }, forward) => {
      if (target !== 'api') return forward();
      const headers = { authorization: isBack ? `Bearer ${stage.apiKey}` : 'Bearer nobody' };
      const carried = body === '' ? {} : { body };
      const response = await fetch(other.apiUrl + path, { method, headers, ...carried });
      return {
        status: response.status,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(await response.arrayBuffer()),
      };
    });
    await stage.apply({ ...declared, spec: { ...declared.spec, description: 'changed' } });
    await waitFor('the refusal', async () => (await operator.problems()).includes('refuses the operator'));
    isBack = true;
    const writes = () => stage.proxy().calls.filter((call) => isWrite(call) && (call.status ?? 0) < 400);
    await waitFor('the end', () => !operator.isRunning);
    expect(await operator.log()).toContain('the API key belongs to');
    expect(writes()).toEqual([]);
    expect(await Array.fromAsync(other.client.credentials.list())).toEqual([]);
  } finally {
    await other.close();
  }
});
