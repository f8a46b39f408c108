/** Replicas of the operator with API keys of different owners. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { readLease } from '../../src/operator/kube/lease.ts';
import { cluster, kubectl, testPool } from '../harness.ts';
import { CREDENTIALS, credential, LEASES, POLICIES, policy } from './manifest.ts';
import { startOwnApi } from './own-api.ts';
import { API_KEY, ENCRYPTION_KEY, eventually, type RunningOperator, startStack } from './stack.ts';

// The operator checks a refused key again only every 10 s: a test may exceed the mutation tester's default timeout.
vi.setConfig({ testTimeout: 60_000 });

const stack = await startStack({ prefix: 'owner', operators: 0 });
const { namespace, kube } = stack;
const settings = { leaderElect: true, leaseMs: 3_000 };

let [ours, other, otherKey] = ['', '', ''];
beforeAll(async () => {
  ours = (await stack.client.whoami()).owner.id;
  other = (await stack.client.users.create({ name: 'Somebody else', admin: true })).id;
  otherKey = (await stack.client.apiKeys.create({ owner_id: other })).token ?? '';
});

const lease = () => kube.get(LEASES, 'tunnel-operator', namespace);
const remembered = async () => (await lease()).metadata.annotations?.[ANNOTATION.apiOwner];
const holder = async () => readLease(await lease()).holderIdentity;
const readyz = async (operator: RunningOperator) => {
  const response = await fetch(`${operator.healthUrl}/readyz`);
  return { status: response.status, text: await response.text() };
};

test('a replica with the key of another owner is not ready and does not become the leader', async () => {
  const first = await stack.operate({ ...settings, identity: 'first' });
  expect(await remembered()).toBe(ours);
  const wrong = stack.makeOperator({ ...settings, identity: 'wrong', apiKey: otherKey });
  const started = wrong.start();
  await eventually(async () =>
    expect(await readyz(wrong)).toEqual({ status: 503, text: expect.stringContaining(`belongs to ${other}`) }),
  );
  await stack.stopOperator(first);
  const third = await stack.operate({ ...settings, identity: 'third' });
  await stack.apply(policy('served'));
  await stack.ready(POLICIES, 'served');
  expect(await holder()).toBe('third');
  await Promise.all([stack.stopOperator(wrong), started]);
  await stack.stopOperator(third);
  expect(await remembered()).toBe(ours);
});

test('a replica reports that the namespace of its Lease is missing, and waits for it', async () => {
  const leaseNamespace = `${namespace}-later`;
  // As an administrator: a service account cannot have permissions in a namespace that does not exist.
  const { kubeconfigPath } = await cluster();
  const operator = stack.makeOperator({ ...settings, leaseNamespace, kubeconfig: kubeconfigPath });
  const started = operator.start();
  const text = expect.stringContaining(`there is no namespace ${leaseNamespace} for the Lease; create it`);
  await eventually(async () => expect(await readyz(operator)).toEqual({ status: 503, text }));
  expect(await kubectl(['create', 'namespace', leaseNamespace])).toMatchObject({ code: 0 });
  await started;
  expect(await readyz(operator)).toEqual({ status: 200, text: 'ok\n' });
  await stack.stopOperator(operator);
  await kubectl(['delete', 'namespace', leaseNamespace, '--wait=false']);
});

describe('an API whose address leads to another database', () => {
  /** An address that leads to one of two APIs. */
  async function crossing(...urls: string[]) {
    let at = 0;
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      const upstream = connect(Number(new URL(urls[at] ?? '').port), '127.0.0.1');
      for (const each of [socket, upstream])
        sockets.add(each.on('error', () => {}).on('close', () => void sockets.delete(each)));
      socket.pipe(upstream).pipe(socket);
    });
    const cut = () => {
      for (const socket of sockets) socket.destroy();
    };
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(async () => {
      cut();
      server.close();
      await once(server, 'close');
    });
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}`,
      lead(to: number) {
        at = to;
        cut();
      },
    };
  }

  test('is noticed within a resync, before anything is created there; back at the first, nothing was added', async () => {
    const made = 'select id from ip_policies union all select id from credentials order by id';
    const second = await startOwnApi(API_KEY, ENCRYPTION_KEY, []);
    onTestFinished(() => second.stop());
    const pool = testPool(second.databaseUrl, 1);
    onTestFinished(() => pool.end());
    // Test databases are copies of one.
    await pool.query('update installation set id = gen_random_uuid()');
    const road = await crossing(stack.api.url, second.url);
    const operator = stack.makeOperator({ apiUrl: road.url, resyncMs: 1_000 });
    await operator.start();
    await stack.apply(policy('swapped'), credential('swapped'));
    const before = await Promise.all([stack.ready(POLICIES, 'swapped'), stack.ready(CREDENTIALS, 'swapped')]);
    const existing = await stack.sql(made);
    road.lead(1);
    await operator.lostLead;
    await stack.stopOperator(operator);
    expect((await pool.query(made)).rows).toEqual([]);
    expect(stack.logs.join('\n')).toContain('another installation of the management API answers at TUNNEL_API_URL');
    const waiting = stack.makeOperator({ apiUrl: road.url, resyncMs: 1_000 });
    const started = waiting.start();
    await eventually(async () =>
      expect(await readyz(waiting)).toEqual({ status: 503, text: expect.stringContaining('the API key belongs to') }),
    );
    road.lead(0);
    await started;
    const after = await Promise.all([stack.reconciled(POLICIES, 'swapped'), stack.reconciled(CREDENTIALS, 'swapped')]);
    expect(after.map(({ status }) => status.id)).toEqual(before.map(({ status }) => status.id));
    expect(await stack.sql(made)).toEqual(existing);
    await stack.stopOperator(waiting);
  });
});
