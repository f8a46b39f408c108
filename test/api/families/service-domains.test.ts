import { describe, expect, test } from 'vitest';
import { cnameTargets, isReservable, reservedByService } from '../../../src/api/families/service-domains.ts';
import type { Platform } from '../../../src/api/http/platform.ts';

const SERVICES: Platform['serviceDomains'] = ['tunnels.example', 'second.test'];

describe('the service keeps for itself', () => {
  test.each([
    ['tunnels.example', /^belongs to the service; reserve a name below it, such as app\.tunnels\.example$/],
    ['*.second.test', /^belongs to the service; reserve a name below it, such as app\.second\.test$/],
    ['*.example', /^contains a domain of the service$/],
    ['cname.tunnels.example', /^belongs to the service$/],
    ['*.cname.tunnels.example', /^belongs to the service$/],
    ['x.acme.tunnels.example', /^belongs to the service$/],
  ])('%s', (domain, reason) => {
    expect(reservedByService(domain, SERVICES)).toMatch(reason);
    expect(isReservable(domain, SERVICES)).toBe(false);
  });
});

describe('users may reserve', () => {
  test.each([
    'app.tunnels.example',
    '*.app.tunnels.example',
    'cname.second.test',
    'xcname.tunnels.example',
    'example',
    'other.example',
    '*.other.example',
  ])('%s', (domain) => {
    expect(reservedByService(domain, SERVICES)).toBeUndefined();
  });
});

test.each([
  ['other.example', true],
  ['not a domain', false],
])('only a domain can be reserved: %s', (domain, expected) => {
  expect(isReservable(domain, SERVICES)).toBe(expected);
});

test.each([
  ['other.example', 'abc.cname.tunnels.example', null],
  ['*.other.example', 'abc.cname.tunnels.example', 'abc.acme.tunnels.example'],
  ['app.second.test', null, null],
  ['a.second.test', null, null],
  ['*.app.tunnels.example', null, null],
  ['*.nottunnels.example', 'abc.cname.tunnels.example', 'abc.acme.tunnels.example'],
])('%s points to %s, and its DNS challenge to %s', (domain, cname_target, acme_challenge_cname_target) => {
  expect(cnameTargets('rd_abc', domain, SERVICES)).toEqual({ cname_target, acme_challenge_cname_target });
});
