/** What the API server rejects at once in references and sources, in every place where a spec has one. */
import { expect, test } from 'vitest';
import { manifest, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'validation', operators: 0 });

interface Place {
  kind: string;
  path: string;
  /** A spec that has this there, and nothing wrong elsewhere. */
  spec(value: object): object;
}

interface ReferencePlace extends Place {
  /** Of the ids that it takes. */
  prefix: string;
  /** Where there may be several, one of the kinds that it takes. */
  target?: string;
}

/** What is wrong, the member that the message is about, if it is not the whole, and what it says. */
type Fault = [value: object, says: string, member?: string];

const SUFFIX = '_01k9zq3v5hf8svx2r4c6y7n0wd';
const ONE_OF = 'exactly one of name and id must be set';
const TOGETHER = 'kind and name go together';
const NAME = 'must be the name of an object';

function referenceFaults({ prefix, target }: ReferencePlace): Fault[] {
  const id = `${prefix}${SUFFIX}`;
  const named = { name: 'x', ...(target && { kind: target }) };
  const ofKinds: Fault[] = [
    [{ name: 'x' }, TOGETHER],
    [{ id, kind: target }, TOGETHER],
    [{ name: 'x', kind: 'IPPolicy' }, `"${target}"`, '.kind'],
  ];
  return [
    [{}, ONE_OF],
    [{ ...named, id }, ONE_OF],
    [{ id, namespace: 'x' }, 'namespace goes with name', '.namespace'],
    [{ ...named, namespace: 'A_b' }, 'must be the name of a namespace', '.namespace'],
    [{ ...named, name: 'A_b' }, NAME, '.name'],
    [{ id: `esb${SUFFIX}` }, `must be an id that starts with ${prefix}_`, '.id'],
    ...(target === undefined ? [] : ofKinds),
  ];
}

const EXACTLY_ONE = 'exactly one of value, secretKeyRef and configMapKeyRef must be set';
const from = { name: 'x', key: 'x' };
const sourceFaults: Fault[] = [
  [{}, EXACTLY_ONE],
  [{ value: 'x', secretKeyRef: from }, EXACTLY_ONE],
  [{ secretKeyRef: from, configMapKeyRef: from }, EXACTLY_ONE],
  [{ secretKeyRef: { ...from, name: 'A_b' } }, NAME, '.secretKeyRef.name'],
  [{ configMapKeyRef: { ...from, key: 'a/b' } }, 'must be a key of a Secret or ConfigMap', '.configMapKeyRef.key'],
];

/** Applies all of them at once, and wants each to be refused for its fault. */
async function refused({ kind, path, spec }: Place, faults: readonly Fault[]): Promise<void> {
  const items = faults.map(([value], n) => manifest({ name: kind }, `fault-${n}`, spec(value)));
  const list = { apiVersion: 'v1', kind: 'List', items };
  const { code, stderr } = await stack.tryApply(list, '--dry-run=server');
  expect(code).toBe(1);
  const told = stderr.split(/^(?=The \w+ "fault-)/m);
  const wanted = faults.map(([, says, member = ''], n) => [`"fault-${n}" is invalid`, `spec.${path}${member}: `, says]);
  const unsaid = wanted.filter((parts) => !told.some((text) => parts.every((part) => text.includes(part))));
  expect(unsaid, stderr).toEqual([]);
}

const owner = (kind: string): ReferencePlace => ({
  kind,
  path: 'ownerRef',
  prefix: 'bot',
  spec: (ownerRef) => ({ ownerRef }),
});
const ofDomain = (path: string, prefix: string): ReferencePlace => ({
  kind: 'ReservedDomain',
  path,
  prefix,
  spec: (value) => ({ domain: 'app.example.com', [path]: value }),
});
const ofRoute = (path: string, prefix: string, target?: string): ReferencePlace => ({
  kind: 'HTTPSEdgeRoute',
  path,
  prefix,
  spec: (value) => ({ edgeRef: { name: 'x' }, match: '/', matchType: 'path_prefix', [path]: value }),
  ...(target !== undefined && { target }),
});
const ofModules = (path: string, prefix: string, spec: Place['spec'], target?: string): ReferencePlace => ({
  kind: 'TLSEdgeModules',
  path,
  prefix,
  spec: (value) => ({ tlsEdgeRef: { name: 'x' }, ...spec(value) }),
  ...(target !== undefined && { target }),
});
const ofHost = (path: string): Place => ({
  kind: 'SSHHostCertificate',
  path,
  spec: (value) => ({ sshCertificateAuthorityRef: { name: 'x' }, publicKey: { secretKeyRef: from }, [path]: value }),
});

const references: ReferencePlace[] = [
  owner('TunnelCredential'),
  owner('APIKey'),
  {
    kind: 'EndpointConfiguration',
    path: 'ipPolicyRefs[0]',
    prefix: 'ipp',
    spec: (value) => ({ type: 'http', ipPolicyRefs: [value] }),
  },
  {
    kind: 'EventSubscription',
    path: 'destinationRefs[0]',
    prefix: 'ed',
    spec: (value) => ({ destinationRefs: [value] }),
  },
  ofRoute('edgeRef', 'edghts'),
  ofRoute('backendRef', 'bkdtg', 'TunnelGroupBackend'),
  { ...ofHost('sshCertificateAuthorityRef'), prefix: 'sshca' },
  ofDomain('certificateRef', 'cert'),
  ofDomain('httpEndpointConfigurationRef', 'ec'),
  ofDomain('httpsEndpointConfigurationRef', 'ec'),
  ofModules('tlsEdgeRef', 'edgtls', (tlsEdgeRef) => ({ tlsEdgeRef })),
  ofModules('ipRestriction.ipPolicyRefs[0]', 'ipp', (value) => ({ ipRestriction: { ipPolicyRefs: [value] } })),
  ofModules('mutualTls.certificateAuthorityRefs[0]', 'ca', (value) => ({
    mutualTls: { certificateAuthorityRefs: [value] },
  })),
  ofModules('backend.backendRef', 'bkdtg', (backendRef) => ({ backend: { backendRef } }), 'TunnelGroupBackend'),
];

test.concurrent.for(references)('a wrong reference in $path of $kind is refused', (place) =>
  refused(place, referenceFaults(place)),
);

test('modules name a route with the edge that it is in', async () => {
  const place = { kind: 'HTTPSEdgeRouteModules', path: 'routeRef', spec: (routeRef: object) => ({ routeRef }) };
  const route = `edghtsrt${SUFFIX}`;
  const form = 'must be ids of the form edghts_…/edghtsrt_…';
  await refused(place, [
    [{}, ONE_OF],
    [{ name: 'x', id: `edghts${SUFFIX}/${route}` }, ONE_OF],
    [{ id: route }, form, '.id'],
    [{ id: `edgtls${SUFFIX}/${route}` }, form, '.id'],
  ]);
});

const ofSignIn = (path: 'clientId' | 'clientSecret'): Place => ({
  kind: 'HTTPSEdgeRouteModules',
  path: `oidc.${path}`,
  spec: (value) => {
    const client = { clientId: { secretKeyRef: from }, clientSecret: { secretKeyRef: from }, [path]: value };
    return { routeRef: { name: 'x' }, oidc: { issuer: 'https://accounts.example.com', ...client } };
  },
});
const github = (path: 'clientId' | 'clientSecret'): Place => ({
  kind: 'HTTPSEdgeRouteModules',
  path: `oauth.provider.github.${path}`,
  spec: (value) => ({ routeRef: { name: 'x' }, oauth: { provider: { github: { [path]: value } } } }),
});

const sources: Place[] = [
  { kind: 'CertificateAuthority', path: 'caPem', spec: (caPem) => ({ caPem }) },
  { kind: 'HTTPResponseBackend', path: 'body', spec: (body) => ({ body }) },
  {
    kind: 'HTTPResponseBackend',
    path: 'headers[x-header]',
    spec: (value) => ({ headers: { 'x-header': value } }),
  },
  ofHost('publicKey'),
  ofSignIn('clientId'),
  ofSignIn('clientSecret'),
  github('clientId'),
  github('clientSecret'),
];

test.concurrent.for(sources)('a wrong source in $path of $kind is refused', (place) => refused(place, sourceFaults));

test('the name of a Secret with a certificate is one that a Secret can have', () =>
  refused({ kind: 'TLSCertificate', path: 'secretRef', spec: (secretRef) => ({ secretRef }) }, [
    [{ name: 'A_b' }, NAME, '.name'],
  ]));
