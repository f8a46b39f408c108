/**
 * Keeps the Secret with the key of an APIConnection while the connection exists. Who deletes a namespace deletes its Secrets first, and
 * its objects need the key to delete their resources.
 */
import { CONNECTION_FINALIZER } from '../contract/names.ts';
import type { KubeApi, ResourceType } from '../kube/kube-api.ts';
import type { KubeObject } from '../kube/kube-object.ts';

const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };

/** Nobody can add a finalizer to a Secret that is being deleted, so it is there from the beginning. False if it is too late. */
export async function holdSecret(kube: KubeApi, namespace: string, name: string): Promise<boolean> {
  const secret = await kube.find(SECRETS, name, namespace);
  const { finalizers = [], deletionTimestamp } = secret?.metadata ?? {};
  if (finalizers.includes(CONNECTION_FINALIZER)) return true;
  if (!secret || deletionTimestamp !== undefined) return false;
  await write(kube, secret, namespace, [...finalizers, CONNECTION_FINALIZER]);
  return true;
}

export async function releaseSecret(kube: KubeApi, namespace: string, name: string): Promise<void> {
  const secret = await kube.find(SECRETS, name, namespace);
  const { finalizers = [] } = secret?.metadata ?? {};
  const others = finalizers.filter((each) => each !== CONNECTION_FINALIZER);
  if (secret && others.length < finalizers.length) await write(kube, secret, namespace, others);
}

async function write(kube: KubeApi, { metadata }: KubeObject, namespace: string, finalizers: string[]): Promise<void> {
  const { name, uid, resourceVersion } = metadata;
  await kube.patch(SECRETS, name, { metadata: { finalizers, uid, resourceVersion } }, namespace);
}
