/** One API and two clusters: a resource has one manager, and a copy of its object does not own it. */
import { afterEach, describe, expect, test } from 'vitest';
import { ANNOTATION, GROUP } from '../../src/operator/contract/names.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { CREDENTIALS, credential, manifest, ours, POLICIES, policy, SECRETS } from './manifest.ts';
import { startSecondCluster } from './second-cluster.ts';
import { eventually, type RunningOperator, startStack } from './stack.ts';

const [EDGES, MODULES] = [ours('tlsedges'), ours('tlsedgemodules')];
const REQUESTED = `${GROUP}/reconcile-requested-at`;
const retained = { deletionPolicy: 'Retain' };

describe('one API and two clusters', skipFor(NOT_OUR_CLUSTER), async () => {
  const stack = await startStack({ prefix: 'managers', operators: 0 });
  const second = await startSecondCluster(stack);
  const running: RunningOperator[] = [];
  const start = async (settings = {}) => void running.push(await stack.operate(settings));
  const stopAll = async () => {
    for (const operator of running.splice(0)) await stack.stopOperator(operator);
  };
  afterEach(async () => {
    if (running.length < 2) await Promise.all([stopAll(), start(), start(second.settings)]);
    await Promise.all([stack.run('delete', 'tunnels', '--all', '--timeout=30s'), second.clear()]);
    await stopAll();
    for await (const { id } of stack.client.ipPolicies.list()) await stack.client.ipPolicies.delete(id);
  });

  /** Everything that the API has, with its revisions. */
  const state = () =>
    stack.sql(`select id, revision from ip_policies union all select id, revision from credentials
               union all select id, revision from tls_edges order by id`);
  const managerOf = async (id: unknown) => (await stack.client.resourceManagers.get(String(id))).id;
  const firstCluster = async ({ metadata: { uid } }: KubeObject, id: unknown) =>
    (await managerOf(id)).replace(`/${uid}`, '');

  test('a copied namespace waits, gets no token, and is deleted without a trace', async () => {
    await start();
    await stack.apply(
      policy('office', { rules: [{ cidr: '192.0.2.0/24', action: 'allow' }] }),
      credential('agent'),
      manifest('TLSEdge', 'edge'),
    );
    const edge = await stack.ready(EDGES, 'edge');
    const { object, status } = await stack.ready(POLICIES, 'office');
    const byId = { tlsEdgeRef: { id: edge.status.id }, ipRestriction: { ipPolicyRefs: [{ id: status.id }] } };
    await stack.apply(manifest('TLSEdgeModules', 'by-id', byId));
    await stack.ready(MODULES, 'by-id');
    const agent = await stack.ready(CREDENTIALS, 'agent');
    const { token } = (await stack.secret(String(agent.status.secretName))) ?? {};
    const before = await state();

    await second.copy();
    await start(second.settings);
    const cluster = await firstCluster(object, status.id);
    for (const [type, name] of [
      [POLICIES, 'office'],
      [CREDENTIALS, 'agent'],
      [EDGES, 'edge'],
      [MODULES, 'by-id'],
    ] as const) {
      const { ready } = await second.reason(type, name, 'ManagementConflict');
      expect(ready?.message).toContain(` ${stack.namespace}/${name} of the cluster ${cluster}: `);
    }
    expect((await second.kube.list(SECRETS, { namespace: second.namespace })).items).toEqual([]);
    await second.clear();
    expect(await state()).toEqual(before);
    const { ipRestriction } = stack.client.tlsEdgeModules(String(edge.status.id));
    expect(await ipRestriction.get()).toMatchObject({ enabled: true });
    expect(await stack.accepts(token)).toBe(true);
  });

  test('of two objects that adopt one resource, one gets it; the other goes on when the first lets go', async () => {
    await Promise.all([start(), start(second.settings)]);
    const { id } = await stack.client.ipPolicies.create({});
    const adopting = (description: string) =>
      policy('adopted', { ...retained, description }, { [ANNOTATION.adopt]: id });
    await Promise.all([stack.apply(adopting('first')), second.apply(adopting('second'))]);
    const clusters = { first: stack, second };
    const winner = await eventually(async () => {
      const seen = await Promise.all([stack.see(POLICIES, 'adopted'), second.see(POLICIES, 'adopted')]);
      const reasons = seen.map(({ ready }) => ready?.reason);
      expect(reasons.toSorted()).toEqual(['Available', 'ManagementConflict']);
      return reasons[0] === 'Available' ? ('first' as const) : ('second' as const);
    });
    const loser = winner === 'first' ? 'second' : 'first';
    expect(await stack.client.ipPolicies.get(id)).toMatchObject({ description: winner });
    const [{ changes } = {}] = await stack.sql('select count(*) as changes from events where resource_id = $1', [id]);
    expect(Number(changes)).toBe(2);

    await (winner === 'first' ? stack.remove(POLICIES, 'adopted') : second.clear());
    await clusters[loser].annotate(POLICIES, 'adopted', { [REQUESTED]: 'now' });
    await eventually(async () =>
      expect((await clusters[loser].see(POLICIES, 'adopted')).ready).toMatchObject({ reason: 'Available' }),
    );
    expect(await stack.client.ipPolicies.get(id)).toMatchObject({ description: loser });
  });

  test('a resource is taken over by name, which the first manager learns at its next write; its deletion deletes nothing', async () => {
    await start();
    await stack.apply(policy('taken'));
    const { status } = await stack.ready(POLICIES, 'taken');
    const id = String(status.id);
    const manager = await managerOf(id);
    await second.copy();
    await second.annotate(POLICIES, 'taken', { [ANNOTATION.takeOver]: `${manager}0` });
    await start(second.settings);
    await second.reason(POLICIES, 'taken', 'ManagementConflict');
    await second.annotate(POLICIES, 'taken', { [ANNOTATION.takeOver]: manager });
    const taken = await second.reason(POLICIES, 'taken', 'Available');
    expect(await managerOf(id)).toBe(`${await second.id()}/${taken.object.metadata.uid}`);

    await stack.apply(policy('taken', { description: 'by the first' }));
    const { ready } = await stack.reason(POLICIES, 'taken', 'Ready', 'ManagementConflict');
    expect(ready?.message).toContain(`the IPPolicy ${second.namespace}/taken of the cluster ${await second.id()}`);
    await stack.remove(POLICIES, 'taken');
    expect(await stack.client.ipPolicies.get(id)).toMatchObject({ description: null });
  });

  test('a new cluster takes over from a lost one with one setting', async () => {
    await start();
    await stack.apply(policy('a'), policy('b', { description: 'x' }));
    const before = await Promise.all(['a', 'b'].map((name) => stack.ready(POLICIES, name)));
    const [first] = before;
    if (!first) throw new Error('no object');
    const lost = await firstCluster(first.object, first.status.id);
    await second.copy();
    await stopAll();
    await start({ ...second.settings, takeOverFrom: [lost] });
    for (const { object, status } of before) {
      const after = await second.reason(POLICIES, object.metadata.name, 'Available');
      expect(after.status.id).toBe(status.id);
    }
  });

  test('in one cluster, an object that was restored under another UID takes over by itself', async () => {
    await start();
    await stack.apply(policy('restored'));
    const { object, status } = await stack.ready(POLICIES, 'restored');
    await stopAll();
    await stack.kube.patch(POLICIES, 'restored', { metadata: { finalizers: null } }, stack.namespace);
    await stack.remove(POLICIES, 'restored');
    await stack.apply(policy('restored', {}, object.metadata.annotations));
    await start();
    const after = await stack.ready(POLICIES, 'restored');
    expect(after.status.id).toBe(status.id);
    expect(await managerOf(status.id)).toMatch(new RegExp(`/${after.object.metadata.uid}$`));
    await eventually(async () =>
      expect((await stack.events('restored')).map(({ reason }) => reason)).toContain('TakenOver'),
    );
  });

  test('an object that only observes lets go', async () => {
    await start();
    await stack.apply(policy('observing'));
    const { status } = await stack.ready(POLICIES, 'observing');
    await stack.apply(policy('observing', { managementPolicy: 'Observe' }));
    await stack.reason(POLICIES, 'observing', 'Synced', 'Observed');
    await expect(managerOf(status.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
