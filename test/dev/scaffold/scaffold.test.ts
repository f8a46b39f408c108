import { expect, test } from 'vitest';
import { addToList } from '../../../dev/scaffold/family.ts';
import { familyNames, prefixOf } from '../../../dev/scaffold/names.ts';
import { createTable } from '../../../dev/scaffold/table.ts';
import { migrations } from '../../../src/api/store/migrate.ts';
import { families } from '../../../src/resources/families.ts';

test('the names of a family follow from the one in snake case', () => {
  expect(familyNames('dns_zone')).toEqual({
    name: 'dns_zone',
    plural: 'dns_zones',
    file: 'dns-zone',
    variable: 'dnsZone',
    client: 'dnsZones',
    title: 'DNSZone',
    many: 'DNS zones',
  });
  expect(familyNames('ip_policy').plural).toBe('ip_policies');
  expect(familyNames('api_key').plural).toBe('api_keys');
  expect(prefixOf('dns_zone')).toBe('dzon');
  expect(() => familyNames('DnsZone')).toThrow('"DnsZone" must be the singular in snake case, as in dns_zone');
});

test('a table follows from the definition: those that were written by hand would be the same', async () => {
  const sql = (await migrations()).map((migration) => migration.sql).join('\n');
  for (const family of [families.tunnelGroupBackends, families.endpointConfigurations]) {
    expect(sql).toContain(createTable(family));
  }
});

test('a unique field has an index that the API knows by its name', () => {
  expect(createTable(families.ipPolicyRules)).toContain('constraint ip_policy_rules_cidr unique (ip_policy_id, cidr)');
});

test('a missing list is reported, with the line to add', () => {
  expect(() => addToList("import { a } from './a.ts';\n", 'x', /nowhere/, 'a line')).toThrow('add the line "a line"');
});

test.each([
  ['of one line', 'export const list = [a];', 'export const list = [a, b, c];'],
  ['of a line each', 'export const list = [\n  a,\n];', 'export const list = [\n  a,b, c\n];'],
  ['of nothing', 'export const list = [];', 'export const list = [b, c];'],
])('a second element is added to a list %s', (_, text, expected) => {
  const add = (to: string, name: string) =>
    addToList(to, `import { ${name} } from './${name}.ts';`, /export const list = \[[^\]]*(?=\])/, name);
  const added = add(add(`import { a } from './a.ts';\n${text}\n`, 'b'), 'c');
  expect(added.replaceAll(/\s/g, '')).toContain(expected.replaceAll(/\s/g, ''));
  expect(added).toContain("import { c } from './c.ts';");
});
