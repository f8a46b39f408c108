import { expect, test } from 'vitest';
import { CASES } from '../../bench/api/cases.ts';
import { BY_DEFAULT, PARTS } from '../../bench/parts.ts';
import { FAMILIES } from '../../src/resources/families.ts';

test('the bench measures the API, its paging and the operator', () => {
  expect(BY_DEFAULT).toEqual(['api', 'paging', 'operator']);
  expect(Object.keys(PARTS)).toEqual(expect.arrayContaining(BY_DEFAULT));
});

/** Families whose create does more than their definition says, so that the rival has none (docs/bench.md). */
const WITHOUT_POST = [
  'ip_policy_rule',
  'credential',
  'reserved_domain',
  'https_edge',
  'tls_edge',
  'event_subscription',
  'event_destination',
  'certificate_authority',
  'tls_certificate',
  'ssh_certificate_authority',
  'ssh_host_certificate',
  'api_key',
];

test.each(FAMILIES)('the bench of the API has rows for $name: GET of one, a page, POST', ({ name, path }) => {
  const list = path.replaceAll(/\{\w+\}/g, '{id}');
  const reads = [`GET ${list}/{id}`, `GET ${list}?limit=100`];
  const titles = CASES.filter(({ family }) => family.name === name).map(({ title }) => title);
  expect(titles).toEqual(WITHOUT_POST.includes(name) ? reads : [...reads, `POST ${list}`]);
});
