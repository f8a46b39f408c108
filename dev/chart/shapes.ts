/**
 * What the values of the chart may be, beyond what their defaults show, by their names. Helm would hand a number or `true` in the
 * place of a text on to the API server, which refuses one object while the others are installed.
 */
type JsonSchema = Readonly<Record<string, unknown>>;

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const open = (properties: JsonSchema, required: readonly string[] = []) => ({ type: 'object', required, properties });
const closed = (properties: JsonSchema, required: readonly string[] = []) => ({
  ...open(properties, required),
  additionalProperties: false,
});

const LABEL = { ...text, maxLength: 63, pattern: '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$' };
const NAME = { ...text, maxLength: 253, pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$' };
const PORT = { type: 'integer', minimum: 1, maximum: 65_535 };
const QUANTITIES = { type: 'object', additionalProperties: { type: ['string', 'number'] } };

const HOST = {
  ...text,
  maxLength: 253,
  pattern: '^([*][.])?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
};

const SELECTOR = closed({
  matchLabels: { type: 'object', additionalProperties: LABEL },
  matchExpressions: { type: 'array', items: closed({ key: text, operator: text, values: texts }) },
});
const PEER = closed({
  podSelector: SELECTOR,
  namespaceSelector: SELECTOR,
  ipBlock: closed({ cidr: text, except: texts }),
});
const SPREAD = open({ topologyKey: text, maxSkew: { type: 'integer' }, labelSelector: SELECTOR }, ['topologyKey']);
const DNS = closed({
  nameservers: texts,
  searches: texts,
  options: { type: 'array', items: closed({ name: text, value: text }, ['name']) },
});
const TOLERATION = closed({
  key: text,
  operator: text,
  value: text,
  effect: text,
  tolerationSeconds: { type: 'integer' },
});

/** The first that matches the last part of a value's path. */
const SHAPES: ReadonlyArray<readonly [RegExp, JsonSchema]> = [
  [/annotations$/i, { additionalProperties: text }],
  [/labels$|^nodeSelector$/i, { additionalProperties: LABEL }],
  [/^(name|namespace|existingSecret|storageClass|schedulerName)$|className$/i, NAME],
  [/^existingSecretKey$/, { minLength: 1, maxLength: 253, pattern: '^[-._a-zA-Z0-9]+$' }],
  [/^extraEnv$/, { items: closed({ name: { ...text, minLength: 1 }, value: text, valueFrom: open({}) }, ['name']) }],
  [/^extraVolumes$/, { items: open({ name: text }, ['name']) }],
  [/^extraVolumeMounts$/, { items: open({ name: text, mountPath: text }, ['name', 'mountPath']) }],
  [/^extra(Init)?Containers$/, { items: open({ name: text, image: text }, ['name', 'image']) }],
  [/^envFrom$/, { items: closed({ prefix: text, configMapRef: open({}), secretRef: open({}) }) }],
  [/^tolerations$/, { items: TOLERATION }],
  [/^hostAliases$/, { items: closed({ ip: text, hostnames: texts }, ['ip', 'hostnames']) }],
  [/^imagePullSecrets$/, { items: { type: ['object', 'string'], required: ['name'], properties: { name: text } } }],
  [/^resources$/, closed({ requests: QUANTITIES, limits: QUANTITIES, claims: { type: 'array' } })],
  [/^port$/, PORT],
  [/^host(name)?s$/, { items: HOST }],
  [/^tls$/, { items: closed({ secretName: text, hosts: { type: 'array', items: HOST } }) }],
  [/(From|To)$/, { items: PEER }],
  [/^topologySpreadConstraints$/, { items: SPREAD }],
  [/^dnsConfig$/, DNS],
  [/Ports$/, { items: PORT }],
  [/^(interval|scrapeTimeout)$/, { pattern: '^([0-9]+(ms|[smhdwy]))+$' }],
  [/^size$/, { pattern: '^[0-9]+([.][0-9]+)?([KMGTPE]i?|k|m)?$' }],
];

/** Parts of the JSON schema of a value. */
export function shapeOf(path: readonly string[]): JsonSchema {
  const name = path.at(-1) ?? '';
  return SHAPES.find(([pattern]) => pattern.test(name))?.[1] ?? {};
}
