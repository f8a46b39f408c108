/** What can happen to the operator's watches, and what the operator must not miss or misunderstand because of it. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { storyRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION, API_VERSION, GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { isDeep } from '../tier.ts';
import { cleanUp } from './clean-up.ts';
import { type Counts, countsSince, expectNothingMore, lastEvent, sum } from './counts.ts';
import { untilSettled } from './inspect.ts';
import { openStage, type Stage } from './stage.ts';
import { FATES, failOverToThePast } from './stale-server.ts';
import type { WatchFault } from './watch-relay.ts';

/** Custom resources, the Secrets that the operator writes, and the Secrets and ConfigMaps that specs name. */
const WATCHES = allKinds.length + 3;
/** Both watches of Secrets have the same. */
const PATHS = WATCHES - 1;
const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps' };
const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shared' } };
const BACKENDS = { group: GROUP, version: VERSION, plural: 'httpresponsebackends' };
const manifest = (kind: string, name: string) => ({ apiVersion: API_VERSION, kind, metadata: { name } });
const policy = { kind: 'IPPolicy', name: 'policy' } as const;
const agent = { kind: 'TunnelCredential', name: 'agent' } as const;
const rotation = { overlap: '50ms' };

/** Besides the two that differ most: one of every kind, in the deep suite (watch-faults.deep.test.ts). */
const others = (isDeep ? storyRows : []).map((row) => ({ row, kind: row.name, name: `one-${row.type.plural}` }));
const withSecret = [agent, ...others.filter(({ row }) => row.kind.delivery)];

let stage: Stage;
/** What is created and deleted when nothing is the matter. */
let create: Counts;
let edit: Counts;
let loseSecrets: Counts;
const rotate: Counts = { 'credential_created.v0': 1, 'credential_deleted.v0': 1 };

beforeAll(async () => {
  stage = await openStage({ flags: ['--watch-silence-timeout', '3s', '--kube-timeout', '5s'] });
  await (await stage.startOperator()).untilReconciling();
  create = await counted(createAll);
  edit = await counted(editAll);
  loseSecrets = await counted(deleteSecrets);
  await cleanUp(stage);
}, 240_000);

afterEach(async () => {
  for (const { watches } of stage.proxies) {
    watches.atStart();
    watches.release();
  }
  await cleanUp(stage);
});

async function createAll(): Promise<void> {
  await stage.apply({ ...policy, spec: { rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] } });
  await stage.apply({ ...agent, spec: { description: 'first', rotation } });
  for (const { row, kind, name } of others) await stage.apply({ kind, name, ...(await stage.declare(row, 0)).another });
}

async function editAll(description = 'edited'): Promise<void> {
  await stage.apply({ ...policy, spec: { description, rules: [{ cidr: '10.0.0.0/9', action: 'deny' }] } });
  await stage.apply({ ...agent, spec: { description, acl: ['bind:a.example.com'], rotation } });
  for (const { row, kind, name } of others) await stage.apply({ kind, name, ...(await stage.declare(row, 0)).changed });
}

async function deleteSecrets(): Promise<void> {
  for (const { name } of withSecret) await stage.deleteSecret(name);
}

const settled = () => untilSettled(stage, isDeep ? 90_000 : 30_000);

async function counted(act: () => Promise<void>): Promise<Counts> {
  const since = await lastEvent(stage);
  await act();
  await settled();
  return countsSince(stage, since);
}

const untilWatching = () => waitFor('the watches', () => stage.proxy().watches.open === WATCHES);

describe('the operator learns what it must', () => {
  it('after its watches were disconnected', async () => {
    await createAll();
    await settled();
    await untilWatching();
    stage.proxy().watches.cut();
    expect(await counted(editAll)).toEqual(edit);
  });

  it('after its watches were disconnected and refused for a while', async () => {
    await createAll();
    await settled();
    const { watches } = stage.proxy();
    const before = watches.begun;
    const since = await lastEvent(stage);
    watches.atStart(() => 'refuse');
    watches.cut();
    await editAll();
    await deleteSecrets();
    await waitFor('some refusals', () => watches.begun > before + 2 * WATCHES);
    watches.atStart();
    await settled();
    await expectNothingMore(stage, since, edit, loseSecrets);
  });

  it('from a source that another object has come upon first', async () => {
    const { kube, namespace } = stage;
    const text = (value: string) => ({ ...CONFIG_MAP, data: { text: value } });
    const textOf = async (name: string) => {
      const { status } = await kube.get(BACKENDS, name, namespace);
      const { id } = z.object({ id: z.string() }).parse(status);
      return (await stage.client.httpResponseBackends.get(id)).body;
    };
    await kube.create(CONFIG_MAPS, text('before'), namespace);
    const names = ['one', 'two'];
    const spec = { body: { configMapKeyRef: { name: 'shared', key: 'text' } } };
    for (const name of names)
      await kube.create(BACKENDS, { ...manifest('HTTPResponseBackend', name), spec }, namespace);
    const untilAll = (value: string) =>
      waitFor(`the text "${value}"`, async () => {
        const texts = await Promise.all(names.map((name) => textOf(name).catch(() => undefined)));
        return texts.every((each) => each === value);
      });
    await untilAll('before');
    stage.proxy().watches.hold((path) => path.includes('/configmaps'));
    await kube.patch(CONFIG_MAPS, 'shared', text('after'), namespace);
    const annotations = { [ANNOTATION.reconcileRequestedAt]: 'now' };
    await kube.patch(BACKENDS, 'one', { metadata: { annotations } }, namespace);
    await untilAll('after');
    for (const name of names) await kube.delete(BACKENDS, name, namespace);
    await waitFor('both to be gone', async () => (await kube.list(BACKENDS, { namespace })).items.length === 0);
    await kube.delete(CONFIG_MAPS, 'shared', namespace);
  });

  it('although its watches have gone silent', async () => {
    await createAll();
    await settled();
    await untilWatching();
    const since = await lastEvent(stage);
    stage.proxy().watches.silence();
    await editAll();
    await deleteSecrets();
    await settled();
    await expectNothingMore(stage, since, edit, loseSecrets);
    const metrics = await stage.operator().metrics();
    expect(metrics).toMatch(
      /tunnel_operator_watch_total\{resource="tunnelcredentials",activity="watch-silent"\} [1-9]/,
    );
  });

  it.for<WatchFault>(['gone-http', 'gone-event'])(
    'although the version that it had seen is %s, when an object was deleted and created again meanwhile',
    { timeout: 180_000 },
    async (fault) => {
      const since = await lastEvent(stage);
      await createAll();
      await settled();
      const { watches } = stage.proxy();
      watches.atStart(() => 'refuse');
      watches.cut();
      const before = (await stage.find(agent))?.metadata.uid;

      // Another operator does what there is to do, so that the first one finds objects of the same names, but others.
      const other = await stage.startOperator(1);
      await other.untilReconciling();
      await stage.removeAll();
      const isGone = async (object: typeof policy | (typeof withSecret)[number]) => !(await stage.find(object));
      for (const object of [policy, agent, ...others]) await waitFor(`${object.name} to be gone`, () => isGone(object));
      await other.kill();
      await createAll();
      await editAll();
      expect((await stage.find(agent))?.metadata.uid).not.toBe(before);

      const refused = new Set<string>();
      watches.atStart((path) => {
        if (refused.has(path)) return undefined;
        refused.add(path);
        return fault;
      });
      await other.kill();
      stage.leave(1);
      // What was refused for so long begins again up to half a minute later, and once more after this.
      await untilSettled(stage, 90_000);
      // Those of other kinds may still be waiting to begin again.
      await waitFor('every watch to meet it', () => refused.size === PATHS);
      await settled();
      // Of the first, all was deleted once more.
      const deleted = Object.entries(create).map(([type, times]) => [type.replace('_created', '_deleted'), times]);
      await expectNothingMore(stage, since, create, Object.fromEntries(deleted), create, edit);
    },
  );
});

describe('a stale cache does not mislead the operator', () => {
  const customResources = (path: string) => path.includes('tunnel-operator.dev');

  it('when it is asked to work while the newest objects are held back', async () => {
    await createAll();
    await settled();
    await untilWatching();
    const since = await lastEvent(stage);
    stage.proxy().watches.hold(customResources);
    await editAll();
    await stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: 'held back' });
    // It is told of this, and acts on an object that it knows in an older version only.
    stage.proxy().forget();
    await deleteSecrets();
    // Before it issues a token, it reads the object again.
    const isRead = () =>
      stage.proxy().calls.some(({ method, path }) => method === 'GET' && path.endsWith(`/${agent.name}`));
    await waitFor('a look at the newest version', isRead);
    stage.proxy().watches.release();
    await settled();
    await expectNothingMore(stage, since, edit, rotate, loseSecrets);
  });

  it('when another operator has done the work that it does not know of', async () => {
    await createAll();
    await settled();
    await untilWatching();
    const since = await lastEvent(stage);
    stage.proxy().watches.hold(customResources);
    const other = await stage.startOperator(1);
    await other.untilReconciling();
    await stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: 'now' });
    await editAll();
    const handled = async () => (await stage.find(agent))?.metadata.annotations?.[ANNOTATION.rotateHandledAt] === 'now';
    await waitFor('the other one to rotate', handled);
    // The first one knows the object with the old credential, and sees a Secret with the new one, which then goes too.
    await deleteSecrets();
    await settled();
    stage.proxy().watches.release();
    await settled();
    await expectNothingMore(stage, since, edit, rotate, loseSecrets);
    await other.kill();
    stage.leave(1);
  });

  it('when a route is to serve for the first time, and its modules were applied first', async () => {
    const name = 'guarded';
    const ours = (plural: string): ResourceType => ({ group: GROUP, version: VERSION, plural });
    const [routes, modules] = [ours('httpsedgeroutes'), ours('httpsedgeroutemodules')];
    const [backends, edges] = [ours('httpresponsebackends'), ours('httpsedges')];
    const make = (type: ResourceType, kind: string, spec: object) =>
      stage.kube.create(type, { apiVersion: API_VERSION, kind, metadata: { name }, spec }, stage.namespace);
    const untilReady = (type: ResourceType) =>
      waitFor(`${type.plural} to be ready`, async () => {
        const { conditions = [], id } = readStatus(await stage.kube.get(type, name, stage.namespace));
        return findCondition(conditions, 'Ready')?.status === 'True' && id;
      });
    await untilWatching();
    await make(edges, 'HTTPSEdge', {});
    await make(backends, 'HTTPResponseBackend', { body: { value: 'inside' } });
    await Promise.all([untilReady(edges), untilReady(backends)]);
    stage.proxy().watches.hold((path) => path.includes('httpsedgeroutemodules'));
    const oidc = { issuer: 'https://accounts.example.com', clientId: { value: 'a' }, clientSecret: { value: 'b' } };
    await make(modules, 'HTTPSEdgeRouteModules', { routeRef: { name }, oidc });
    const backendRef = { kind: 'HTTPResponseBackend', name };
    await make(routes, 'HTTPSEdgeRoute', { edgeRef: { name }, match: '/', matchType: 'path_prefix', backendRef });
    const id = await untilReady(routes);
    const text =
      "select payload->'backend' as backend, payload->'modules' as modules from events where resource_id = $1";
    const revisions = await stage.query(`${text} order by id`, [id.split('/').at(-1)]);
    expect(revisions.at(-1)).toMatchObject({ backend: {}, modules: ['oidc'] });
    expect(revisions.filter(({ backend, modules }) => backend !== null && String(modules) === '')).toEqual([]);
    stage.proxy().watches.release();
    const all = [routes, modules, backends, edges];
    for (const type of all) await stage.kube.delete(type, name, stage.namespace);
    for (const type of all)
      await waitFor(`no ${type.plural}`, async () => !(await stage.kube.find(type, name, stage.namespace)));
  });

  it('when nothing is delivered after a restart', async () => {
    await createAll();
    await settled();
    await stage.operator().kill();
    const since = await lastEvent(stage);
    await editAll();
    stage.proxy().watches.hold();
    await (await stage.startOperator()).untilReconciling();
    await settled();
    expect(await countsSince(stage, since)).toEqual(edit);
    await editAll('edited again');
    await stage.annotate(agent, { [ANNOTATION.rotateRequestedAt]: 'again' });
    stage.proxy().watches.release();
    await settled();
    expect(await countsSince(stage, since)).toEqual(sum([edit, rotate]));
  });

  it('of any kind, when an API server that is behind answers it after a failover', { timeout: 120_000 }, async () => {
    // Of each kind one object, in turn with one of these fates.
    await failOverToThePast(stage, (fate, nth) => FATES[nth % FATES.length] === fate);
  });
});
