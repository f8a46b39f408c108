/** `tunnel-operator plan`: what applying files would change at the API. */
import { type ApiChoice, openApi, otherChoice } from '../export/api-choice.ts';
import { cannotUseApi, cannotUseCluster } from '../export/failure.ts';
import { attachedKinds, kinds } from '../kinds/kinds.ts';
import { KubeApi } from '../kube/kube-api.ts';
import { loadKubeConfig } from '../kube/kube-config.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { ApiServerCheck } from './api-server-check.ts';
import { BoundedCalls, bounded } from './bounded-calls.ts';
import { DeclaredObjects } from './declared-objects.ts';
import { DesiredCluster } from './desired-cluster.ts';
import { readManifests } from './manifest-files.ts';
import { NamedResources } from './named-resources.ts';
import type { Planned } from './planned.ts';
import { Planner } from './planner.ts';
import { asJson, asText } from './render.ts';
import { Rivals } from './rivals.ts';
import { SecretConflicts } from './secret-conflicts.ts';

export interface PlanConfig extends ApiChoice {
  kubeconfig: string | undefined;
  kubeTimeoutMs: number;
  /** Files, folders, or `-`. */
  files: readonly string[];
  /** For objects that name none. Defaults to that of the kubeconfig's context. */
  namespace: string | undefined;
  /** Those in which the operator may adopt; undefined for all. */
  adoptNamespaces: readonly string[] | undefined;
  /** Whether the operator lets an APIKey belong to a user. */
  allowUserApiKeys: boolean;
  output: 'text' | 'json';
}

/** 0: nothing to do. 1: something is wrong. 2: there is something to do. */
export type ExitCode = 0 | 1 | 2;

const USER_AGENT = 'tunnel-operator plan';

/** @throws CannotStart when a file, the cluster or the API cannot be read */
export async function plan(config: PlanConfig): Promise<{ output: string; exitCode: ExitCode }> {
  const manifests = await readManifests(config.files);
  const kubeConfig = loadKubeConfig(config.kubeconfig);
  const context = kubeConfig.getContextObject(kubeConfig.getCurrentContext());
  const namespace = config.namespace || context?.namespace || 'default';
  const kubeApi = new KubeApi(kubeConfig, { userAgent: USER_AGENT, timeoutMs: config.kubeTimeoutMs });
  const [toKube, toApi] = [new BoundedCalls(), new BoundedCalls()];
  const kube = bounded(toKube, kubeApi);
  const opening = openApi(config, () => kube, { userAgent: USER_AGENT, admit: toApi.admit });
  const { client, url, close } = await opening.catch(async (error) => {
    await kubeApi.close();
    throw cannotUseCluster(error);
  });
  const declared = new DeclaredObjects(manifests, namespace);
  const cluster = new DesiredCluster(kube, declared);
  const notes = new Set<string>();
  const note = (text: string) => notes.add(text);
  const mayAdopt = (name: string) => config.adoptNamespaces?.includes(name) ?? true;
  const derived = [...kinds, ...attachedKinds];
  const planner = new Planner({
    kinds: derived,
    client,
    declared,
    cluster,
    apiServer: new ApiServerCheck({ kube, createsNamespace: (name) => cluster.createsNamespace(name), note }),
    rivals: new Rivals({
      existing: (kind) => ifAllowed(cluster.existing(kind), `whether other ${kind.kind} objects claim the same`, note),
      mayAdopt,
    }),
    all: (kind) => ifAllowed(cluster.all(kind), `whether other ${kind.kind} objects declare modules`, note),
    grants: () => ifAllowed(cluster.grants(), 'which objects of other namespaces may declare modules', note),
    secrets: new SecretConflicts({
      find: (name) => cluster.findSecret(name),
      isDeclared: (name) => cluster.declaresSecret(name),
      mayAdopt,
      note,
    }),
    named: new NamedResources(derived, client),
    mayAdopt,
    otherChoice: (object) => otherChoice(config, object),
    mayHandOutUserRights: config.allowUserApiKeys,
  });
  try {
    const plans = await planner.planAll();
    // Notes arrive in the order in which the servers answer.
    const sorted = [...notes].sort();
    const output = config.output === 'json' ? asJson(plans, sorted) : asText(plans, sorted);
    return { output, exitCode: exitCodeOf(plans) };
  } catch (error) {
    throw cannotUseCluster(cannotUseApi(error, url));
  } finally {
    for (const calls of [toKube, toApi]) calls.end();
    await Promise.all([close(), kubeApi.close()]);
  }
}

async function ifAllowed(
  objects: Promise<readonly KubeObject[]>,
  what: string,
  note: (text: string) => void,
): Promise<readonly KubeObject[]> {
  try {
    return await objects;
  } catch (error) {
    if (!(error instanceof KubeError && error.isForbidden)) throw error;
    note(`${what} was not checked: ${error.message}`);
    return [];
  }
}

export function exitCodeOf(plans: readonly Planned[]): ExitCode {
  if (plans.some(({ action }) => action === 'blocked')) return 1;
  return plans.some(({ action }) => action !== 'none') ? 2 : 0;
}
