/**
 * The versions that the tests use. The Go modules in `kubernetes/` and `etcd/` require the same ones; a test compares
 * them.
 */
export const KUBERNETES_VERSION = '1.36.3';
export const ETCD_VERSION = '3.6.10';
export const HELM_VERSION = '4.3.1';
export const PROMETHEUS_VERSION = '3.16.0';
