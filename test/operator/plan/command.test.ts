/** Plans made from settings, with servers that give the answers of a test; test/e2e plans with real servers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import { type PlanConfig, plan } from '../../../src/operator/plan/command.ts';
import { CannotStart } from '../../../src/settings/cannot-start.ts';
import { type Answer, answering, json, refusal } from '../kube/answering.ts';

const folder = await mkdtemp(join(tmpdir(), 'operator-plan-'));
afterAll(() => rm(folder, { recursive: true }));

const EDGE = 'edgtls_01m7yvm3eyf20vnt1006h45zq';
/** A TLSEdge that adopts a resource that does not exist. */
const edge = (name: string, id = `${EDGE}2`) => ({
  apiVersion: 'tunnel-operator.dev/v1alpha1',
  kind: 'TLSEdge',
  metadata: { name, annotations: { 'tunnel-operator.dev/adopt': id } },
});

/** A cluster that has no objects, and throttles every check. */
const nothing: Answer = (response, asked) => {
  const isList = /^GET .*\/tlsedges(\?|$)/.test(asked.line);
  const answer = isList ? json({ metadata: { resourceVersion: '1' }, items: [] }) : refusal(404);
  return (asked.line.startsWith('POST') ? refusal(429) : answer)(response, asked);
};
const notFound: Answer = json({ error_code: 'NOT_FOUND', status_code: 404, msg: 'not there', details: {} }, 404);

interface Servers {
  cluster?: Answer;
  api?: Answer;
  /** The namespace of the context in the kubeconfig. */
  inContext?: string | undefined;
}

async function planning(
  documents: readonly object[],
  config: Partial<PlanConfig> = {},
  { cluster = nothing, api = notFound, inContext }: Servers = {},
) {
  const [kube, management] = [await answering(cluster), await answering(api)];
  const context = { cluster: 'c', user: 'u', namespace: inContext };
  const [kubeconfig, file] = [join(folder, 'kubeconfig.json'), join(folder, 'objects.json')];
  await writeFile(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: kube.url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'c', context }],
      'current-context': 'c',
    }),
  );
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: documents }));
  const made = plan({
    apiUrl: management.url,
    apiKey: 'any',
    apiTimeoutMs: 10_000,
    kubeconfig,
    kubeTimeoutMs: 10_000,
    files: [file],
    namespace: undefined,
    adoptNamespaces: undefined,
    allowUserApiKeys: false,
    output: 'text',
    ...config,
  });
  return { made, management };
}

test.each<[string, Partial<PlanConfig>, string | undefined]>([
  ['set', { namespace: 'set' }, 'context'],
  ['context', {}, 'context'],
  ['default', {}, undefined],
])('an object without a namespace is planned in the namespace called %s', async (expected, config, inContext) => {
  const { made, management } = await planning([edge('e')], config, { inContext });
  expect((await made).output).toContain(`TLSEdge ${expected}/e (`);
  expect(management.asked[0]?.headers['user-agent']).toBe('tunnel-operator plan');
});

test('a plan is text or JSON, and notes what it could not check', async () => {
  const cluster: Answer = (response, asked) =>
    (/^GET .*\/tlsedges(\?|$)/.test(asked.line) ? refusal(403) : nothing)(response, asked);
  const note = 'whether other TLSEdge objects claim the same was not checked: ';
  const text = await (await planning([edge('e')], {}, { cluster })).made;
  expect(text).toMatchObject({ exitCode: 1, output: expect.stringContaining(`Note: ${note}`) });
  const { output } = await (await planning([edge('e')], { output: 'json' }, { cluster })).made;
  expect(JSON.parse(output)).toMatchObject({
    objects: [{ action: 'blocked' }],
    notes: [expect.stringContaining(note)],
  });
});

test('a plan ends with the error of a cluster that fails', async () => {
  const { made } = await planning([edge('e')], {}, { cluster: refusal(500) });
  const failure = await made.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CannotStart);
  expect(failure).toMatchObject({ message: 'the cluster: said 500', cause: expect.any(KubeError) });
});
