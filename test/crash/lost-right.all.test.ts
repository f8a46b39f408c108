/** The owner of the operator's API key is no admin any more: what it may not see is not taken for gone. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { isIdle, untilSettled } from './inspect.ts';
import type { Call } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

const agent = { kind: 'TunnelCredential', name: 'agent' } as const;

let stage: Stage;
let [owner, bot] = ['', ''];
beforeEach(async () => {
  stage = await openStage();
  owner = (await stage.client.users.create({ name: 'The operator', admin: true })).id;
  bot = (await stage.client.botUsers.create({ name: 'an agent' })).id;
  await stage.exchangeApiKey(owner);
  await (await stage.startOperator()).untilReconciling();
});
afterEach(() => stage.close());

const setAdmin = (admin: boolean) => stage.client.users.update(owner, { admin });
const credentials = () => Array.fromAsync(stage.client.credentials.list());
const creates = () =>
  stage.proxy().calls.filter(({ method, path }: Call) => method === 'POST' && path === '/credentials');
const reconcile = () => stage.annotate(agent, { [ANNOTATION.reconcileRequestedAt]: String(performance.now()) });

async function denied(message: RegExp): Promise<void> {
  await waitFor('the condition', async () => {
    const object = await stage.find(agent);
    const ready = findCondition(object ? (readStatus(object).conditions ?? []) : [], 'Ready');
    return ready?.reason === 'AccessDenied' && message.test(ready.message) && (await isIdle(stage));
  });
}

/** Settled; what the operator sends is counted from now on. */
async function made(ownerId: string | undefined = bot): Promise<string> {
  await stage.apply({ ...agent, spec: { description: 'an agent', ...(ownerId && { ownerId }) } });
  await untilSettled(stage);
  stage.proxy().forget();
  return (await stage.find(agent))?.metadata.annotations?.[ANNOTATION.externalId] ?? '';
}

describe('a credential of somebody else', () => {
  it('is left in place, and the object says what to do, which works', async () => {
    const id = await made();
    await setAdmin(false);
    await reconcile();
    await denied(new RegExp(`^${id} exists, but is hidden .*: make ${owner} an admin$`));
    expect(creates()).toEqual([]);
    expect(await credentials()).toMatchObject([{ id }]);
    await setAdmin(true);
    await reconcile();
    await untilSettled(stage);
    expect(await credentials()).toMatchObject([{ id }]);
  });

  it('keeps its object from being deleted until it can be deleted', async () => {
    const id = await made();
    await setAdmin(false);
    await stage.remove(agent);
    await denied(new RegExp(`^${id} exists, but`));
    expect(await credentials()).toMatchObject([{ id }]);
    await setAdmin(true);
    await reconcile();
    await untilSettled(stage);
    expect(await credentials()).toEqual([]);
  });

  it('is not forgotten with its annotations', async () => {
    const id = await made();
    await setAdmin(false);
    await stage.kube.patch(
      { group: 'tunnel-operator.dev', version: 'v1alpha1', plural: 'tunnelcredentials' },
      agent.name,
      { metadata: { annotations: null } },
      stage.namespace,
    );
    await denied(new RegExp(`^${id} exists, but`));
    expect(await credentials()).toMatchObject([{ id }]);
  });

  it('is not forgotten when it was adopted', async () => {
    const { id } = await stage.client.credentials.create({ owner_id: bot, description: 'an agent' });
    await stage.apply({ ...agent, spec: { description: 'an agent' } }, { [ANNOTATION.adopt]: id });
    await waitFor('the adoption', async () => readStatus((await stage.find(agent)) ?? never()).id === id);
    await setAdmin(false);
    await stage.remove(agent);
    await denied(
      new RegExp(`^${id} does not exist, or is hidden .*: make ${owner} an admin, or correct the annotation`),
    );
    await setAdmin(true);
    await reconcile();
    await waitFor('the deletion', async () => (await credentials()).length === 0);
  });
});

it('a credential of its own that was deleted is created again', async () => {
  const id = await made('');
  await setAdmin(false);
  await stage.client.credentials.delete(id);
  await reconcile();
  await untilSettled(stage);
  expect(await credentials()).toMatchObject([{ owner_id: owner }]);
  await stage.remove(agent);
  await untilSettled(stage);
});

function never(): never {
  throw new Error('there is no object');
}
