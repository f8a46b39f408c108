/** A route changes from one way of signing in to another, while the operator is killed at each of its calls to the API. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { API_VERSION, GROUP, VERSION } from '../../src/operator/contract/names.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { readStatus } from '../../src/operator/managed/spec.ts';
import { type Call, CUT } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

const MODULES = { group: GROUP, version: VERSION, plural: 'httpsedgeroutemodules' };
const NAME = 'sign-in';
const OIDC = { issuer: 'https://accounts.example.com', clientId: { value: 'a' }, clientSecret: { value: 'b' } };
const OAUTH = { provider: { github: { organizations: ['acme'] } } };

let stage: Stage;
let edgeId: string;
let routeId: string;

beforeAll(async () => {
  stage = await openStage({ flags: ['--resync-interval', '1h'] });
  await (await stage.startOperator()).untilReconciling();
  edgeId = (await stage.client.httpsEdges.create({})).id;
  const route = { match: '/', match_type: 'path_prefix' } as const;
  routeId = (await stage.client.httpsEdgeRoutes(edgeId).create(route)).id;
  const spec = { routeRef: { id: `${edgeId}/${routeId}` }, oidc: OIDC };
  const object = { apiVersion: API_VERSION, kind: 'HTTPSEdgeRouteModules', metadata: { name: NAME }, spec };
  await stage.kube.create(MODULES, object, stage.namespace);
  await isDone('oidc');
});

afterAll(async () => {
  await stage.kube.delete(MODULES, NAME, stage.namespace);
  const isGone = async () => (await stage.kube.find(MODULES, NAME, stage.namespace)) === undefined;
  await waitFor('the object to go', isGone);
});

const modules = async () => (await stage.client.httpsEdgeRoutes(edgeId).get(routeId)).modules;

/** Waits until the route has that module alone, and the object says so. */
const isDone = (module: string) =>
  waitFor(`${module} alone`, async () => {
    const { metadata, status } = await stage.kube.get(MODULES, NAME, stage.namespace);
    const { conditions = [], observedGeneration, modules: shown } = readStatus({ metadata, status });
    const isReady = findCondition(conditions, 'Ready')?.status === 'True' && observedGeneration === metadata.generation;
    return isReady && String(shown) === module && String(await modules()) === module;
  });

const change = (to: 'oidc' | 'oauth') => {
  const spec = to === 'oidc' ? { oidc: OIDC, oauth: null } : { oidc: null, oauth: OAUTH };
  return stage.kube.patch(MODULES, NAME, { spec }, stage.namespace);
};

const isWrite = ({ target, method, path }: Call) =>
  target === 'api' && ['PUT', 'DELETE'].includes(method) && path.includes(routeId);
const label = ({ target, method, path }: Call) => `${target} ${method} ${path}`;

it('is never open to everybody, whenever the operator dies', { timeout: 300_000 }, async () => {
  stage.proxy().forget();
  await change('oauth');
  await isDone('oauth');
  const calls = stage.proxy().calls.filter(({ target, path }) => target === 'api' && path.includes(routeId));
  const writes = calls.filter(isWrite).map(({ method, path }) => `${method} ${path.split('/').at(-1)}`);
  expect(writes).toEqual(['PUT oauth', 'DELETE oidc']);
  const points = [...new Set(calls.map(label))];

  for (const point of points) {
    for (const when of ['before', 'after'] as const) {
      await change('oidc');
      await isDone('oidc');
      const since = (await stage.query('select max(id) as last from events'))[0]?.last;
      stage.proxy().intercept(async (call, forward) => {
        if (label(call) !== point) return forward();
        if (when === 'after') await forward();
        await stage.operator().kill();
        return CUT;
      });
      await change('oauth');
      await waitFor('the crash', () => !stage.operator().isRunning);
      stage.proxy().intercept();
      expect(await modules(), `${when} ${point}`).not.toEqual([]);
      await (await stage.startOperator()).untilReconciling();
      await isDone('oauth');
      const text = "select payload->'modules' as had from events where id > $1 and resource_id = $2";
      const revisions = await stage.query(text, [since, routeId]);
      expect(revisions.length, `${when} ${point}`).toBe(2);
      expect(revisions.map(({ had }) => had)).not.toContainEqual([]);
    }
  }
});
