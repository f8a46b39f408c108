/** What there is to say about a resource, by member of its kind's spec. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ownMembers, type SpecMember, specMembers } from '../../../src/operator/export/spec-members.ts';
import { endpointConfigurationKind } from '../../../src/operator/kinds/endpoint-configuration.ts';
import { httpsEdgeRouteKind } from '../../../src/operator/kinds/https-edge-route.ts';
import { httpsEdgeRouteModulesKind } from '../../../src/operator/kinds/https-edge-route-modules.ts';
import { ipPolicyKind } from '../../../src/operator/kinds/ip-policy.ts';
import { tlsCertificateKind } from '../../../src/operator/kinds/tls-certificate.ts';

const remote = (shown: object = {}, id = '') => ({ id, uri: '', ...shown });
const memberOf = (members: readonly SpecMember[] = [], name: string) => members.find((each) => each.name === name);
const secretsOf = (members: readonly SpecMember[] = []) =>
  members.filter(({ isSecret }) => isSecret).map(({ name }) => name);

test('what every kind has is no member of its own', () => {
  expect(ownMembers(ipPolicyKind).map(([name]) => name)).toEqual(['description', 'metadata', 'rules']);
});

test('a spec of another form than an object is refused', () => {
  expect(() => ownMembers({ kind: 'Thing', spec: z.any() })).toThrow('Thing');
});

describe('of a resource, a member', () => {
  test('that the family lacks is what the kind observes under its name', () => {
    const rules = [{ cidr: '192.0.2.0/24', action: 'allow' }];
    const members = specMembers(ipPolicyKind, remote({ rules }));
    expect(memberOf(members, 'rules')).toMatchObject({ shown: rules, isSecret: false, refersTo: 'nothing' });
  });

  test('that no response shows is secret, and not taken from one', () => {
    const fields = { ...tlsCertificateKind, spec: z.strictObject({ privateKeyPem: z.string() }) };
    const members = specMembers(fields, remote({ private_key_pem: 'hidden' }));
    expect(members).toMatchObject([{ name: 'privateKeyPem', shown: undefined, isSecret: true }]);
  });

  test('refers to one resource or to many, or to none', () => {
    const configuration = remote({ type: 'http', ip_policies: [{ id: 'ipp_1', uri: '' }] });
    expect(memberOf(specMembers(endpointConfigurationKind, configuration), 'ipPolicyRefs')?.refersTo).toBe('many');
    const route = specMembers(httpsEdgeRouteKind, remote({ backend: { id: 'bkdtg_1', uri: '' } }));
    expect(memberOf(route, 'backendRef')?.refersTo).toBe('one');
    expect(memberOf(route, 'match')?.refersTo).toBe('nothing');
  });
});

describe('of modules, a member', () => {
  const oidc = { issuer: 'https://accounts.example.com', client_id: 'portal' };
  const members = specMembers(httpsEdgeRouteModulesKind, remote({ modules: { oidc } }, 'edghts_1/edghtsrt_1'));

  test('refers to their owner, if there is one', () => {
    expect(memberOf(members, 'routeRef')).toMatchObject({ shown: 'edghts_1/edghtsrt_1', refersTo: 'one' });
    expect(memberOf(specMembers(httpsEdgeRouteModulesKind, remote()), 'routeRef')?.shown).toBeUndefined();
  });

  test('has the settings that its module has', () => {
    const settings = memberOf(members, 'oidc')?.settings ?? [];
    expect(memberOf(settings, 'issuer')?.shown).toBe(oidc.issuer);
    expect(memberOf(settings, 'clientId')?.shown).toBe(oidc.client_id);
    expect(memberOf(members, 'oauth')?.shown).toBeUndefined();
  });

  test('is as secret as its settings are', () => {
    expect(secretsOf(members)).toEqual([]);
    expect(secretsOf(memberOf(members, 'oidc')?.settings)).toEqual(['clientSecret']);
    expect(secretsOf(memberOf(members, 'oauth')?.settings)).toEqual(['provider']);
  });
});
