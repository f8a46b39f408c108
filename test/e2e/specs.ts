/** Specs of policies and credentials that the API server refuses at once, and such as it accepts. Only for test files. */
import { credential, type Manifest, policy } from './stack.ts';

const euro = '€'; // three bytes
/** As long as allowed, in bytes; far shorter in characters. */
const full = (bytes: number) => euro.repeat(Math.floor(bytes / 3)) + 'x'.repeat(bytes % 3);
export const rule = (fields: object = {}) => ({ cidr: '10.0.0.0/8', action: 'allow', ...fields });
const rules = (...members: unknown[]) => policy('x', { rules: members });
const cidr = (text: string) => rules(rule({ cidr: text }));
const blocks = (count: number) =>
  Array.from({ length: count }, (_, n) => rule({ cidr: `10.${n >> 8}.${n & 255}.0/24` }));
const acl = (...members: unknown[]) => credential('x', { acl: members });
const secret = (fields: unknown) => credential('x', { secret: fields });
const template = (fields: unknown) => secret({ template: fields });
const rotation = (fields: unknown) => credential('x', { rotation: fields });
const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v']));
export const OWNER = 'usr_01k9zq3v5hf8svx2r4c6y7n0wd';
const BOT = 'bot_01k9zq3v5hf8svx2r4c6y7n0wd';

/** What is rejected, the field that the message names, and what it says about it. */
type Refused = [what: string, manifest: Manifest, field: string, reason: string | RegExp];

const refusedEverywhere = (make: (spec: object) => Manifest): Refused[] => [
  ['a description of 256 bytes', make({ description: full(256) }), 'spec.description', 'at most 255 bytes'],
  ['a description of 256 characters', make({ description: 'x'.repeat(256) }), 'spec.description', '255 bytes'],
  ['a description that is a number', make({ description: 7 }), 'spec.description', 'must be of type string'],
  ['metadata of 4097 bytes', make({ metadata: full(4097) }), 'spec.metadata', 'at most 4096 bytes'],
  ['metadata that is a list', make({ metadata: [1] }), 'spec.metadata', 'must be of type string'],
  ['an unknown field', make({ descripton: 'typo' }), 'spec.descripton', 'unknown field'],
  ['an unknown deletionPolicy', make({ deletionPolicy: 'Keep' }), 'spec.deletionPolicy', '"Delete", "Retain"'],
  ['an unknown managementPolicy', make({ managementPolicy: 'Look' }), 'spec.managementPolicy', '"Manage", "Observe"'],
];

export const refusedPolicies: Refused[] = [
  ...refusedEverywhere((spec) => policy('x', spec)),
  ['rules that are not a list', policy('x', { rules: 'none' }), 'spec.rules', 'must be of type array'],
  ['1001 rules', rules(...blocks(1001)), 'spec.rules', 'at most 1000'],
  ['a rule without a cidr', rules({ action: 'allow' }), 'spec.rules[0].cidr', 'Required value'],
  ['a rule without an action', rules({ cidr: '10.0.0.0/8' }), 'spec.rules[0].action', 'Required value'],
  ['an unknown action', rules(rule({ action: 'permit' })), 'spec.rules[0].action', '"allow", "deny"'],
  ['a cidr that is none', cidr('office'), 'spec.rules[0].cidr', 'must be a CIDR block'],
  ['an empty cidr', cidr(''), 'spec.rules[0].cidr', 'must be a CIDR block'],
  ['a cidr of 65 characters', cidr('1'.repeat(65)), 'spec.rules[0].cidr', '64'],
  ['a prefix that is too long', cidr('10.0.0.0/33'), 'spec.rules[0].cidr', 'must be a CIDR block'],
  ['a prefix with a leading zero', cidr('10.0.0.0/08'), 'spec.rules[0].cidr', 'must be a CIDR block'],
  ['two prefixes', cidr('10.0.0.0/8/8'), 'spec.rules[0].cidr', 'must be a CIDR block'],
  ['an address with a leading zero', cidr('010.0.0.0/8'), 'spec.rules[0].cidr', 'must be a CIDR block'],
  ['an address with a zone', cidr('fe80::%eth0/64'), 'spec.rules[0].cidr', 'must be a CIDR block'],
  ['host bits', cidr('10.0.0.1/8'), 'spec.rules[0].cidr', 'has bits set beyond its prefix length'],
  ['host bits of IPv6', cidr('2001:db8::1/32'), 'spec.rules[0].cidr', 'has bits set beyond its prefix length'],
  ['host bits of IPv4 in IPv6', cidr('::ffff:10.0.0.0/95'), 'spec.rules[0].cidr', 'has bits set beyond'],
  ['the same cidr twice', rules(rule(), rule({ action: 'deny' })), 'spec.rules[1]', 'Duplicate value'],
  ['a long description of a rule', rules(rule({ description: full(256) })), 'spec.rules[0].description', '255 bytes'],
  ['long metadata of a rule', rules(rule({ metadata: full(4097) })), 'spec.rules[0].metadata', '4096 bytes'],
  ['an unknown field of a rule', rules(rule({ port: 80 })), 'spec.rules[0].port', 'unknown field'],
];

/** ACL rules, with the message if it is not the one about the form. */
const malformed: [what: string, text: string, reason?: string][] = [
  ['an acl rule that is empty', ''],
  ['an acl rule without bind:', 'example.com'],
  ['an acl rule with white space in front', ' bind:example.com'],
  ['an acl rule with a line break at the end', 'bind:example.com\n'],
  ['an acl rule in capitals', 'BIND:example.com'],
  ['an acl rule with nothing to bind', 'bind:'],
  ['an acl rule with white space inside', 'bind:exa mple.com'],
  ['an acl rule of a star without a domain', 'bind:*'],
  ['an acl rule with a star inside a name', 'bind:a.*.example.com'],
  ['an acl rule with a star as part of a host name label', 'bind:a*.example.com'],
  ['an acl rule with an empty host name label', 'bind:a..example.com'],
  ['an acl rule with a dot at the end', 'bind:example.com.'],
  ['an acl rule with an underscore in a host name', 'bind:a_b.example.com'],
  ['an acl rule with a hyphen in front', 'bind:-a.example.com'],
  ['an acl rule with a host name label of 64 characters', `bind:${'a'.repeat(64)}.example.com`],
  ['an acl rule with a host name of 254 characters', `bind:${'a.'.repeat(125)}abcd`, 'longer than 253 characters'],
  ['an acl rule with such a wildcard', `bind:*.${'a.'.repeat(125)}abcd`, 'longer than 253 characters'],
  ['an acl rule with such a host and a port', `bind:${'a.'.repeat(125)}abcd:443`, 'longer than 253 characters'],
  ['an acl rule with a name that is not ASCII', 'bind:bücher.example'],
  ['an acl rule with port 0', 'bind:example.com:0', 'not a number from 1 to 65535'],
  ['an acl rule with a port above 65535', 'bind:example.com:65536', 'not a number from 1 to 65535'],
  ['an acl rule with a port with a leading zero', 'bind:example.com:080', 'without leading zeros'],
  ['an acl rule with an IPv6 port above 65535', 'bind:[::1]:70000', 'not a number from 1 to 65535'],
  ['an acl rule with a port that is not a number', 'bind:example.com:https'],
  ['an acl rule with no host before the port', 'bind::443'],
  ['an acl rule with a wildcard and a port', 'bind:*.example.com:443'],
  ['an acl rule with IPv6 without brackets', 'bind:2001:db8::1:443'],
  ['an acl rule with brackets around something else', 'bind:[12345::]:443', 'other than an IPv6 address'],
  ['an acl rule with brackets around IPv4', 'bind:[192.0.2.1]:443', 'other than an IPv6 address'],
  ['an acl rule with a zone', 'bind:[fe80::1%eth0]:443'],
  ['an acl rule with IPv6 without a port', 'bind:[2001:db8::1]'],
  ['an acl rule with a label without a key', 'bind:=web'],
  ['an acl rule with a label without a value', 'bind:app='],
  ['an acl rule with two equals signs', 'bind:app=web=1'],
  ['an acl rule with a star as part of a value', 'bind:app=web*'],
  ['an acl rule with a character that labels may not contain', 'bind:app=w?b'],
  ['an acl rule with a label key of 256 characters', `bind:${'k'.repeat(256)}=v`],
];

export const refusedCredentials: Refused[] = [
  ...refusedEverywhere((spec) => credential('x', spec)),
  ['an acl that is not a list', credential('x', { acl: '*' }), 'spec.acl', 'must be of type array'],
  ['257 acl rules', acl(...Array(257).fill('*')), 'spec.acl', 'at most 256'],
  ['an acl rule of 513 characters', acl(`bind:k=${'v'.repeat(506)}`), 'spec.acl[0]', '512'],
  ['an acl rule that is a number', acl(443), 'spec.acl[0]', 'must be of type string'],
  ...malformed.map(
    ([what, text, reason]): Refused => [what, acl('*', text), 'spec.acl[1]', reason ?? 'acl rule must be'],
  ),
  ['an ownerId of another family', credential('x', { ownerId: 'ipp_0' }), 'spec.ownerId', 'usr_ or bot_'],
  ['an ownerId that is too short', credential('x', { ownerId: OWNER.slice(1) }), 'spec.ownerId', 'usr_ or bot_'],
  ['a secret name in capitals', secret({ name: 'Token' }), 'spec.secret.name', 'secret.name must consist'],
  ['an empty secret name', secret({ name: '' }), 'spec.secret.name', 'secret.name must consist'],
  ['a secret name with two dots in a row', secret({ name: 'a..b' }), 'spec.secret.name', 'secret.name must consist'],
  ['a secret name of 254 characters', secret({ name: 'x'.repeat(254) }), 'spec.secret.name', '253'],
  ['a secret key with a slash', secret({ key: 'a/b' }), 'spec.secret.key', 'secret.key must consist'],
  ['an empty secret key', secret({ key: '' }), 'spec.secret.key', 'secret.key must consist'],
  ['a secret key of two dots', secret({ key: '..' }), 'spec.secret.key', 'nor start with ".."'],
  ['a secret key of one dot', secret({ key: '.' }), 'spec.secret.key', 'must not be "."'],
  ['a secret key that begins with dots', secret({ key: '...a' }), 'spec.secret.key', 'nor start with ".."'],
  ['the secret key credential-id', secret({ key: 'credential-id' }), 'spec.secret.key', 'holds the id'],
  ['an unknown field of the secret', secret({ type: 'Opaque' }), 'spec.secret.type', 'unknown field'],
  [
    'an invalid label name',
    template({ labels: { 'a b': 'c' } }),
    'spec.secret.template.labels',
    'names must consist of',
  ],
  ['an invalid label value', template({ labels: { a: 'b c' } }), 'spec.secret.template.labels', 'a label value must'],
  [
    'the label that the operator reserves',
    template({ labels: { 'app.kubernetes.io/managed-by': 'me' } }),
    'spec.secret.template.labels',
    'must not include app.kubernetes.io/managed-by',
  ],
  [
    'a label name with a long prefix',
    template({ labels: { [`${'a'.repeat(254)}/b`]: 'c' } }),
    'spec.secret.template.labels',
    'before its slash must have at most 253',
  ],
  [
    'an annotation name with a long prefix',
    template({ annotations: { [`${'a'.repeat(254)}/b`]: 'c' } }),
    'spec.secret.template.annotations',
    'before its slash must have at most 253',
  ],
  ['65 labels', template({ labels: labels(65) }), 'spec.secret.template.labels', '64'],
  [
    'an invalid annotation name',
    template({ annotations: { 'a b': 'c' } }),
    'spec.secret.template.annotations',
    'names must consist of',
  ],
  [
    'an annotation that the operator reserves',
    template({ annotations: { 'tunnel-operator.dev/token-sha256': 'c' } }),
    'spec.secret.template.annotations',
    'tunnel-operator.dev/',
  ],
  ['65 annotations', template({ annotations: labels(65) }), 'spec.secret.template.annotations', '64'],
  ['an interval that is not a duration', rotation({ interval: '1 day' }), 'spec.rotation.interval', 'such as 720h'],
  [
    'an interval in days',
    rotation({ interval: '30d' }),
    'spec.rotation.interval',
    'must be a duration of at most 10 years (87600h), such as 720h',
  ],
  ['an interval of 12 years', rotation({ interval: '105120h' }), 'spec.rotation.interval', 'at most 10 years'],
  ['an interval of more than 10 years', rotation({ interval: '99999h' }), 'spec.rotation.interval', 'at most 10 years'],
  ['one in two parts', rotation({ interval: '99999h99999h' }), 'spec.rotation.interval', 'at most 10 years'],
  ['one a moment longer', rotation({ interval: '87600h1ms' }), 'spec.rotation.interval', 'at most 10 years'],
  ['the longest text', rotation({ overlap: `${'99999h'.repeat(5)}1s` }), 'spec.rotation.overlap', 'at most 10 years'],
  ['an interval that overflows', rotation({ interval: `${'9'.repeat(31)}h` }), 'spec.rotation.interval', '10 years'],
  ['an interval of 59 seconds', rotation({ interval: '59s' }), 'spec.rotation.interval', 'must be at least 1m'],
  ['an overlap that is not a duration', rotation({ overlap: '-1h' }), 'spec.rotation.overlap', 'must be a duration'],
  [
    'an overlap as long as the interval',
    rotation({ interval: '1h', overlap: '60m' }),
    'spec.rotation.overlap',
    'must be shorter than rotation.interval',
  ],
  ['an unknown field of rotation', rotation({ every: '1h' }), 'spec.rotation.every', 'unknown field'],
];

export const accepted: [what: string, manifest: Manifest][] = [
  ['a policy without a spec', { ...policy('y'), spec: undefined }],
  ['a policy with nothing in its spec', policy('y', {})],
  ['description and metadata of full length', policy('y', { description: full(255), metadata: full(4096) })],
  ['empty description and metadata', policy('y', { description: '', metadata: '' })],
  ['1000 rules', policy('y', { rules: blocks(1000) })],
  [
    'blocks of every kind',
    policy('y', {
      rules: [
        '0.0.0.0/0',
        '255.255.255.255/32',
        '192.0.2.1',
        '::/0',
        '2001:db8::1/128',
        '2001:DB8:0:0::/64',
        '::ffff:10.0.0.0/104',
        'ffff::/16',
      ].map((cidr) => rule({ cidr, description: full(255), metadata: full(4096) })),
    }),
  ],
  ['a credential without a spec', { ...credential('y'), spec: undefined }],
  [
    'acl rules of every form',
    credential('y', {
      acl: [
        '*',
        'bind:example.com',
        'bind:*.Example.COM',
        'bind:localhost',
        `bind:${'a'.repeat(63)}.example`,
        `bind:${'a.'.repeat(124)}abcde`,
        `bind:*.${'a.'.repeat(124)}abcde`,
        'bind:example.com:1',
        'bind:192.0.2.1:65535',
        'bind:[2001:db8::1]:443',
        'bind:[::FFFF:192.0.2.1]:443',
        'bind:app=web',
        'bind:*=web',
        'bind:app=*',
        'bind:*=*',
        'bind:a.b/c_d-e:f=1.2/3_4-5:6',
        `bind:${'k'.repeat(250)}=${'v'.repeat(255)}`,
      ],
    }),
  ],
  ['256 acl rules', credential('y', { acl: Array.from({ length: 256 }, (_, n) => `bind:a${n}.example.com`) })],
  ['the id of a user', credential('y', { ownerId: OWNER })],
  ['the id of a bot', credential('y', { ownerId: BOT })],
  ['a secret name and key of full length', secret({ name: `a.${'b'.repeat(251)}`, key: `_.${'A'.repeat(251)}` })],
  ['a template', template({ labels: labels(64), annotations: { 'Example.com/note': 'any text\n', note: '' } })],
  [
    'names with the longest prefix',
    template({ labels: { [`${'a'.repeat(253)}/b`]: 'c' }, annotations: { [`${'a'.repeat(253)}/b`]: 'c' } }),
  ],
  ['the shortest rotation', rotation({ interval: '1m', overlap: '59.999s' })],
  ['a rotation without overlap', rotation({ interval: '1h30m', overlap: '0s' })],
  ['an overlap for rotation on request', rotation({ overlap: '2500ms' })],
  ['the longest rotation', rotation({ interval: '87600h', overlap: '8760h' })],
  ['every policy', credential('y', { deletionPolicy: 'Retain', managementPolicy: 'Observe' })],
];
