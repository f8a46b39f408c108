/** helm before a stand-in for an API server, which has the objects that the chart looks up. Only for test files. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CommandResult } from '../harness.ts';
import { CHART, helm, type Rendered, render } from './helm.ts';

/** Those that the chart makes by default or looks up. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  v1: ['ConfigMap', 'Pod', 'Secret', 'Service', 'ServiceAccount'],
  'apps/v1': ['Deployment'],
  'policy/v1': ['PodDisruptionBudget'],
  'rbac.authorization.k8s.io/v1': ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
  'apiextensions.k8s.io/v1': ['CustomResourceDefinition'],
};
const isOfCluster = (kind: string) => /^Cluster|^CustomResourceDefinition$/.test(kind);
const pluralOf = (kind: string) => `${kind.toLowerCase()}s`;

interface Release {
  readonly name?: string;
  readonly namespace?: string;
}

export interface Cluster {
  readonly objects: readonly Rendered[];
  /** Whether helm may read what is not in a namespace that it names. Default: yes. */
  readonly mayReadAll?: boolean;
}

/** The objects of a release, as helm leaves them in a cluster. */
export async function installed(values: object, { name = 'it', namespace = 'tunnels' }: Release = {}) {
  const annotations = { 'meta.helm.sh/release-name': name, 'meta.helm.sh/release-namespace': namespace };
  return (await render(values, { name, namespace })).map(({ metadata, ...object }) => ({
    ...object,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
  }));
}

/** What an installation, or else an upgrade, would apply. A failure is a result too: look at `code`. */
export async function renderIn(
  cluster: Cluster,
  values: object,
  {
    name = 'it',
    namespace = 'tunnels',
    isUpgrade = false,
    takesOwnership = false,
  }: Release & { isUpgrade?: boolean; takesOwnership?: boolean } = {},
): Promise<CommandResult> {
  const server = createServer((request, response) => {
    const { status, body } = answer(cluster, new URL(request.url ?? '', 'http://server').pathname);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const at = [
      '--kube-apiserver',
      `http://127.0.0.1:${port}`,
      '--namespace',
      namespace,
      '--dry-run=server',
      '--disable-openapi-validation',
    ];
    const how = [...(isUpgrade ? ['--is-upgrade'] : []), ...(takesOwnership ? ['--take-ownership'] : [])];
    return await helm(['template', name, CHART, ...at, ...how], values);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function answer({ objects, mayReadAll = true }: Cluster, path: string): { status: number; body: object } {
  const refused = (status: number, reason: string) => ({ status, body: { kind: 'Status', code: status, reason } });
  const notFound = refused(404, 'NotFound');
  if (path === '/version') return { status: 200, body: { major: '1', minor: '36', gitVersion: 'v1.36.0' } };
  if (path === '/api') return { status: 200, body: { kind: 'APIVersions', versions: ['v1'] } };
  if (path === '/apis')
    return { status: 200, body: { kind: 'APIGroupList', groups: Object.keys(KINDS).flatMap(group) } };
  const [, groupVersion = '', rest = ''] = /^\/apis?\/(v1|[^/]+\/v1)(?:\/(.+))?$/.exec(path) ?? [];
  const kinds = KINDS[groupVersion] ?? [];
  if (rest === '') return kinds.length === 0 ? notFound : { status: 200, body: resources(groupVersion, kinds) };
  const [, namespace, plural, name] = /^(?:namespaces\/([^/]+)\/)?([^/]+)(?:\/([^/]+))?$/.exec(rest) ?? [];
  if (namespace === undefined && !mayReadAll) return refused(403, 'Forbidden');
  const found = objects.filter(
    ({ kind, metadata }) =>
      pluralOf(kind) === plural &&
      (namespace === undefined || metadata.namespace === namespace) &&
      (name === undefined || metadata.name === name),
  );
  const kind = kinds.find((one) => pluralOf(one) === plural);
  if (name === undefined) return { status: 200, body: { apiVersion: groupVersion, kind: `${kind}List`, items: found } };
  return found[0] ? { status: 200, body: found[0] } : notFound;
}

function group(groupVersion: string): object[] {
  const [name, version] = groupVersion.split('/');
  const versions = [{ groupVersion, version }];
  return version === undefined ? [] : [{ name, versions, preferredVersion: versions[0] }];
}

function resources(groupVersion: string, kinds: readonly string[]): object {
  const one = (kind: string) => ({
    kind,
    name: pluralOf(kind),
    namespaced: !isOfCluster(kind),
    verbs: ['get', 'list'],
  });
  return { kind: 'APIResourceList', groupVersion, resources: kinds.map(one) };
}
