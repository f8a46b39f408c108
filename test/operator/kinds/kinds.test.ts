/** What kinds have besides the fields of their families. */
import { describe, expect, test } from 'vitest';
import { apiKeyKind } from '../../../src/operator/kinds/api-key.ts';
import { botUserKind } from '../../../src/operator/kinds/bot-user.ts';
import { certificateAuthorityKind } from '../../../src/operator/kinds/certificate-authority.ts';
import { eventDestinationKind } from '../../../src/operator/kinds/event-destination.ts';
import { eventSubscriptionKind } from '../../../src/operator/kinds/event-subscription.ts';
import { httpsEdgeRouteKind } from '../../../src/operator/kinds/https-edge-route.ts';
import { httpsEdgeRouteModulesKind } from '../../../src/operator/kinds/https-edge-route-modules.ts';
import { ipPolicyKind } from '../../../src/operator/kinds/ip-policy.ts';
import { kinds } from '../../../src/operator/kinds/kinds.ts';
import { reservedDomainKind } from '../../../src/operator/kinds/reserved-domain.ts';
import { sshHostCertificateKind } from '../../../src/operator/kinds/ssh-host-certificate.ts';
import { tlsCertificateKind } from '../../../src/operator/kinds/tls-certificate.ts';
import { tunnelCredentialKind } from '../../../src/operator/kinds/tunnel-credential.ts';
import { object } from '../objects.ts';

const remote = (shown: object = {}, id = 'x_1') => ({ id, uri: '', ...shown });
const TIME = '2026-11-21T10:00:00.000Z';
const LATER = '2027-11-21T10:00:00.000Z';

test.each([
  [apiKeyKind, { expires_at: TIME }],
  [apiKeyKind, { expires_at: null }],
  [certificateAuthorityKind, { not_after: TIME }],
  [tlsCertificateKind, { not_after: TIME }],
  [sshHostCertificateKind, { valid_until: TIME }],
])('the term of %# ends when its resource says so', (kind, shown) => {
  const [end] = Object.values(shown);
  expect(kind.end?.of(remote(shown) as never)).toBe(end);
});

test('only the rules of an IP policy may go while others refer to them', () => {
  const deletable = kinds.filter(({ deletableWhileReferenced }) => deletableWhileReferenced);
  expect(deletable).toEqual([ipPolicyKind]);
});

test('nothing but API keys hands out the rights of a user', () => {
  expect(kinds.filter(({ handsOutUserRights }) => handsOutUserRights)).toEqual([apiKeyKind]);
});

test('what is shown only once may be lost, and a certificate never is', () => {
  const oneTime = [tunnelCredentialKind, apiKeyKind, eventDestinationKind, sshHostCertificateKind].map(
    ({ delivery }) => delivery?.handout.isOneTime,
  );
  expect(oneTime).toEqual([true, true, true, false]);
});

describe.each([
  [tunnelCredentialKind, 'credentials'],
  [apiKeyKind, 'apiKeys'],
] as const)('what has a token: %#', (kind, family) => {
  const credential = remote({ created_at: TIME, owner_id: 'usr_1', expires_at: null });
  const managed = { managementPolicy: 'Manage', secret: { key: 'token' }, rotation: { interval: '1h' } };
  const described = (spec: object, externalId = credential.id) =>
    kind.describe(spec as never, credential as never, object({ name: 'agent' }, { externalId }));

  test('says where it is, when the next one comes, and whose it is', () => {
    expect(described(managed)).toMatchObject({
      secretName: 'agent',
      issuedAt: TIME,
      rotatesAt: '2026-11-21T11:00:00.000Z',
      ownerId: 'usr_1',
    });
  });

  test.each([
    ['it is only observed', { ...managed, managementPolicy: 'Observe' }, credential.id],
    ['it is not the one of the object', managed, 'x_2'],
  ])('has no Secret while %s', (_, spec, externalId) => {
    expect(described(spec, externalId)).toMatchObject({ secretName: undefined, rotatesAt: undefined, issuedAt: TIME });
  });

  test('is made for the bot that it refers to', async () => {
    const sent: object[] = [];
    const create = async (body: object) => {
      sent.push(body);
      return credential;
    };
    await kind.external({ [family]: { create } } as never).create({ ownerRef: 'bot_1' } as never, {});
    expect(sent).toMatchObject([{ owner_id: 'bot_1' }]);
  });
});

test('an event destination says where its signing secret is', () => {
  const spec = { managementPolicy: 'Manage', secret: { key: 'signing-secret' } } as never;
  const destination = remote({ created_at: TIME }) as never;
  expect(
    eventDestinationKind.describe(spec, destination, object({ name: 'hook' }, { externalId: 'x_1' })),
  ).toMatchObject({
    secretName: 'hook',
    issuedAt: TIME,
  });
});

describe('a host certificate', () => {
  const certificate = remote({ created_at: TIME, valid_after: TIME, valid_until: LATER });
  const described = (spec: object, externalId = certificate.id) =>
    sshHostCertificateKind.describe(
      { managementPolicy: 'Manage', secret: { key: 'c' }, ...spec } as never,
      certificate as never,
      object({ name: 'web' }, { externalId }),
    );

  test.each([
    ['a while before its end', { renewBefore: '24h' }, certificate.id, '2027-11-20T10:00:00.000Z'],
    ['never if the spec says when it ends', { validUntil: LATER }, certificate.id, undefined],
    ['never if it is not the one of the object', {}, 'x_2', undefined],
  ])('is issued anew %s', (_, spec, externalId, renewsAt) => {
    expect(described(spec, externalId)).toMatchObject({ validUntil: LATER, renewsAt });
  });
});

describe('a route', () => {
  const spec = { match: '/', backendRef: 'bkdtg_1' };

  test('begins to serve with a backend', () => {
    const unserved = (declared: object, shown?: object) =>
      httpsEdgeRouteKind.unserved?.(declared as never, shown && (remote(shown) as never));
    expect(unserved(spec)).toEqual(['backendRef']);
    expect(unserved(spec, { backend: null })).toEqual(['backendRef']);
    expect(unserved(spec, { backend: { id: 'bkdtg_2', uri: '' } })).toEqual([]);
    expect(unserved({ match: '/' }, { backend: null })).toEqual([]);
  });

  test('that is in another edge than the spec names is replaced', () => {
    const external = httpsEdgeRouteKind.external({ httpsEdges: {}, httpsEdgeRoutes: {} } as never);
    const inEdge = (id: string) => remote({ match: '/', edge: { id, uri: '' } }) as never;
    const declared = { edgeRef: 'edghts_1', match: '/' } as never;
    expect(external.replacingChanges(declared, inEdge('edghts_1'))).toEqual([]);
    expect(external.replacingChanges(declared, inEdge('edghts_2'))).toEqual(['edgeRef']);
  });
});

describe('modules', () => {
  const kind = httpsEdgeRouteModulesKind;
  const spec = { routeRef: 'edghts_1/edghtsrt_1', oidc: { issuer: 'https://accounts.example.com' } } as never;

  test('have the route that they are of for their resource', () => {
    expect(kind.owner?.kind).toBe('HTTPSEdgeRoute');
    expect(kind.owner?.givenIn(spec)).toBe('edghts_1/edghtsrt_1');
  });

  test('are those that the spec has', () => {
    expect(kind.owner?.modulesIn(spec)).toEqual(['oidc']);
  });

  test('are listed in the status by their names in specs', () => {
    const owner = remote({ modules: { oidc: {}, ip_restriction: {} } }) as never;
    expect(kind.describe(spec, owner, object())).toEqual({ modules: ['ipRestriction', 'oidc'] });
  });
});

describe('a reserved domain', () => {
  const domain = remote({
    domain: 'app.example.net',
    cname_target: 'x.tunnel.example.com',
    acme_challenge_cname_target: null,
    certificate: null,
    certificate_management_status: null,
  }) as never;

  test('has its records in a DNSEndpoint if it is asked to', () => {
    const recordsFor = (spec: object) => reservedDomainKind.dnsRecords?.(spec as never, domain);
    expect(recordsFor({ dns: { publish: true } })).toEqual([
      { name: 'app.example.net', type: 'CNAME', target: 'x.tunnel.example.com' },
    ]);
    expect([recordsFor({ dns: { publish: false } }), recordsFor({})]).toEqual([undefined, undefined]);
  });

  test('has its records in its status, and conditions of its own', () => {
    expect(reservedDomainKind.describe({} as never, domain, object())).toMatchObject({
      dnsRecords: [{ name: 'app.example.net', type: 'CNAME', target: 'x.tunnel.example.com' }],
    });
    expect(Object.keys(reservedDomainKind.conditions?.({} as never, domain) ?? {})).toEqual([
      'CertificateReady',
      'DNSConfigured',
    ]);
  });
});

test('a subscription says how many types of events it has', () => {
  const sources = [{ type: 'ip_policy_created.v0', uri: '' }];
  expect(eventSubscriptionKind.describe({} as never, remote({ sources }) as never, object())).toEqual({
    eventTypes: 1,
  });
});

test('what only the service sets is in the status, unless it is null', () => {
  const described = (shown: object) => tlsCertificateKind.describe({} as never, remote(shown) as never, object());
  expect(described({ subject_common_name: 'example.com', not_after: TIME })).toMatchObject({
    subjectCommonName: 'example.com',
    notAfter: TIME,
  });
  expect(described({ subject_common_name: null })).toMatchObject({ subjectCommonName: undefined });
  expect(botUserKind.describe({} as never, remote({ name: 'ci' }) as never, object())).toEqual({});
});
