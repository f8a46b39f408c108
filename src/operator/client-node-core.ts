/**
 * The part of `@kubernetes/client-node` that this process uses: kubeconfig and credentials. `lean-process.ts` loads it
 * instead of the whole package, whose generated classes take 47 MiB.
 */
export * from '@kubernetes/client-node/dist/config.js';
export { createConfiguration } from '@kubernetes/client-node/dist/gen/configuration.js';
export * from '@kubernetes/client-node/dist/gen/http/http.js';
export * from '@kubernetes/client-node/dist/gen/servers.js';

/** The constructor of `Operator` in @dot-i/k8s-operator makes a client of this class; nothing calls it. */
export class CoreV1Api {}
