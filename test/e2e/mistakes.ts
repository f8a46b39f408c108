/** Manifests that the API server refuses, each with the reason, and others that are just within the limits. */
import { credential, type Manifest, manifest, policy } from './manifest.ts';

/** A text of so many bytes in far fewer characters. */
const full = (bytes: number) => '€'.repeat(Math.floor(bytes / 3)) + 'x'.repeat(bytes % 3);
export const rule = (fields: object = {}) => ({ cidr: '10.0.0.0/8', action: 'allow', ...fields });
const rules = (...members: unknown[]) => policy('x', { rules: members });
const blocks = (count: number) =>
  Array.from({ length: count }, (_, n) => rule({ cidr: `10.${n >> 8}.${n & 255}.0/24` }));
const acl = (...members: unknown[]) => credential('x', { acl: members });
const secret = (fields: object) => credential('x', { secret: fields });
const template = (fields: object) => secret({ template: fields });
const rotation = (fields: object) => credential('x', { rotation: fields });
const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v']));

/** What is rejected, the field that the message names, and what it says about it. */
type Refused = [what: string, manifest: Manifest, field: string, says: string];

const refusedSpecs: Refused[] = [
  ['a description of 256 bytes', policy('x', { description: full(256) }), 'spec.description', 'at most 255 bytes'],
  ['metadata of 4097 bytes', policy('x', { metadata: full(4097) }), 'spec.metadata', 'at most 4096 bytes'],
  [
    'a description of two lines',
    policy('x', { description: 'a\nb' }),
    'spec.description',
    'must not contain line breaks',
  ],
  ['an escape sequence', policy('x', { description: '\u001b[2Kx' }), 'spec.description', 'control characters'],
  ['text that runs backwards', policy('x', { description: '\u202egpj.x' }), 'spec.description', 'bidirectional'],
  ['a control character', policy('x', { metadata: 'a\u0085' }), 'spec.metadata', 'other than tab and newline'],
  ['a carriage return', policy('x', { metadata: 'a\rb' }), 'spec.metadata', 'without a newline after it'],
  ['an unknown field', policy('x', { descripton: 'typo' }), 'spec.descripton', 'unknown field'],
  ['an unknown policy', policy('x', { deletionPolicy: 'Keep' }), 'spec.deletionPolicy', '"Delete", "Retain"'],
  ['1001 rules', rules(...blocks(1001)), 'spec.rules', 'at most 1000'],
  ['an invalid cidr', rules(rule({ cidr: 'office' })), 'spec.rules[0].cidr', 'must be a CIDR block'],
  ['a cidr of 65 characters', rules(rule({ cidr: '1'.repeat(65) })), 'spec.rules[0].cidr', '64'],
  [
    'host bits',
    rules(rule({ cidr: '10.1.0.0/8' })),
    'spec.rules[0].cidr',
    'write the network address, as in 10.0.0.0/8',
  ],
  ['the same cidr twice', rules(rule(), rule({ action: 'deny' })), 'spec.rules[1]', 'Duplicate value'],
  ['long metadata of a rule', rules(rule({ metadata: full(4097) })), 'spec.rules[0].metadata', '4096 bytes'],
  ['an acl rule of 513 characters', acl(`bind:k=${'v'.repeat(506)}`), 'spec.acl[0]', '512'],
  ['a malformed acl rule', acl('*', 'bind:exa mple.com'), 'spec.acl[1]', 'acl rule must be'],
  ['a host of 254 characters', acl(`bind:${'a.'.repeat(125)}abcd`), 'spec.acl[0]', 'longer than 253 characters'],
  ['port 0', acl('bind:example.com:0'), 'spec.acl[0]', 'not a number from 1 to 65535'],
  ['brackets around IPv4', acl('bind:[192.0.2.1]:443'), 'spec.acl[0]', 'other than an IPv6 address'],
  ['an ownerId of another family', credential('x', { ownerId: 'ipp_0' }), 'spec.ownerId', 'usr_ or bot_'],
  ['a secret name in capitals', secret({ name: 'Token' }), 'spec.secret.name', 'secret.name must consist'],
  ['a secret key with a slash', secret({ key: 'a/b' }), 'spec.secret.key', 'secret.key must consist'],
  ['a secret key of one dot', secret({ key: '.' }), 'spec.secret.key', 'must not be "."'],
  ['a secret key that begins with dots', secret({ key: '...a' }), 'spec.secret.key', 'nor start with ".."'],
  ['the secret key credential-id', secret({ key: 'credential-id' }), 'spec.secret.key', 'holds the id'],
  ['a bad label name', template({ labels: { 'a b': 'c' } }), 'spec.secret.template.labels', 'names must consist of'],
  ['a bad label value', template({ labels: { a: 'b c' } }), 'spec.secret.template.labels', 'a label value must'],
  [
    'the label that the operator reserves',
    template({ labels: { 'app.kubernetes.io/managed-by': 'me' } }),
    'spec.secret.template.labels',
    'must not include app.kubernetes.io/managed-by',
  ],
  ['65 labels', template({ labels: labels(65) }), 'spec.secret.template.labels', '64'],
  [
    'an annotation name with a long prefix',
    template({ annotations: { [`${'a'.repeat(254)}/b`]: 'c' } }),
    'spec.secret.template.annotations',
    'before its slash must have at most 253',
  ],
  [
    'an annotation that the operator reserves',
    template({ annotations: { 'tunnel-operator.dev/token-sha256': 'c' } }),
    'spec.secret.template.annotations',
    'tunnel-operator.dev/',
  ],
  ['an interval in days', rotation({ interval: '30d' }), 'spec.rotation.interval', 'such as 720h'],
  ['an interval with a unit twice', rotation({ interval: '1h1h' }), 'spec.rotation.interval', 'each unit once'],
  ['an interval a moment too long', rotation({ interval: '87600h1ms' }), 'spec.rotation.interval', 'at most 10 years'],
  ['an interval of 59 seconds', rotation({ interval: '59s' }), 'spec.rotation.interval', 'must be at least 1m'],
  ['a negative overlap', rotation({ overlap: '-1h' }), 'spec.rotation.overlap', 'must be a duration'],
  [
    'an overlap as long as the interval',
    rotation({ interval: '1h', overlap: '60m' }),
    'spec.rotation.overlap',
    'must be shorter than rotation.interval',
  ],
];

const ID = '_01k9zq3v5hf8svx2r4c6y7n0wd';
const from = { name: 'x', key: 'x' };
const configuration = (ref: object) => manifest('EndpointConfiguration', 'x', { type: 'http', ipPolicyRefs: [ref] });
const edge = (backendRef: object) =>
  manifest('TLSEdgeModules', 'x', { tlsEdgeRef: { name: 'x' }, backend: { backendRef } });
const modules = (routeRef: object) => manifest('HTTPSEdgeRouteModules', 'x', { routeRef });
const signIn = (oauth: object) =>
  manifest('HTTPSEdgeRouteModules', 'x', { routeRef: { name: 'x' }, oauth: { provider: oauth } });
const backend = (spec: object) => manifest('HTTPResponseBackend', 'x', spec);
const named = (name: string) => manifest('BotUser', 'x', { name });
const oidc = (settings: object) =>
  manifest('HTTPSEdgeRouteModules', 'x', {
    routeRef: { name: 'x' },
    oidc: { issuer: 'https://a.example', clientId: { value: 'x' }, clientSecret: { value: 'x' }, ...settings },
  });
const route = (match: string, matchType = 'path_prefix') =>
  manifest('HTTPSEdgeRoute', 'x', { edgeRef: { name: 'x' }, match, matchType });
const domain = (name: string) => manifest('ReservedDomain', 'x', { domain: name });
const hook = (url: string) => manifest('EventDestination', 'x', { target: { webhook: { url } } });
const [policies, backendRef] = ['spec.ipPolicyRefs[0]', 'spec.backend.backendRef'];
const ONE_OF = 'exactly one of name and id must be set';
const ONE_SOURCE = 'exactly one of value, secretKeyRef and configMapKeyRef must be set';

const URL_HOST = 'must have a host of letters, digits, dots and inner hyphens';
const IPV4 = 'must write an IPv4 address as four decimal numbers';
const DOMAIN = 'must be a name of two or more labels';

const refusedTexts: Refused[] = [
  ['a name of blanks', named(' \u00a0 '), 'spec.name', 'must not be blank'],
  ['a name with an escape sequence', named('\u009b2Kx'), 'spec.name', 'control characters'],
  [
    'a client id that ends a line',
    oidc({ clientId: { value: 'x\n' } }),
    'spec.oidc.clientId.value',
    'without the line break',
  ],
  ['a secret beyond ASCII', oidc({ clientSecret: { value: 'ü' } }), 'spec.oidc.clientSecret.value', 'printable ASCII'],
  [
    'the secret of a provider with a line break',
    signIn({ gitlab: { clientId: { value: 'x' }, clientSecret: { value: 'x\r\n' } } }),
    'spec.oauth.provider.gitlab.clientSecret.value',
    'printable ASCII',
  ],
  [
    'the document of an issuer',
    oidc({ issuer: 'https://a.example/.well-known/openid-configuration' }),
    'spec.oidc.issuer',
    'leave that out',
  ],
  ['an issuer without a host', oidc({ issuer: 'https://./' }), 'spec.oidc.issuer', URL_HOST],
  ['a URL with two dots', hook('https://hooks..example.com/'), 'spec.target.webhook.url', URL_HOST],
  ['a URL with an underscore', hook('https://hook_1.example.com/x'), 'spec.target.webhook.url', URL_HOST],
  ['a URL with a hexadecimal address', hook('https://0x7f000001/hook'), 'spec.target.webhook.url', IPV4],
  ['a URL with a decimal address', hook('https://2130706433'), 'spec.target.webhook.url', IPV4],
  ['a URL with a short address', hook('https://127.1:443?a'), 'spec.target.webhook.url', IPV4],
  ['a URL with port 0', hook('https://a.example:0/'), 'spec.target.webhook.url', 'must have a port from 1 to 65535'],
  ['a domain that begins with a hyphen', domain('-a.com'), 'spec.domain', DOMAIN],
  ['a domain with two dots', domain('a..com'), 'spec.domain', DOMAIN],
  ['a domain with an underscore', domain('*.a_b.com'), 'spec.domain', DOMAIN],
  ['a domain of one label', domain('localhost'), 'spec.domain', DOMAIN],
  ['an address as a domain', domain('10.0.0.1'), 'spec.domain', 'must not have an IP address'],
  [
    'an address with a port',
    manifest('HTTPSEdge', 'x', { hostports: ['10.0.0.1:443'] }),
    'spec.hostports[0]',
    'must not have an IP address',
  ],
  ['a path with two slashes', route('//a'), 'spec.match', 'must not contain "//"'],
  ['a path that leads up', route('/../a'), 'spec.match', 'must not contain "." or ".." segments'],
  ['a prefix with a wildcard', route('/shop/*'), 'spec.match', 'a prefix needs none, so write /shop/'],
];

const NO_MODULE = 'must have at least one module';

const refusedInputs: Refused[] = [
  ['no module of a route', modules({ name: 'x' }), 'spec', `${NO_MODULE} (oidc, oauth)`],
  ['no module of an edge', manifest('TLSEdgeModules', 'x', { tlsEdgeRef: { name: 'x' } }), 'spec', NO_MODULE],
  ['a reference to nothing', configuration({}), policies, ONE_OF],
  ['a reference by name and id', configuration({ name: 'x', id: `ipp${ID}` }), policies, ONE_OF],
  ['a namespace beside an id', configuration({ id: `ipp${ID}`, namespace: 'x' }), policies, 'namespace goes with name'],
  ['a bad namespace', configuration({ name: 'x', namespace: 'A_b' }), policies, 'must be the name of a namespace'],
  ['a bad name', configuration({ name: 'A_b' }), policies, 'must be the name of an object'],
  ['an id of another family', configuration({ id: `esb${ID}` }), policies, 'must be an id that starts with ipp_'],
  ['a reference without its kind', edge({ name: 'x' }), backendRef, 'kind and name go together'],
  ['a reference to a wrong kind', edge({ name: 'x', kind: 'IPPolicy' }), `${backendRef}.kind`, '"TunnelGroupBackend"'],
  ['a route without its edge', modules({ id: `edghtsrt${ID}` }), 'spec.routeRef.id', 'of the form edghts_…/edghtsrt_…'],
  ['no source', backend({ body: {} }), 'spec.body', ONE_SOURCE],
  ['two sources', backend({ headers: { 'x-a': { value: 'x', secretKeyRef: from } } }), 'spec.headers[x-a]', ONE_SOURCE],
  [
    'a Secret name with a path',
    backend({ body: { secretKeyRef: { ...from, name: '../b/c' } } }),
    'spec.body.secretKeyRef.name',
    'must be the name of an object',
  ],
  [
    'a bad key',
    backend({ body: { configMapKeyRef: { ...from, key: 'a/b' } } }),
    'spec.body.configMapKeyRef.key',
    'must be a key of a Secret or ConfigMap',
  ],
  [
    'a host without a port',
    manifest('HTTPSEdge', 'x', { hostports: ['app.example.com'] }),
    'spec.hostports[0]',
    'domain:port, as in app.example.com:443',
  ],
  [
    'an address of another protocol',
    manifest('EventDestination', 'x', { target: { webhook: { url: 'ftp://hooks.example.com' } } }),
    'spec.target.webhook.url',
    'must be an http or https URL',
  ],
  [
    'two targets',
    manifest('EventDestination', 'x', {
      target: { webhook: { url: 'https://hooks.example.com' }, datadog: { apiKey: { value: '0123456789abcdef' } } },
    }),
    'spec.target',
    'exactly one of webhook, datadog, otlpLogs',
  ],
  ['no provider', signIn({}), 'spec.oauth.provider', 'exactly one'],
  ['two providers', signIn({ github: {}, google: {} }), 'spec.oauth.provider', 'exactly one'],
];

export const REFUSED: readonly Refused[] = [...refusedSpecs, ...refusedTexts, ...refusedInputs];

export const ACCEPTED: readonly [what: string, manifest: Manifest][] = [
  ['a policy without a spec', { ...policy('y'), spec: undefined }],
  ['description and metadata of full length', policy('y', { description: full(255), metadata: full(4096) })],
  ['metadata of several lines', policy('y', { metadata: 'a: 1\r\n\tb: 2\n' })],
  ['the encoded characters of a path', route('/%61dmin/%7e%7E')],
  ['an asterisk in an exact path', route('/shop/*', 'exact_path')],
  ['an international domain', domain('*.bücher.example')],
  ['a domain with ideographic full stops', domain('例え。jp')],
  ['a URL with addresses', hook('https://192.0.2.1:65535?a')],
  ['a client secret of all printable ASCII', oidc({ clientSecret: { value: ' !"#\\~' } })],
  ['1000 rules', policy('y', { rules: blocks(1000) })],
  [
    '1000 rules with a description',
    policy('y', { rules: blocks(1000).map((each) => ({ ...each, description: 'ab', metadata: 'abc' })) }),
  ],
  ['256 acl rules', acl(...Array.from({ length: 256 }, (_, n) => `bind:a${n}.example.com`))],
  ['a secret name and key of full length', secret({ name: `a.${'b'.repeat(251)}`, key: `_.${'A'.repeat(251)}` })],
  [
    'names with the longest prefix',
    template({ labels: { [`${'a'.repeat(253)}/b`]: 'c' }, annotations: { [`${'a'.repeat(253)}/b`]: 'any text\n' } }),
  ],
  ['the shortest rotation', rotation({ interval: '1m', overlap: '59.999s' })],
  ['the longest rotation', rotation({ interval: '87600h', overlap: '8760h' })],
];
