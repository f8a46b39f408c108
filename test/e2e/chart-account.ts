/** The service account and permissions that the chart gives the operator, for use in tests. Only for test files. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { waitFor } from '../../dev/processes/wait.ts';
import { render } from '../chart/helm.ts';
import type { CommandResult } from '../harness.ts';

export type Kubectl = (args: readonly string[], options?: { input?: string }) => Promise<CommandResult>;

const rule = z.object({
  apiGroups: z.array(z.string()),
  resources: z.array(z.string()),
  resourceNames: z.array(z.string()).optional(),
  verbs: z.array(z.string()),
});
export type Rule = z.output<typeof rule>;
const metadata = z.looseObject({ namespace: z.string().optional() });
const role = z.looseObject({ kind: z.string(), metadata, rules: z.array(rule) });

/** The name of the service account, of the Role in each namespace, and of its binding. */
export const ACCOUNT = 'it-tunnel-operator-operator';

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-account-'));

/** The rules that the chart grants in a namespace that the operator watches, and for its Lease. */
export async function chartRules(): Promise<Rule[]> {
  const roles = (await rights('any', ['any']))
    .filter(({ kind }) => kind === 'Role')
    .map((object) => role.parse(object));
  return roles.filter(({ metadata }) => metadata.namespace === 'any').flatMap(({ rules }) => rules);
}

const rights = (namespace: string, watchNamespaces: readonly string[]) =>
  render(
    {
      api: { enabled: false },
      operator: { apiUrl: 'https://api.example.com', apiKey: { existingSecret: 'key' } },
      watchNamespaces,
    },
    { namespace, only: ['serviceaccounts.yaml', 'operator/rbac.yaml'] },
  );

/**
 * Creates the operator's service account in `namespace`, with its permissions in the namespaces `watch` (none: in all).
 * @param change changes the rules of the chart
 * @returns a kubeconfig file for the account
 */
export async function chartAccount(
  run: Kubectl,
  namespace: string,
  watch: readonly string[],
  change: (rules: Rule[]) => Rule[] = (rules) => rules,
): Promise<string> {
  const items = (await rights(namespace, watch)).map((object) => {
    const { success, data } = role.safeParse(object);
    return success ? { ...data, rules: change(data.rules) } : object;
  });
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  expect(await run(['apply', '-f', '-'], { input })).toMatchObject({ code: 0, stderr: '' });
  const token = (await run(['create', 'token', ACCOUNT, '-n', namespace, '--duration=24h'])).stdout;
  const view = parse((await run(['config', 'view', '--raw', '--minify', '-o', 'yaml'])).stdout);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: view.clusters[0]?.cluster }],
    users: [{ name: 'operator', user: { token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'operator' } }],
    'current-context': 'c',
  };
  const file = join(folder, `${namespace}.kubeconfig`);
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  const user = `system:serviceaccount:${namespace}:${ACCOUNT}`;
  for (const { kind, metadata, rules } of items.flatMap((object) => role.safeParse(object).data ?? []))
    await untilGranted(run, user, kind === 'Role' ? metadata.namespace : undefined, rules);
  return file;
}

/** Waits until the API server grants the last of these rules. It applies rules a moment after it has stored them. */
async function untilGranted(run: Kubectl, user: string, namespace: string | undefined, rules: readonly Rule[]) {
  const rights = rules.flatMap(({ apiGroups, resources, resourceNames = [], verbs }) =>
    resources.flatMap((resource) =>
      verbs.map((verb) => ({ group: apiGroups[0], resource, verb, name: resourceNames[0] })),
    ),
  );
  const last = rights.findLast(({ resource }) => !resource.includes('/'));
  if (last === undefined) return;
  const spec = { user, resourceAttributes: { ...last, namespace } };
  const input = JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec });
  await waitFor(`permission to ${last.verb} ${last.resource}`, async () => {
    const { stdout } = await run(['create', '-f', '-', '-o', 'jsonpath={.status.allowed}'], { input });
    return stdout === 'true';
  });
}
