/** Values of the chart for its tests. Only for test files. */
import { DATABASE } from './helm.ts';

/** A variable that the chart does not set, and one for each place where it sets some. */
export const EXTRA = {
  RATE_LIMIT: '10',
  DATABASE_URL: 'postgres://other',
  LOG_LEVEL: 'warn',
  OTEL_TRACES_SAMPLER: 'always_on',
};
const pod = {
  extraEnv: Object.entries(EXTRA).map(([name, value]) => ({ name, value })),
  extraVolumes: [{ name: 'ca', secret: { secretName: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
  deploymentAnnotations: { a: 'b' },
  podAnnotations: { a: 'b' },
  // A label that looks like a number must stay a string.
  podLabels: { c: 'd', commit: '1234567' },
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'k', operator: 'Exists' }],
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { c: 'd' } } },
  ],
  envFrom: [{ configMapRef: { name: 'settings' } }],
  startupProbe: { exec: { command: ['/started'] } },
  readinessProbe: { timeoutSeconds: 10 },
  livenessProbe: null,
  strategy: { type: 'Recreate' },
  revisionHistoryLimit: 0,
  dnsPolicy: 'None',
  dnsConfig: { nameservers: ['10.0.0.10'] },
  hostAliases: [{ ip: '10.0.0.1', hostnames: ['database.example.com'] }],
  schedulerName: 'other',
  priorityClassName: 'system-node-critical',
  imagePullSecrets: ['own'],
};
/** They keep to the Pod Security Standard. */
const sidecar = (name: string) => ({
  name,
  image: 'registry.example.com/proxy',
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
});

const monitor = {
  namespace: 'kube-public',
  additionalLabels: { release: 'prometheus' },
  relabelings: [{ action: 'labeldrop', regex: 'endpoint' }],
  metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }],
};

/** Everything that there is to set for automatic certificates. */
export const CERTIFICATES = {
  directoryUrl: 'https://ca.example.com/directory',
  authority: 'private',
  contacts: ['ops@example.com', 'other@example.com'],
  profile: 'shortlived',
  externalAccount: { keyId: 'kid-1', existingSecret: 'acme' },
  trustedCertificates: '-----BEGIN CERTIFICATE-----',
  selfCheck: false,
  resolvers: ['10.0.0.10', '[2001:db8::1]:53'],
  dns: {
    nameServers: ['ns1.example.net', 'ns2.example.net'],
    service: {
      type: 'NodePort',
      annotations: { a: 'b' },
      labels: { of: 'dns' },
      spec: { externalTrafficPolicy: 'Local' },
    },
  },
  ingress: { enabled: true, className: 'nginx', annotations: { a: 'b' } },
};

/** By name: sets of values that together cover everything that has an effect. */
export const MATRIX: Record<string, object> = {
  'a URL': DATABASE,
  'a Secret of the user': {
    database: { existingSecret: 'mine', existingSecretKey: 'uri' },
    secrets: { existingSecret: 's' },
  },
  'the bundled database': { database: { bundled: { enabled: true } }, networkPolicy: { enabled: true } },
  'the bundled database without a volume': {
    database: { bundled: { enabled: true, persistence: { enabled: false } } },
  },
  CloudNativePG: { database: { cloudNativePG: { enabled: true, storage: { storageClass: 'fast' } } } },
  'some namespaces': { ...DATABASE, watchNamespaces: ['default', 'kube-public'] },
  'namespaces by label': { ...DATABASE, watchNamespaceSelector: 'team=shop' },
  'only the operator': {
    api: { enabled: false },
    operator: { apiUrl: 'https://api.example.com', apiKey: { existingSecret: 'key' } },
  },
  'an operator that is not an admin': { ...DATABASE, operator: { apiKey: { admin: false } } },
  'only the API': { ...DATABASE, operator: { enabled: false } },
  'CRDs that are deleted with the release': { ...DATABASE, crds: { keep: false } },
  'no CRDs': { ...DATABASE, crds: { enabled: false } },
  'health checks for Argo CD': { ...DATABASE, argoCD: { healthChecks: true } },
  'PodMonitors and a worker': { ...DATABASE, worker: { enabled: true }, podMonitor: { ...monitor, enabled: true } },
  'objects of the user': {
    ...DATABASE,
    extraObjects: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-settings' }, data: { a: 'b' } },
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: text }\ndata: { url: {{ include "tunnel-operator.apiUrl" . }} }\n',
    ],
  },
  'certificates of the API': { ...DATABASE, certificates: CERTIFICATES },
  everything: {
    ...DATABASE,
    certificates: CERTIFICATES,
    nameOverride: 'other',
    // A new label, one that Pods also have, and one that the chart sets.
    commonLabels: { team: 'platform', c: 'common', 'app.kubernetes.io/part-of': 'ours' },
    global: { imagePullSecrets: [{ name: 'pull' }], priorityClassName: 'system-cluster-critical', logLevel: 'debug' },
    image: { registry: 'registry.example.com', digest: `sha256:${'0'.repeat(64)}` },
    api: {
      ...pod,
      baseUrl: 'https://tunnels.example.com',
      autoscaling: { enabled: true },
      service: {
        type: 'NodePort',
        port: 8080,
        annotations: { a: 'b' },
        labels: { of: 'service' },
        ipFamilyPolicy: 'PreferDualStack',
        ipFamilies: ['IPv4'],
        spec: { externalTrafficPolicy: 'Local' },
      },
      runtimeClassName: 'sandboxed',
      extraContainers: [sidecar('more')],
      extraInitContainers: [sidecar('first')],
      podSecurityContext: { fsGroup: null, runAsUser: 1000 },
      containerSecurityContext: { readOnlyRootFilesystem: null },
      ingress: {
        enabled: true,
        className: 'nginx',
        annotations: { a: 'b' },
        hosts: ['tunnels.example.com'],
        tls: [{ secretName: 'tls', hosts: ['tunnels.example.com'] }],
      },
      httpRoute: { enabled: true, parentRefs: [{ name: 'gateway' }], hostnames: ['tunnels.example.com'] },
      serviceAccount: { annotations: { a: 'b' }, labels: { of: 'account' } },
    },
    worker: {
      ...pod,
      enabled: true,
      extraContainers: [sidecar('more')],
      extraInitContainers: [sidecar('first')],
    },
    operator: {
      ...pod,
      extraContainers: [sidecar('more')],
      extraInitContainers: [sidecar('first')],
      acceptNewOwner: 'usr_01m7yvm3eyf20vnt1006h45zq2',
      adoptNamespaces: ['-'],
      clusterId: 'prod.eu',
      takeOverFrom: ['lost', 'gone'],
    },
    networkPolicy: {
      enabled: true,
      apiFrom: [{ namespaceSelector: {} }],
      metricsFrom: [{ namespaceSelector: {} }],
      databaseTo: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
      eventTo: [{ ipBlock: { cidr: '203.0.113.0/24' } }],
      tracingTo: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    },
    tracing: { endpoint: 'http://collector.monitoring:4318', headers: { existingSecret: 'h' }, samplingRatio: 0.1 },
    serviceMonitor: { ...monitor, enabled: true },
    prometheusRule: { enabled: true, runbookUrl: 'https://wiki.example.com/runbooks#' },
    grafanaDashboard: { enabled: true, annotations: { folder: 'Tunnels' } },
  },
};
