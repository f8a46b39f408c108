/**
 * The rooms of the source and the arrows between them, which the architecture test enforces and docs/architecture.md
 * shows.
 */

export const FAMILIES = ['resources', 'resources/definition', 'resources/formats'];
const MANAGED = ['declaration', 'identity', 'knowledge', 'secrets'].map((room) => `operator/managed/${room}`);
export const FOR_ALL = ['errors.ts', 'log.ts', 'postgres', 'retry', 'settings', 'tracing'];

/**
 * The rooms from the bottom up. Each may import the rooms in its list. A folder that is not listed belongs to the room
 * above it; files directly in `src` are rooms of their own.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'build.ts': [],
  'errors.ts': [],
  'http-request.ts': [],
  'log.ts': ['errors.ts'],
  'process-metrics.ts': ['build.ts'],
  'signals.ts': [],
  retry: [],
  settings: ['errors.ts'],
  postgres: ['errors.ts', 'retry'],
  tracing: ['settings'],

  'resources/formats': [],
  'resources/definition': ['resources/formats'],
  resources: ['resources/definition', 'resources/formats'],

  client: [...FAMILIES, 'errors.ts', 'http-request.ts', 'retry'],

  'api/errors': FAMILIES,
  'api/store': [...FAMILIES, 'errors.ts', 'tracing', 'retry'],
  'api/secrets': [...FAMILIES, 'api/errors', 'api/store'],
  'api/guard': ['api/errors', 'api/store'],
  'api/http': [...FAMILIES, 'log.ts', 'api/errors', 'api/store', 'api/secrets', 'api/guard'],
  'api/telemetry': ['process-metrics.ts', 'tracing', 'api/errors', 'api/store', 'api/guard', 'api/http'],
  'api/crud': [...FAMILIES, 'api/errors', 'api/store', 'api/secrets', 'api/guard', 'api/http'],
  'api/certificates': FAMILIES,
  'api/ssh': [...FAMILIES, 'api/errors'],
  'api/events': [...FAMILIES, 'api/errors'],
  'api/events/wire': [...FAMILIES, 'build.ts', 'errors.ts', 'retry', 'api/guard'],
  'api/events/delivery': ['retry', 'api/events/wire'],
  'api/families': [
    ...FAMILIES,
    'api/errors',
    'api/store',
    'api/secrets',
    'api/guard',
    'api/http',
    'api/crud',
    'api/certificates',
    'api/ssh',
    'api/events',
    'api/events/wire',
  ],
  'api/openapi': [...FAMILIES, 'api/guard', 'api/http', 'api/families'],
  api: [
    ...FAMILIES,
    ...FOR_ALL,
    'api/errors',
    'api/store',
    'api/secrets',
    'api/guard',
    'api/http',
    'api/crud',
    'api/families',
    'api/openapi',
    'api/telemetry',
  ],

  'operator/contract': [],
  'operator/kube': ['errors.ts', 'http-request.ts', 'retry', 'tracing'],
  'operator/managed/declaration': [...FAMILIES, 'client', 'operator/contract', 'operator/kube'],
  'operator/managed/identity': [
    ...FAMILIES,
    'client',
    'operator/contract',
    'operator/kube',
    'operator/managed/declaration',
  ],
  'operator/managed/knowledge': [
    'operator/contract',
    'operator/kube',
    'operator/managed/declaration',
    'operator/managed/identity',
  ],
  'operator/managed/secrets': [
    ...FAMILIES,
    'settings',
    'operator/contract',
    'operator/kube',
    'operator/managed/declaration',
    'operator/managed/identity',
  ],
  'operator/managed/object': ['resources/definition', 'client', 'operator/contract', 'operator/kube', ...MANAGED],
  'operator/managed/steps': [
    'resources/definition',
    'client',
    'operator/contract',
    'operator/kube',
    ...MANAGED,
    'operator/managed/object',
  ],
  'operator/managed': [
    'operator/contract',
    'operator/kube',
    'operator/managed/declaration',
    'operator/managed/identity',
    'operator/managed/object',
    'operator/managed/steps',
  ],
  'operator/controller': [
    'retry',
    'tracing',
    'operator/contract',
    'operator/kube',
    ...MANAGED,
    'operator/managed/object',
    'operator/managed/steps',
    'operator/managed',
  ],
  'operator/kinds': [
    ...FAMILIES,
    'client',
    'settings',
    'operator/contract',
    'operator/kube',
    'operator/managed/declaration',
    'operator/managed/secrets',
  ],
  'operator/crds': [...FAMILIES, 'operator/contract', 'operator/managed/declaration', 'operator/managed/identity'],
  'operator/export': [
    ...FAMILIES,
    'client',
    'settings',
    'operator/contract',
    'operator/managed/declaration',
    'operator/kinds',
  ],
  'operator/plan': [
    ...FAMILIES,
    'client',
    'errors.ts',
    'settings',
    'operator/contract',
    'operator/kube',
    ...MANAGED,
    'operator/managed/object',
    'operator/managed/steps',
    'operator/controller',
    'operator/kinds',
    'operator/export',
  ],
  operator: [
    ...FAMILIES,
    'log.ts',
    'process-metrics.ts',
    'client',
    'retry',
    'settings',
    'tracing',
    'operator/contract',
    'operator/kube',
    ...MANAGED,
    'operator/managed/object',
    'operator/controller',
    'operator/kinds',
  ],

  'command-line.ts': ['build.ts', 'errors.ts', 'log.ts', 'signals.ts', 'settings', 'tracing', 'api', 'operator'],
  'main.ts': ['signals.ts', 'command-line.ts'],
};

/** What the command line itself imports. It loads only the program that it runs. */
export const LOADED_BY_COMMAND_LINE = [
  'api/families',
  'api/openapi',
  'api/secrets',
  'api/store',
  'operator/kinds',
  'operator/crds',
  'operator/export',
  'operator/plan',
];

/** The purpose of each room, as docs/architecture.md states it. */
export const PURPOSE: Readonly<Record<string, string>> = {
  'build.ts': 'Which build of the program runs.',
  'errors.ts': 'What errors of Node, the system or a library say.',
  'http-request.ts': 'A request and its whole response, read as text.',
  'log.ts': 'One logger for both programs; keeps secrets out of every line.',
  'process-metrics.ts': 'What both programs tell Prometheus of their process.',
  'signals.ts': 'How a process ends that is told to.',
  retry: 'Backoff: how long to wait before the next attempt.',
  settings: 'Settings from flags and the environment; durations, whole numbers.',
  postgres: 'The embedded PostgreSQL: finds its binaries, starts and stops it, and starts it again when it dies.',
  tracing: 'Traces of both programs. Loads OpenTelemetry only where they are sent somewhere.',
  'resources/formats':
    'What texts may look like: ACL rules, CIDR blocks, domain names, hostports, URLs, X.509 and SSH names.',
  'resources/definition': 'What a family, a field, a reference, an id, an error is.',
  resources: 'The domain, free of I/O: one file per family, and the list of all families.',
  client: 'The typed HTTP client of the API, derived from the families.',
  'api/errors': 'The errors that the API returns, and how things are named in sentences.',
  'api/store': 'PostgreSQL: pool, statements, the one repository, events in the same statement, migrations.',
  'api/secrets': 'Encryption at rest and its keys; tokens.',
  'api/guard':
    'Limits what clients take: connections, requests, bytes, the database pool; sheds load; stops the server.',
  'api/http': 'Turns an operation into a route: authentication, validation, bodies, ETags, error handler, access log.',
  'api/telemetry': 'Metrics and their server, traces, probes.',
  'api/crud': 'What every family does: the five operations, references, idempotency, modules, paging.',
  'api/certificates': 'Reading X.509 certificates and keys.',
  'api/ssh': 'Making and reading SSH keys and certificates.',
  'api/events': 'The catalogue of event types.',
  'api/events/wire':
    'Sends one event to one destination: body, signature, the addresses that may be called, the answer.',
  'api/events/delivery': 'When an event is delivered: the schedule of attempts.',
  'api/families': 'Only what is special about a family, and the list of operations.',
  'api/openapi': 'The OpenAPI document, and the page that shows it.',
  api: 'Assembles the parts: the app, the server around it, its settings, the first key.',
  'operator/contract': 'Names, annotations and reasons: what users and dashboards see.',
  'operator/kube':
    'A Kubernetes client: calls, credentials, watch cache, Events, leader election. It knows nothing of tunnels.',
  'operator/managed/declaration':
    'What a kind declares: its spec, its verbs on the API, what it hands out, what it refers to.',
  'operator/managed/identity':
    'Which resource belongs to an object, as its annotations, its status and the API record it.',
  'operator/managed/knowledge':
    'What is known of other objects: indexes, claims, references, sources, ReferenceGrants.',
  'operator/managed/secrets': 'What resources hand out, kept in Secrets: writing, ownership, rotation.',
  'operator/managed/object':
    'One object under reconcile: its kind, its writes, its conditions, and whether it may have what it claims.',
  'operator/managed/steps': 'The steps of a reconcile, from recovering the identity to deleting the resource.',
  'operator/managed': 'The one reconcile of every kind, and the variant for modules.',
  'operator/controller': 'When a reconcile runs: work queue, workers, resync, the API call budget; health and metrics.',
  'operator/kinds': 'One file per custom resource, and the CEL rules that the API server checks.',
  'operator/crds': 'Turns a kind into its CustomResourceDefinition.',
  'operator/export': 'The command `export`: what an API holds, as manifests.',
  'operator/plan': 'The command `plan`: what applying manifests would change at the API.',
  operator: 'Assembles the parts; the settings.',
  'command-line.ts': 'The command line. It loads only the program that it runs.',
  'main.ts': 'The entry of every command: handles signals before anything else is loaded.',
};
