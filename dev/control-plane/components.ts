/** The command lines of the control plane's components: where they deviate from the defaults, and why. */
import { join } from 'node:path';

/** The paths of one control plane's files below its data directory. */
export function layout(dataDir: string) {
  const pki = join(dataDir, 'pki');
  return {
    pki,
    etcdData: join(dataDir, 'etcd'),
    log: (component: string) => join(dataDir, `${component}.log`),
    ca: join(pki, 'ca.crt'),
    serverCertificate: join(pki, 'apiserver.crt'),
    serverKey: join(pki, 'apiserver.key'),
    serviceAccountPublicKey: join(pki, 'sa.pub'),
    serviceAccountKey: join(pki, 'sa.key'),
    adminKubeconfig: join(dataDir, 'admin.kubeconfig'),
    controllerManagerKubeconfig: join(dataDir, 'controller-manager.kubeconfig'),
  };
}

export type Layout = ReturnType<typeof layout>;

export interface Ports {
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
}

export function etcdArgs(files: Layout, ports: Ports): string[] {
  const client = `http://127.0.0.1:${ports.etcdClient}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return [
    '--name=test',
    `--data-dir=${files.etcdData}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=test=${peer}`,
    // The data does not outlive the run, so it need not survive a power failure.
    '--unsafe-no-fsync',
    // Load tests that rewrite many objects between two compactions exceed the default of 2 GiB.
    `--quota-backend-bytes=${8 * 1024 ** 3}`,
    '--log-level=warn',
  ];
}

/** @param extra appended, so that they win over the flags here (the last value of a repeated flag counts). */
export function apiServerArgs(
  files: Layout,
  ports: Ports,
  options: { readonly controllerManager: boolean; readonly extra: readonly string[] },
): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcdClient}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.apiServer}`,
    // Otherwise read from the routing table, which fails on a machine without a network.
    '--advertise-address=127.0.0.1',
    // The Service `kubernetes` is not used to reach this server, and endpoints may not be on loopback.
    '--endpoint-reconciler-type=none',
    `--tls-cert-file=${files.serverCertificate}`,
    `--tls-private-key-file=${files.serverKey}`,
    `--client-ca-file=${files.ca}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${files.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--allow-privileged=true',
    // Load tests run against it, and its 429s would distort them. The defaults are 400 and 200.
    '--max-requests-inflight=4000',
    '--max-mutating-requests-inflight=2000',
    '--event-ttl=15m0s',
    // Without the controller manager there are no `default` service accounts, and admission rejects every Pod.
    ...(options.controllerManager ? [] : ['--disable-admission-plugins=ServiceAccount']),
    ...options.extra,
  ];
}

/**
 * The controllers that a namespace and an operator need. The others would keep watches and caches
 * in the server for kinds that no test uses, and there are no nodes to schedule anything on.
 */
const CONTROLLERS = [
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'root-ca-certificate-publisher-controller',
  'clusterrole-aggregation-controller',
  'resourcequota-controller',
  'deployment-controller',
  'replicaset-controller',
];

export function controllerManagerArgs(files: Layout): string[] {
  return [
    `--kubeconfig=${files.controllerManagerKubeconfig}`,
    `--controllers=${CONTROLLERS.join(',')}`,
    '--leader-elect=false',
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
    // No port: nothing reads its health or metrics.
    '--secure-port=0',
    // With the defaults of 20 and 30, deleting a namespace with a thousand objects takes minutes.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    '--concurrent-gc-syncs=20',
  ];
}
