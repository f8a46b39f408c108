/** crds/kustomization.yaml, for `kubectl apply -k`, Flux and Argo CD. */
import { type CustomResource, crdFileName } from '../src/operator/crds/crd.ts';

export function kustomization(kinds: readonly CustomResource[]): string {
  return [
    '# Generated from src/operator/kinds; do not edit. Regenerate: npm run generate',
    'apiVersion: kustomize.config.k8s.io/v1beta1',
    'kind: Kustomization',
    'resources:',
    ...kinds.map((kind) => `  - ${crdFileName(kind)}`).toSorted(),
    '',
  ].join('\n');
}
