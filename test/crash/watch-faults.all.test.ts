/** Faults of its watches make the operator neither miss nor misread a change. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { countsSince, excess, lastEvent } from './counts.ts';
import { cleanUp, untilSettled } from './inspect.ts';
import { openStage, type Stage } from './stage.ts';

/** Custom resources, APIConnections, the Secrets that the operator writes, and the Secrets and ConfigMaps that specs name. */
const WATCHES = allKinds.length + 4;

const policy = { kind: 'IPPolicy', name: 'policy' } as const;
const agent = { kind: 'TunnelCredential', name: 'agent' } as const;
const rotation = { overlap: '50ms' };

let stage: Stage;
let since: unknown;

beforeAll(async () => {
  stage = await openStage({ flags: ['--watch-silence-timeout', '3s', '--kube-timeout', '5s'] });
  await (await stage.startOperator()).untilReconciling();
}, 120_000);

beforeEach(async () => {
  await createBoth();
  await untilSettled(stage);
  await waitFor('the watches', () => stage.proxy().watches.open === WATCHES);
  since = await lastEvent(stage);
});

afterEach(async () => {
  for (const { watches } of stage.proxies) {
    watches.atStart();
    watches.release();
  }
  await cleanUp(stage);
});

async function createBoth(): Promise<void> {
  await stage.apply({ ...policy, spec: { rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] } });
  await stage.apply({ ...agent, spec: { description: 'first', rotation } });
}

async function editBoth(): Promise<void> {
  await stage.apply({ ...policy, spec: { description: 'edited', rules: [{ cidr: '10.0.0.0/9', action: 'deny' }] } });
  await stage.apply({ ...agent, spec: { description: 'edited', acl: ['bind:a.example.com'], rotation } });
}

const deleteSecret = () => stage.deleteSecret(agent.name);
const rotate = () => stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: 'now' });

/** Nothing is created or deleted twice: at most this many of each. */
async function madeAtMost(credentials: number, policies = 0): Promise<void> {
  const most = {
    'credential_created.v0': credentials,
    'credential_deleted.v0': credentials,
    'ip_policy_created.v0': policies,
    'ip_policy_deleted.v0': policies,
  };
  expect(excess(await countsSince(stage, since), most)).toEqual([]);
}

describe('the operator notices every change', () => {
  it.each(['disconnected', 'refused for a while', 'silent'])('although its watches are %s', async (what) => {
    const { watches } = stage.proxy();
    const before = watches.begun;
    if (what.startsWith('refused')) watches.atStart(() => 'refuse');
    if (what === 'silent') watches.silence();
    else watches.cut();
    await editBoth();
    await deleteSecret();
    if (what.startsWith('refused')) await waitFor('some refusals', () => watches.begun > before + 2 * WATCHES);
    watches.atStart();
    await untilSettled(stage);
    await madeAtMost(1);
  });

  it('although its resource version has expired and new objects have taken the names', async () => {
    const { watches } = stage.proxy();
    const uid = (await stage.find(agent))?.metadata.uid;
    watches.atStart(() => 'refuse');
    watches.cut();
    // Another operator deletes the objects, so that the first one finds new objects with the same names.
    await (await stage.startOperator(1)).untilReconciling();
    await stage.removeAll();
    for (const object of [policy, agent])
      await waitFor(`${object.name} to be gone`, async () => !(await stage.find(object)));
    await stage.operator(1).kill();
    stage.leave(1);
    await createBoth();
    expect((await stage.find(agent))?.metadata.uid).not.toBe(uid);
    const expired = new Set<string>();
    watches.atStart((path) => {
      if (expired.has(path)) return undefined;
      expired.add(path);
      return 'gone';
    });
    // After many refusals, a watch may take half a minute to begin again.
    await untilSettled(stage, 90_000);
    await madeAtMost(1, 1);
  }, 180_000);
});

describe('a stale cache does not mislead the operator', () => {
  const customResources = (path: string) => path.includes('tunnel-operator.dev');

  it('when it must act while the newest objects are held back', async () => {
    stage.proxy().watches.hold(customResources);
    await editBoth();
    await rotate();
    // This event gets through, and the operator acts on an object of which it knows only an older version.
    stage.proxy().forget();
    await deleteSecret();
    // Before it issues a token, it reads the object again.
    const isRead = () =>
      stage.proxy().calls.some(({ method, path }) => method === 'GET' && path.endsWith(`/${agent.name}`));
    await waitFor('a read of the newest version', isRead);
    stage.proxy().watches.release();
    await untilSettled(stage);
    await madeAtMost(2);
  });

  it('when another operator has already done the work', async () => {
    stage.proxy().watches.hold(customResources);
    await (await stage.startOperator(1)).untilReconciling();
    await rotate();
    await editBoth();
    const handled = async () => (await stage.find(agent))?.metadata.annotations?.[ANNOTATION.rotateHandledAt] === 'now';
    await waitFor('the other one to rotate', handled);
    // The first operator knows the object with the old credential. It sees a Secret with the new one, then no Secret.
    await deleteSecret();
    await untilSettled(stage);
    stage.proxy().watches.release();
    await untilSettled(stage);
    await madeAtMost(2);
    await stage.operator(1).kill();
    stage.leave(1);
  });
});
