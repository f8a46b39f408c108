/** All of `examples/everything.yaml` is deleted at once, by name or with its namespace, while the API is away for part of it. */
import { expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { REASON } from '../../src/operator/contract/reasons.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { cluster, kubectl } from '../harness.ts';
import { lacksControllerManager, skipFor } from '../skip.ts';
import { applyEverything } from './everything.ts';
import { untilSettled } from './inspect.ts';
import { openStage } from './stage.ts';

const needsControllerManager = skipFor(lacksControllerManager(await cluster()));
const stage = await openStage({ flags: ['--api-timeout', '2s'] });
await (await stage.startOperator()).untilReconciling();
// What kubectl remembers of the cluster is from before the CustomResourceDefinitions; this makes it look again.
await kubectl(['api-resources', '--output=name']);

/** After this many DELETEs, the API is stopped. */
const DELETES = 4;

const left = async () => {
  const lists = stage.kinds.map(({ type }) => stage.kube.list(type, { namespace: stage.namespace }));
  return (await Promise.all(lists)).flatMap(({ items }) => items);
};

/** Waits until the operator has met the API's absence. */
async function untilUnavailable(): Promise<void> {
  await waitFor('an object that cannot be deleted', async () =>
    (await left()).some((object) => {
      const synced = findCondition(readStatus(object).conditions ?? [], 'Synced');
      return object.metadata.deletionTimestamp !== undefined && synced?.reason === REASON.apiUnavailable;
    }),
  );
}

/** @param what as `kubectl delete` takes it */
async function deleteAtOnce(...what: string[]): Promise<void> {
  await applyEverything(stage);
  await untilSettled(stage, 90_000);
  const token = await stage.token('store-agents');
  let deletes = 0;
  const away = Promise.withResolvers<void>();
  stage.proxy().intercept((call, forward) => {
    if (call.target === 'api' && call.method === 'DELETE' && ++deletes === DELETES) away.resolve(stage.stopApi());
    return forward();
  });
  const deleted = kubectl(['--namespace', stage.namespace, 'delete', ...what, '--timeout=150s']);
  await Promise.race([away.promise, deleted.then(({ stderr }) => Promise.reject(new Error(`ended early: ${stderr}`)))]);
  await untilUnavailable();
  await stage.restartApi();
  expect(await deleted).toMatchObject({ code: 0 });
  stage.declared.clear();
  expect(await left()).toEqual([]);
  for (const row of stage.kinds) expect(await stage.resourcesOf(row), row.name).toEqual([]);
  expect(await stage.client.authenticate({ token })).toMatchObject({ allowed: false });
}

it('everything is gone after kubectl delete tunnels --all', { timeout: 300_000 }, async () => {
  await deleteAtOnce('tunnels', '--all');
});

// The last one: it takes the namespace.
it('everything is gone with its namespace', { timeout: 300_000, ...needsControllerManager }, async () => {
  await deleteAtOnce('namespace', stage.namespace);
});
