/** What may befall an object of any kind, with one of each at the same time. */
import { afterEach, expect, it } from 'vitest';
import type { Declaration } from '../../dev/fixtures/kinds.ts';
import { type Story, storyRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { API_VERSION } from '../../src/operator/contract/names.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import { SECRETS } from '../../src/operator/managed/secrets/secret-cache.ts';
import { cleanUp } from './clean-up.ts';
import { untilSettled } from './inspect.ts';
import type { Answer, Call } from './proxy.ts';
import { openStage } from './stage.ts';

const stage = await openStage({ flags: ['--api-timeout', '2s'] });
await (await stage.startOperator()).untilReconciling();

const cast = storyRows.map((row, n) => ({ row, n, kind: row.name, name: `one-${row.type.plural}` }));

afterEach(() => cleanUp(stage));

async function applyEach(which: (story: Story) => Declaration): Promise<void> {
  for (const { row, n, kind, name } of cast) await stage.apply({ kind, name, ...which(await stage.declare(row, n)) });
}

/** The id of each, by kind. */
async function ids(): Promise<Map<string, string | undefined>> {
  const found = cast.map(async (one) => {
    const object = await stage.find(one);
    return [one.kind, object && readIdentity(object).externalId] as const;
  });
  return new Map(await Promise.all(found));
}

const isUpdate = ({ target, method }: Call) => target === 'api' && (method === 'PATCH' || method === 'PUT');

const count = async (pattern: string) => {
  const [row] = await stage.query('select count(*)::int as n from events where type like $1', [pattern]);
  return Number(row?.n);
};

/** With a text of its own in a member that can be updated, or with other modules. */
function third({ changed, lists }: Story): Declaration {
  if (lists?.least) return lists.least;
  const member = 'description' in changed.spec ? 'description' : 'name';
  const given = { [member]: 'third' };
  return { ...changed, spec: { ...changed.spec, ...given }, remote: { ...changed.remote, ...given } };
}

it('an update that was abandoned and arrives after a newer one changes nothing', async () => {
  await applyEach(({ another }) => another);
  await untilSettled(stage);
  const gate = Promise.withResolvers<void>();
  const late = new Map<string, Promise<unknown>>();
  stage.proxy().intercept(async (call, forward) => {
    if (!isUpdate(call) || late.has(call.path)) return forward();
    const arrival = gate.promise.then(forward);
    late.set(call.path, arrival);
    return arrival;
  });
  const updated = cast.filter(({ row }) => row.replaced.length === 0);
  const before = await ids();
  await applyEach(({ changed }) => changed);
  await waitFor('an update of each', () => late.size >= updated.length);
  await applyEach(third);
  await untilSettled(stage, 60_000);
  gate.resolve();
  const answers = [...(await Promise.all(late.values()))];
  expect(answers).toEqual(answers.map(() => expect.objectContaining({ status: 412 })));
  await untilSettled(stage);
  const after = await ids();
  for (const { kind } of updated) expect(after.get(kind), kind).toBe(before.get(kind));
});

it('an update that was abandoned, and arrives after the spec was put back, is undone', async () => {
  await applyEach(({ another }) => another);
  await untilSettled(stage);
  const gate = Promise.withResolvers<void>();
  const late: Promise<Answer>[] = [];
  const paths = new Set<string>();
  stage.proxy().intercept((call, forward) => {
    if (!isUpdate(call)) return forward();
    const arrival = gate.promise.then(forward);
    late.push(arrival);
    paths.add(call.path);
    return arrival;
  });
  const updated = cast.filter(({ row }) => row.replaced.length === 0);
  for (const { row, n, kind, name } of updated)
    await stage.apply({ kind, name, ...(await stage.declare(row, n)).changed });
  await waitFor('an update of each', () => paths.size >= updated.length);
  await applyEach(({ another }) => another);
  await untilSettled(stage, 60_000);
  // Only now: a reconcile that had begun with the changed spec would send its update again.
  stage.proxy().intercept();
  gate.resolve();
  const answers = await Promise.all(late);
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(updated.length);
  await untilSettled(stage);
});

it('nothing is made twice when a backup is restored: new UIDs, no status', async () => {
  await applyEach(({ another }) => another);
  await untilSettled(stage);
  const before = { ids: await ids(), made: await count('%_created.v0'), gone: await count('%_deleted.v0') };
  const backup = await Promise.all(cast.map((one) => stage.find(one)));
  const secrets = (await stage.kube.list(SECRETS, { namespace: stage.namespace })).items;

  await stage.operator().kill();
  for (const { row, name } of cast) {
    await stage.kube.patch(row.type, name, { metadata: { finalizers: null } }, stage.namespace);
    await stage.kube.delete(row.type, name, stage.namespace);
  }
  await stage.sweepSecrets();
  for (const { metadata, type, data } of secrets) {
    const existing = await stage.kube.find(SECRETS, metadata.name, stage.namespace);
    const { name, labels, annotations } = metadata;
    if (!existing)
      await stage.kube.create(SECRETS, { metadata: { name, labels, annotations }, type, data }, stage.namespace);
  }
  for (const [at, { row, kind }] of cast.entries()) {
    const { name, labels, annotations } = backup[at]?.metadata ?? {};
    const body = { apiVersion: API_VERSION, kind, metadata: { name, labels, annotations }, spec: backup[at]?.spec };
    await stage.kube.create(row.type, body, stage.namespace);
  }
  await (await stage.startOperator()).untilReconciling();
  await untilSettled(stage);
  expect({ ids: await ids(), made: await count('%_created.v0'), gone: await count('%_deleted.v0') }).toEqual(before);
});
