/**
 * The versions that the tests use. The Go modules in `kubernetes/`, `etcd/`, `kstatus/` and `lua/` require the same ones; a test
 * compares them.
 */
export const PINNED_KUBERNETES = '1.36.3';
/** `TEST_KUBERNETES` names another one, such as the oldest that the chart supports. */
export const KUBERNETES_VERSION = process.env.TEST_KUBERNETES || PINNED_KUBERNETES;
export const ETCD_VERSION = '3.6.10';
export const KSTATUS_VERSION = '0.37.2';
export const LUA_VERSION = '1.1.2';
/** `TEST_HELM` names another one, such as the newest Helm 3. */
export const HELM_VERSION = process.env.TEST_HELM || '4.3.1';
export const PROMETHEUS_VERSION = '3.16.0';
export const PEBBLE_VERSION = '2.10.3';
