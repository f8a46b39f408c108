/** Two operators with complementary selectors share the objects of a namespace, and hand them over. */
import { describe, expect, test } from 'vitest';
import { LabelSelector } from '../../src/operator/kube/label-selector.ts';
import type { OperatorConfig } from '../../src/operator/settings.ts';
import { CREDENTIALS, credential, LEASES, type Manifest, manifest, POLICIES, policy } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'shards', operators: 0 });
const { kube, namespace } = stack;

function shard(text: string): Pick<OperatorConfig, 'shardSelector' | 'identity' | 'leaderElect' | 'leaseMs'> {
  return { shardSelector: LabelSelector.parse(text), identity: text, leaderElect: true, leaseMs: 2_000 };
}
const [ODD, EVEN] = ['shard=odd', 'shard!=odd'];
const [odd, even] = [await stack.operate(shard(ODD)), await stack.operate(shard(EVEN))];

const labelled = (of: Manifest, value: string): Manifest => ({
  ...of,
  metadata: { ...of.metadata, labels: { shard: value } },
});
const move = (kind: string, name: string, value: string) =>
  stack.run('label', kind, name, `shard=${value}`, '--overwrite');

/** Which operators have sent Events about an object. */
async function workedOnBy(name: string): Promise<string[]> {
  const { items } = await kube.list({ group: '', version: 'v1', plural: 'events' }, { namespace });
  const about = items.filter(({ involvedObject }) => (involvedObject as { name?: string }).name === name);
  return [...new Set(about.map(({ reportingInstance }) => String(reportingInstance)))];
}

async function reconciles({ healthUrl }: typeof odd): Promise<number> {
  const text = await (await fetch(`${healthUrl}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('controller_runtime_reconcile_total{'));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

describe('two operators', () => {
  test('are both leaders, each on its own Lease', async () => {
    const { items } = await kube.list(LEASES, { namespace });
    const holders = items.map(({ spec }) => (spec as { holderIdentity?: string } | undefined)?.holderIdentity);
    expect(holders).toEqual(expect.arrayContaining([ODD, EVEN]));
  });

  test('reconcile only their own objects', async () => {
    await stack.apply(labelled(policy('odd'), 'odd'), labelled(policy('even'), 'even'), policy('none'));
    for (const name of ['odd', 'even', 'none']) await stack.ready(POLICIES, name);
    for (const [name, by] of Object.entries({ odd: ODD, even: EVEN, none: EVEN })) {
      await eventually(async () => expect(await workedOnBy(name)).toEqual([by]));
    }
    const before = await reconciles(even);
    await stack.reconciled(POLICIES, 'odd');
    expect(await reconciles(even)).toBe(before);
    await stack.remove(POLICIES, 'odd', 'even', 'none');
  });

  test('select as the API server does', async () => {
    await stack.apply(labelled(policy('x'), 'odd'), labelled(policy('y'), ''), policy('z'));
    const all = (await kube.list(POLICIES, { namespace })).items;
    for (const text of ['shard', '!shard', 'shard=', 'shard!=odd', 'shard in (odd,)', 'shard notin (odd)']) {
      const theirs = (await kube.list(POLICIES, { namespace, labelSelector: text })).items;
      const own = all.filter(({ metadata }) => LabelSelector.parse(text)?.matches(metadata.labels));
      const names = [own, theirs].map((objects) => objects.map(({ metadata }) => metadata.name));
      expect(names[0], text).toEqual(names[1]);
    }
    await stack.remove(POLICIES, 'x', 'y', 'z');
  });

  test("resolve references to each other's objects, and block the deletion of objects in use", async () => {
    const of = (kind: string, value: string, spec: object) => labelled(manifest(kind, 'shop', spec), value);
    const [edges, routes] = [
      { ...POLICIES, plural: 'httpsedges' },
      { ...POLICIES, plural: 'httpsedgeroutes' },
    ];
    await stack.apply(
      of('HTTPSEdgeRoute', 'odd', { edgeRef: { name: 'shop' }, match: '/', matchType: 'path_prefix' }),
      of('HTTPSEdge', 'even', {}),
    );
    await stack.ready(routes, 'shop');
    await stack.run('delete', edges.plural, 'shop', '--wait=false');
    await stack.reason(edges, 'shop', 'Ready', 'DeletionBlocked');
    await stack.remove(routes, 'shop');
    await eventually(async () => expect(await stack.find(edges, 'shop')).toBeUndefined());
  });

  test("see each other's claims", async () => {
    const { id } = await stack.client.ipPolicies.create({ description: 'theirs' });
    const adopting = (name: string, value: string) =>
      labelled(policy(name, { description: 'theirs' }, { 'tunnel-operator.dev/adopt': id }), value);
    await stack.apply(adopting('first', 'odd'));
    await stack.ready(POLICIES, 'first');
    await stack.apply(adopting('second', 'even'));
    await stack.reason(POLICIES, 'second', 'Ready', 'ManagementConflict');
    // Once the first gives up its claim, the second takes over.
    await stack.run('annotate', 'ipp', 'first', 'tunnel-operator.dev/adopt-');
    await stack.replace(labelled(policy('first', { deletionPolicy: 'Retain', description: 'theirs' }), 'odd'));
    await stack.remove(POLICIES, 'first');
    await stack.ready(POLICIES, 'second');
    await stack.remove(POLICIES, 'second');
  });
});

describe('an object that is handed over', () => {
  test('belongs to the other operator from then on, with its scheduled work', async () => {
    await stack.apply(labelled(credential('moved', { rotation: { overlap: '3s' } }), 'odd'));
    const { status } = await stack.ready(CREDENTIALS, 'moved');
    await stack.annotate(CREDENTIALS, 'moved', { 'tunnel-operator.dev/rotate-requested-at': 'now' });
    await stack.newIdOf(CREDENTIALS, 'moved', status.id);
    await move('tcred', 'moved', 'even');
    // The first operator scheduled the revocation of the old token; the second one carries it out.
    await eventually(async () => expect(await stack.remoteIds()).not.toContain(status.id));
    const before = await reconciles(odd);
    await stack.reconciled(CREDENTIALS, 'moved');
    await stack.run('delete', 'secret', 'moved');
    await eventually(async () => expect(await stack.accepts((await stack.secret('moved'))?.token)).toBe(true));
    expect(await reconciles(odd)).toBe(before);
    await stack.remove(CREDENTIALS, 'moved');
  });
});
