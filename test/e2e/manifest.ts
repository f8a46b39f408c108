/** Manifests as users write them, and the types of resources that tests look at. */
import { API_VERSION, GROUP, VERSION } from '../../src/operator/contract/names.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';

/** A kind of the operator. */
export const ours = (plural: string): ResourceType => ({ group: GROUP, version: VERSION, plural });
export const POLICIES = ours('ippolicies');
export const CREDENTIALS = ours('tunnelcredentials');
export const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };
export const LEASES: ResourceType = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
  };
  spec?: object | undefined;
}

/** @param annotations by their whole names */
export function manifest(
  kind: string,
  name: string,
  spec: object = {},
  annotations: Record<string, string> = {},
): Manifest {
  return { apiVersion: API_VERSION, kind, metadata: { name, annotations }, spec };
}

type OfOneKind = (name: string, spec?: object, annotations?: Record<string, string>) => Manifest;
export const policy: OfOneKind = (...rest) => manifest('IPPolicy', ...rest);
export const credential: OfOneKind = (...rest) => manifest('TunnelCredential', ...rest);
