/** What the kinds add to the fields of their families. */
import { describe, expect, test } from 'vitest';
import { apiKeyKind } from '../../../src/operator/kinds/api-key.ts';
import { botUserKind } from '../../../src/operator/kinds/bot-user.ts';
import { eventDestinationKind } from '../../../src/operator/kinds/event-destination.ts';
import { httpsEdgeRouteKind } from '../../../src/operator/kinds/https-edge-route.ts';
import { httpsEdgeRouteModulesKind } from '../../../src/operator/kinds/https-edge-route-modules.ts';
import { kinds } from '../../../src/operator/kinds/kinds.ts';
import { reservedDomainKind } from '../../../src/operator/kinds/reserved-domain.ts';
import { sshHostCertificateKind } from '../../../src/operator/kinds/ssh-host-certificate.ts';
import { tlsCertificateKind } from '../../../src/operator/kinds/tls-certificate.ts';
import { tunnelCredentialKind } from '../../../src/operator/kinds/tunnel-credential.ts';
import { object } from '../objects.ts';

const remote = (shown: object = {}, id = 'x_1') => ({ id, uri: '', ...shown });
const TIME = '2026-11-21T10:00:00.000Z';
const LATER = '2027-11-21T10:00:00.000Z';

test('only API keys hand out the rights of a user', () => {
  expect(kinds.filter(({ handsOutUserRights }) => handsOutUserRights)).toEqual([apiKeyKind]);
});

test('tokens and signing secrets are shown only once, a host certificate every time', () => {
  const oneTime = [tunnelCredentialKind, apiKeyKind, eventDestinationKind, sshHostCertificateKind].map(
    ({ delivery }) => delivery?.handout.isOneTime,
  );
  expect(oneTime).toEqual([true, true, true, false]);
});

describe.each([
  [tunnelCredentialKind, 'credentials', 'agent'],
  [apiKeyKind, 'apiKeys', 'agent-api-key'],
] as const)('a kind with a token: %#', (kind, family, secretName) => {
  const credential = remote({ created_at: TIME, owner_id: 'usr_1', expires_at: null });
  const managed = { managementPolicy: 'Manage', secret: { key: 'token' }, rotation: { interval: '1h' } };
  const described = (spec: object, externalId = credential.id) =>
    kind.describe(spec as never, credential as never, object({ name: 'agent' }, { externalId }));

  test('shows its Secret, its times of issue and rotation, and its owner', () => {
    expect(described(managed)).toMatchObject({
      secretName,
      issuedAt: TIME,
      rotatesAt: '2026-11-21T11:00:00.000Z',
      ownerId: 'usr_1',
    });
  });

  test.each([
    ['the resource is only observed', { ...managed, managementPolicy: 'Observe' }, credential.id],
    ['the object has another resource', managed, 'x_2'],
  ])('shows no Secret if %s', (_, spec, externalId) => {
    expect(described(spec, externalId)).toMatchObject({ secretName: undefined, rotatesAt: undefined, issuedAt: TIME });
  });

  test('creates its resource for the bot in ownerRef', async () => {
    const sent: object[] = [];
    const create = async (body: object) => {
      sent.push(body);
      return credential;
    };
    await kind.external({ [family]: { create } } as never).create({ ownerRef: 'bot_1' } as never, {});
    expect(sent).toMatchObject([{ owner_id: 'bot_1' }]);
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
    ['as long before its end as renewBefore says', { renewBefore: '24h' }, certificate.id, '2027-11-20T10:00:00.000Z'],
    ['never if the spec sets its end', { validUntil: LATER }, certificate.id, undefined],
    ['never if the object has another certificate', {}, 'x_2', undefined],
  ])('is reissued %s', (_, spec, externalId, renewsAt) => {
    expect(described(spec, externalId)).toMatchObject({ validUntil: LATER, renewsAt });
  });
});

describe('a route', () => {
  const spec = { match: '/', backendRef: 'bkdtg_1' };

  test('serves once it has a backend', () => {
    const unserved = (declared: object, shown?: object) =>
      httpsEdgeRouteKind.unserved?.(declared as never, shown && (remote(shown) as never));
    expect(unserved(spec)).toEqual(['backendRef']);
    expect(unserved(spec, { backend: null })).toEqual(['backendRef']);
    expect(unserved(spec, { backend: { id: 'bkdtg_2', uri: '' } })).toEqual([]);
    expect(unserved({ match: '/' }, { backend: null })).toEqual([]);
  });
});

test('HTTPSEdgeRouteModules attach to the route in routeRef and declare the modules in the spec', () => {
  const { owner } = httpsEdgeRouteModulesKind;
  const spec = { routeRef: 'edghts_1/edghtsrt_1', oidc: { issuer: 'https://accounts.example.com' } } as never;
  const of = [owner?.kind, owner?.givenIn(spec), owner?.modulesIn(spec)];
  expect(of).toEqual(['HTTPSEdgeRoute', 'edghts_1/edghtsrt_1', ['oidc']]);
});

test('a reserved domain publishes its DNS records only if dns.publish is true', () => {
  const domain = remote({ domain: 'app.example.net', cname_target: 'x', acme_challenge_cname_target: null }) as never;
  const recordsFor = (spec: object) => reservedDomainKind.dnsRecords?.(spec as never, domain);
  expect(recordsFor({ dns: { publish: true } })).toEqual([{ name: 'app.example.net', type: 'CNAME', target: 'x' }]);
  expect([recordsFor({ dns: { publish: false } }), recordsFor({})]).toEqual([undefined, undefined]);
});

test('the status shows fields that only the service sets, unless they are null', () => {
  const shown = remote({ subject_common_name: null, not_after: TIME }) as never;
  const described = tlsCertificateKind.describe({} as never, shown, object());
  expect(described).toMatchObject({ subjectCommonName: undefined, notAfter: TIME });
  expect(botUserKind.describe({} as never, remote({ name: 'ci' }) as never, object())).toEqual({});
});
