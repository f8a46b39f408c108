/** An operator whose objects are out of date, while it sees the newest Secrets: it leaves them to the one that knows better. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { SECRETS } from '../../src/operator/managed/secrets/secret-cache.ts';
import { cleanUp } from './clean-up.ts';
import type { CredentialSpec } from './declared.ts';
import { isIdle, untilSettled } from './inspect.ts';
import { AGENT, agent } from './pair.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '5s'] });
  for (const place of [0, 1]) await (await stage.startOperator(place)).untilReconciling();
});

afterEach(async () => {
  stage.proxy().watches.release();
  await cleanUp(stage);
});

/** The Secret writes of the operator that does not see the change, once it has looked at what it takes for the newest. */
async function writesAfter(spec: CredentialSpec, change: () => Promise<unknown>): Promise<string[]> {
  await stage.apply({ ...agent, spec });
  await untilSettled(stage);
  const object = await stage.find(agent);
  const id = object && readStatus(object).id;
  const proxy = stage.proxy();
  proxy.watches.hold((path) => path.endsWith('/tunnelcredentials'));
  proxy.forget();
  await change();
  await waitFor('it to look at the resource', () => proxy.calls.some(({ path }) => path === `/credentials/${id}`));
  await waitFor('the end of what it does by what it knows', () => isIdle(stage));
  const writes = proxy.calls.filter(({ method, path }) => method !== 'GET' && /\/secrets\b(?!.*dryRun)/.test(path));
  return writes.map(({ method, path }) => `${method} ${path}`);
}

describe('an operator behind the others writes no Secret', () => {
  it('whose credential was retained, and keeps its token', async () => {
    const writes = await writesAfter({ ...AGENT, deletionPolicy: 'Retain' }, async () => {
      await stage.remove(agent);
      await waitFor('the object to be gone', async () => !(await stage.find(agent)));
    });
    expect(writes).toEqual([]);
    const { metadata } = await stage.kube.get(SECRETS, agent.name, stage.namespace);
    expect(metadata.ownerReferences ?? []).toEqual([]);
    const token = await stage.token(agent.name);
    expect(await stage.client.authenticate({ token })).toMatchObject({ allowed: true });
    await stage.sweep();
  });

  it('that has another name by now', async () => {
    const secret = { name: 'renamed' };
    const rename = async () => {
      await stage.apply({ ...agent, spec: { ...AGENT, secret } });
      await untilSettled(stage);
    };
    expect(await writesAfter(AGENT, rename)).toEqual([]);
    await untilSettled(stage);
  });
});
