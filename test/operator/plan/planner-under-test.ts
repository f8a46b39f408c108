/** A planner of every kind, on servers that have what a test says. Only for test files. */
import { setTimeout } from 'node:timers/promises';
import { ApiError, createClient } from '../../../src/client/client.ts';
import type { DerivedKind } from '../../../src/operator/export/spec-members.ts';
import { attachedKinds, kinds } from '../../../src/operator/kinds/kinds.ts';
import type { ResourceType } from '../../../src/operator/kube/kube-api.ts';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import type { Remote } from '../../../src/operator/managed/declaration/external.ts';
import { ApiServerCheck } from '../../../src/operator/plan/api-server-check.ts';
import { DeclaredObjects } from '../../../src/operator/plan/declared-objects.ts';
import { DesiredCluster } from '../../../src/operator/plan/desired-cluster.ts';
import type { ManifestDocument } from '../../../src/operator/plan/manifest-files.ts';
import { NamedResources } from '../../../src/operator/plan/named-resources.ts';
import { Planner } from '../../../src/operator/plan/planner.ts';
import { Rivals } from '../../../src/operator/plan/rivals.ts';
import { SecretConflicts } from '../../../src/operator/plan/secret-conflicts.ts';

const missing = new ApiError({ error_code: 'NOT_FOUND', status_code: 404, msg: 'not found', details: {} });

export interface Surroundings {
  /** By the plurals of their kinds. */
  readonly objects?: Readonly<Record<string, readonly KubeObject[] | Error>>;
  readonly remotes?: readonly Remote[] | Error;
  /** The members that differ, of every resource. */
  readonly changed?: string[];
  readonly mayAdopt?: boolean;
  /** The names of those that the API server takes longer to answer about. */
  readonly slow?: readonly string[];
  /** The plural of the kind whose objects the API server refuses. */
  readonly refused?: string;
}

/** Plans with every kind, on servers that have what is given. */
export async function planned(documents: readonly ManifestDocument[], surroundings: Surroundings = {}) {
  const { objects = {}, remotes = [], changed = [], mayAdopt = true, slow = [], refused } = surroundings;
  const original = createClient({ baseUrl: 'http://localhost:1', apiKey: 'x' });
  const find = async (id: string) => {
    if (remotes instanceof Error) throw remotes;
    return remotes.find((each) => each.id === id);
  };
  const get = async (): Promise<never> => {
    throw missing;
  };
  const client = { ...original, users: { ...original.users, get }, whoami: get };
  const answering = (kind: DerivedKind): DerivedKind => ({
    ...kind,
    external: () => ({
      ...kind.external(original),
      observe: find,
      sight: async () => 'everything' as const,
      changes: () => changed,
      scope: async () => ({ resources: [], nextSequence: 1 }),
    }),
  });
  const all = [...kinds, ...attachedKinds].map(answering);
  const itemsOf = ({ plural }: ResourceType) => {
    const items = objects[plural] ?? [];
    if (items instanceof Error) throw items;
    return [...items];
  };
  const kube = {
    async find(type: ResourceType, name: string) {
      if (slow.includes(name)) await setTimeout(20);
      return itemsOf(type).find(({ metadata }) => metadata.name === name);
    },
    list: async (type: ResourceType) => ({ items: itemsOf(type), resourceVersion: '1', continueToken: undefined }),
  };
  // Unless it refuses, what it is asked about is taken as it is.
  const busy = async ({ plural }: ResourceType): Promise<never> => {
    if (plural === refused) throw new KubeError(422, 'Invalid', 'in other words');
    throw new KubeError(429, 'TooManyRequests', 'busy');
  };
  const note = () => {};
  const declared = new DeclaredObjects(
    documents.map((document, index) => ({ document, place: `document ${index + 1}` })),
    'ns',
  );
  const cluster = new DesiredCluster(kube, declared);
  return new Planner({
    kinds: all,
    client,
    declared,
    cluster,
    apiServer: new ApiServerCheck({
      kube: { tryCreate: busy, tryPatch: busy, tryApply: busy },
      createsNamespace: () => false,
      note,
    }),
    rivals: new Rivals({ existing: (kind) => cluster.existing(kind), mayAdopt: () => mayAdopt }),
    secrets: new SecretConflicts({
      find: (name) => cluster.findSecret(name),
      isDeclared: (name) => cluster.declaresSecret(name),
      mayAdopt: () => mayAdopt,
      note,
    }),
    named: new NamedResources(all, client),
    all: (kind) => cluster.all(kind),
    grants: () => cluster.grants(),
    mayAdopt: (namespace) => mayAdopt && namespace === 'ns',
    mayHandOutUserRights: false,
  }).planAll();
}
