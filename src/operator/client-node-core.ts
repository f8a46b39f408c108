/**
 * What this process uses of `@kubernetes/client-node`: kubeconfig and credentials. `lean-process.ts` puts it in the place
 * of the whole, whose generated classes take 47 MiB.
 */
export * from '@kubernetes/client-node/dist/config.js';
export { createConfiguration } from '@kubernetes/client-node/dist/gen/configuration.js';
export * from '@kubernetes/client-node/dist/gen/http/http.js';
export * from '@kubernetes/client-node/dist/gen/servers.js';

/** The constructor of the `Operator` in @dot-i/k8s-operator makes a client of this class; nothing ever calls it. */
export class CoreV1Api {}
