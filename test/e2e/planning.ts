/** The command `plan` on its own stack. Each test must write nothing after its last `given` or `applied`. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { z } from 'zod';
import { asRecord } from '../../dev/fixtures/crd-schema.ts';
import { ANNOTATION, API_VERSION } from '../../src/operator/contract/names.ts';
import { CONDITION, REASON } from '../../src/operator/contract/reasons.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { isPaused, readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { type PlanConfig, plan as planFiles } from '../../src/operator/plan/command.ts';
import { cluster } from '../harness.ts';
import { type Manifest, ours, SECRETS } from './manifest.ts';
import { API_KEY, eventually, type Stack, startStack } from './stack.ts';

export const NOTHING = '0 to create, 0 to change, 0 to replace';

export const core = (kind: 'Secret' | 'ConfigMap', name: string, content: object) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name },
  ...content,
});

export const textOf = (objects: readonly object[]) => objects.map((each) => JSON.stringify(each)).join('\n---\n');

/** Whether the operator has reconciled the object as it was applied or, if paused, has reported that it is paused. */
function isHandled(each: KubeObject, requested: string): boolean {
  const { lastHandledReconcileAt, conditions = [] } = readStatus(each);
  const synced = findCondition(conditions, CONDITION.synced);
  const saysPaused = synced?.reason === REASON.paused && synced.observedGeneration === each.metadata.generation;
  return isPaused(each) ? saysPaused : lastHandledReconcileAt === requested;
}

export async function startPlanning(prefix: string) {
  const stack = await startStack({ prefix });
  const { kubeconfigPath } = await cluster();
  const folder = await mkdtemp(join(tmpdir(), `${prefix}-`));
  const config = {
    apiUrl: stack.api.url,
    apiKey: API_KEY,
    apiTimeoutMs: 10_000,
    kubeconfig: kubeconfigPath,
    kubeTimeoutMs: 10_000,
    namespace: stack.namespace,
    adoptNamespaces: undefined,
    allowUserApiKeys: false,
    output: 'text',
  } as const;
  let files = 0;
  let requests = 0;
  let before = await state(stack);
  let apiLines = stack.apiLogs.length;

  afterEach(async () => {
    expect(await state(stack)).toEqual(before);
    const writes = stack.apiLogs.slice(apiLines).filter((line) => /"method":"(?:POST|PUT|PATCH|DELETE)"/.test(line));
    expect(writes).toEqual([]);
  });

  /** Plans these objects in this process. Starting the command would take as long again; only some tests do that. */
  async function plan(objects: readonly object[], changed: Partial<PlanConfig> = {}) {
    const file = join(folder, `${++files}.yaml`);
    await writeFile(file, textOf(objects));
    const { output, exitCode } = await planFiles({ ...config, files: [file], ...changed });
    return { code: exitCode, stdout: output };
  }

  /** The plan in JSON, parsed. */
  async function planned(objects: readonly object[], changed: Partial<PlanConfig> = {}) {
    const { code, stdout } = await plan(objects, { ...changed, output: 'json' });
    return { code, objects: planInJson.parse(JSON.parse(stdout)).objects };
  }

  async function applyFirst(manifests: readonly Manifest[]) {
    if (manifests.length === 0) return;
    await stack.apply(...manifests);
    await eventually(async () => {
      for (const { kind: name, metadata } of manifests) {
        const { plural = '' } = allKinds.find(({ kind }) => kind === name) ?? {};
        const { object, synced } = await stack.see(ours(plural), metadata.name);
        expect(synced?.observedGeneration).toBe(object.metadata.generation);
      }
    });
  }

  /** Applies the files, waits for a reconcile of each object, and then until nothing is left to do. */
  async function reconciled(manifests: readonly Manifest[]) {
    const requested = `${Date.now()} ${++requests}`;
    const asking = ({ metadata, ...each }: Manifest): Manifest => {
      const annotations = { ...metadata.annotations, [ANNOTATION.reconcileRequestedAt]: requested };
      return { ...each, metadata: { ...metadata, annotations } };
    };
    const mine = manifests.filter(({ apiVersion }) => apiVersion === API_VERSION);
    // Objects that are to observe come first: until then, they manage their resources and would follow the others.
    await applyFirst(mine.filter(({ spec }) => asRecord(spec).managementPolicy === 'Observe').map(asking));
    await stack.apply(...manifests.filter((each) => !mine.includes(each)), ...mine.map(asking));
    const plurals = allKinds.filter(({ kind }) => mine.some((each) => each.kind === kind)).map(({ plural }) => plural);
    await eventually(async () => {
      const lists = await Promise.all(plurals.map((plural) => stack.kube.list(ours(plural), stack)));
      const asked = lists
        .flatMap(({ items }) => items)
        .filter(({ metadata }) => metadata.annotations?.[ANNOTATION.reconcileRequestedAt] === requested);
      expect(asked).toHaveLength(mine.length);
      expect(asked.filter((each) => !isHandled(each, requested)).map(({ metadata }) => metadata.name)).toEqual([]);
    });
    // Other objects may still have to follow a resource that was replaced.
    await eventually(async () => {
      const { objects } = await planned(manifests, { allowUserApiKeys: true });
      expect(objects.filter(({ action }) => action !== 'none' && action !== 'blocked')).toEqual([]);
    });
  }

  /** From here on, the test must write nothing. */
  async function reset() {
    before = await state(stack);
    apiLines = stack.apiLogs.length;
  }

  return {
    stack,
    /** The environment of the command. */
    env: { TUNNEL_API_URL: stack.api.url, TUNNEL_API_KEY: API_KEY, KUBECONFIG: kubeconfigPath, HOME: folder },
    plan,
    planned,
    /** Applies the files, waits until their objects are reconciled, and returns the API events since. */
    async applied(...manifests: Manifest[]) {
      const earlier = (await stack.sql('select id from events')).map(({ id }) => id);
      if (manifests.length > 0) await reconciled(manifests);
      await reset();
      const rows = await stack.sql(
        'select type, resource_id from events where id <> all($1) order by occurred_at, id',
        [earlier],
      );
      return z.array(apiEvent).parse(rows);
    },
    /** Applies what the test needs. From here on, the test must write nothing. */
    async given(...manifests: Manifest[]) {
      if (manifests.length > 0) await stack.apply(...manifests);
      for (const { kind, metadata } of manifests) {
        const declared = allKinds.find((each) => each.kind === kind);
        if (declared) await stack.ready(ours(declared.plural), metadata.name);
      }
      await reset();
    },
  };
}

const planInJson = z.object({
  objects: z.array(
    z.object({
      kind: z.string(),
      name: z.string(),
      action: z.string(),
      id: z.string().optional(),
      reason: z.string().optional(),
      changes: z.array(z.object({ path: z.string() })),
    }),
  ),
});

const apiEvent = z.object({ type: z.string(), resource_id: z.string() });

/** Everything that a write would change. */
async function state({ kube, namespace, sql }: Stack) {
  const types = [
    ...allKinds.map(({ plural }) => ours(plural)),
    SECRETS,
    { group: '', version: 'v1', plural: 'configmaps' },
  ];
  const lists = await Promise.all(types.map((each) => kube.list(each, { namespace })));
  const versions = lists.flatMap(({ items }) =>
    items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`),
  );
  return { versions, events: await sql('select count(*) as n from events') };
}
