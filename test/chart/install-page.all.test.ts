/** The commands of docs/install.md and the pages below it, as they stand there, on a control plane of its own, which has no nodes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import { API_KEY, policy, type RunningOperator, startStack } from '../e2e/stack.ts';
import type { CommandResult } from '../harness.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { DATABASE, render } from './helm.ts';
import { installPage, NEEDS_MORE } from './install-page.ts';
import { releaseOn } from './release.ts';

const NAMESPACE = 'tunnel-system';
const LEASE = ['-n', NAMESPACE, 'lease', 'tunnel-operator'];
const deployment = z.object({
  spec: z.object({
    replicas: z.number(),
    template: z.object({
      spec: z.object({
        containers: z.array(
          z.object({ image: z.string(), env: z.array(z.object({ name: z.string(), value: z.string().optional() })) }),
        ),
      }),
    }),
  }),
});

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-install-page-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the commands of docs/install.md', skipFor(NOT_OUR_CLUSTER), async () => {
  const own = await startControlPlane();
  afterAll(() => own.stop());
  const stack = await startStack({ prefix: 'install-page', operators: 0 });
  const release = { name: 'tunnels', namespace: NAMESPACE, folder };
  const { tryKubectl, kubectl, operate, runHook } = releaseOn(own, release);
  const page = await installPage(own, folder);

  const applyTo = (namespace: string, ...items: object[]) =>
    kubectl(['-n', namespace, 'apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const ready = (object: string) => kubectl(['-n', 'a', 'wait', '--for=condition=Ready', '--timeout=30s', object]);
  const exists = async (...object: string[]) => (await tryKubectl(['get', ...object])).code === 0;

  const deploymentOf = async (name: string) => {
    const at = ['-n', NAMESPACE, 'get', 'deployment', `${name}-tunnel-operator-operator`, '-o', 'json'];
    return deployment.parse(JSON.parse(await kubectl(at))).spec;
  };
  /** The image and the settings of a release's operator, but for secrets. */
  async function operatorOf(name: string): Promise<Record<string, string | undefined>> {
    const [container] = (await deploymentOf(name)).template.spec.containers;
    const settings = container?.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])) ?? [];
    return { image: container?.image, ...Object.fromEntries(settings) };
  }

  /** As the operator of a new database has it: the key of another owner. */
  async function keyInNewDatabase(): Promise<string> {
    const { id } = await stack.client.users.create({ name: 'Bootstrap admin', admin: true });
    return (await stack.client.apiKeys.create({ owner_id: id })).token ?? '';
  }

  /** Of the operator that the release would run. */
  let operator: RunningOperator | undefined;
  async function startOperator(apiKey: string, object: string) {
    operator = await operate(stack, { apiKey });
    await applyTo('a', policy(object));
    await ready(`ippolicy/${object}`);
    expect(await exists(...LEASE)).toBe(true);
  }
  async function stopOperator() {
    if (operator) await stack.stopOperator(operator);
    operator = undefined;
  }

  let resharded = 0;
  /** Runs an upgrade: one that changes which objects the operator takes must find it stopped. */
  async function upgraded(command: string): Promise<CommandResult> {
    const [{ replicas }, { SHARD_SELECTOR }] = [await deploymentOf('tunnels'), await operatorOf('tunnels')];
    const result = await page.run(command);
    if ((await operatorOf('tunnels')).SHARD_SELECTOR === SHARD_SELECTOR) return result;
    expect(replicas, command).toBe(0);
    expect((await deploymentOf('tunnels')).replicas).toBeGreaterThan(0);
    resharded++;
    return result;
  }

  const before: Record<string, () => Promise<unknown>> = {
    'helm uninstall tunnels ': stopOperator,
    'left=': async () => {
      await applyTo('a', policy('left'));
      const [command = ''] = page.commands.filter((each) => each.startsWith('left='));
      expect(await page.run(command)).toMatchObject({ code: 1, stderr: '' });
      await kubectl(['-n', 'a', 'delete', 'ippolicy', 'left']);
    },
  };
  const after: Record<string, () => Promise<unknown>> = {
    'helm test ': async () => {
      const names = await kubectl(['-n', NAMESPACE, 'get', 'deployments,secrets', '-o', 'name']);
      for (const name of page.namedInOperations) expect(names).toMatch(new RegExp(`/${name}$`, 'm'));
      await startOperator(API_KEY, 'tried-out');
      const objects = await render(DATABASE, { ...release, only: ['tests/credential.yaml'] });
      const env = { NAMESPACE, NAME: 'tunnels-tunnel-operator-test', TIMEOUT_SECONDS: '30' };
      const api = { TUNNEL_API_URL: stack.api.url, TUNNEL_API_KEY: API_KEY };
      expect(await runHook(objects, 'test.mjs', { ...env, ...api })).toMatchObject({ code: 0, stderr: '' });
    },
    'helm upgrade --install ': async () => {
      // One that remembered the owner of what was tried out would now wait for ever.
      expect(await exists(...LEASE)).toBe(false);
      await startOperator(await keyInNewDatabase(), 'for-real');
    },
    'helm install shard-b ': async () => {
      const [ours, theirs] = await Promise.all(['tunnels', 'shard-b'].map(operatorOf));
      // What one of them forbids, the other would allow.
      expect(theirs).toEqual({
        ...ours,
        SHARD_SELECTOR: 'shard=b',
        TUNNEL_API_URL: ours?.TUNNEL_API_URL?.replace(':80', ''),
      });
      expect(ours).toMatchObject({ SHARD_SELECTOR: 'shard!=b', ADOPT_NAMESPACES: '-' });
    },
  };

  test('work, in the order of the page', { timeout: 240_000 }, async () => {
    expect(page.commands).toEqual(expect.arrayContaining(Object.keys(NEEDS_MORE)));
    for (const start of Object.keys({ ...before, ...after })) expect(page.commands.join('\n')).toContain(start);
    await kubectl(['apply', '-f', '-'], JSON.stringify(page.monitoringKinds));
    for (const namespace of ['a', NAMESPACE]) await kubectl(['create', 'namespace', namespace]);
    const labels = { 'app.kubernetes.io/instance': 'tunnels', 'app.kubernetes.io/name': 'other' };
    await applyTo(NAMESPACE, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'of-another-chart', labels } });

    for (const command of page.commands.filter((each) => !(each in NEEDS_MORE))) {
      const [prepare] = Object.entries(before).filter(([start]) => command.startsWith(start));
      await prepare?.[1]();
      const run = command.startsWith('helm upgrade tunnels ') ? upgraded : page.run;
      // Its Pod cannot run; the script does, below.
      if (!command.startsWith('helm test ')) expect(await run(command), command).toMatchObject({ code: 0, stderr: '' });
      const [look] = Object.entries(after).filter(([start]) => command.startsWith(start));
      await look?.[1]();
    }

    // To shards and back.
    expect(resharded).toBe(2);
    const definitions = await kubectl(['get', 'crd', '-o', 'name']);
    expect(definitions).not.toContain('tunnel-operator');
    expect(definitions).toContain('servicemonitors.monitoring.coreos.com');
    const left = await kubectl(['-n', NAMESPACE, 'get', 'secrets,leases', '-o', 'name']);
    expect(left).toContain('secret/of-another-chart\n');
    expect(left).not.toMatch(/\/tunnels-tunnel-operator$/m);
    expect(left).not.toMatch(/\/tunnel-operator$/m);
  });
});
