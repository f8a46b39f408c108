import { describe, expect, test } from 'vitest';
import { CATALOGUE, nearest } from '../../../src/api/events/catalogue.ts';
import { OPERATIONS } from '../../../src/api/families/all.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { ALL_MODULES } from '../../../src/resources/modules.ts';

test('the catalogue has three types for each family and each module, and those of certificates, and says what they mean', () => {
  const modules = OPERATIONS.filter(({ operationId }) => /^get(TlsEdge|HttpsEdgeRoute).+/.test(operationId));
  expect(ALL_MODULES.map(({ of, name }) => `${of.path}/{id}/${name}`)).toEqual(modules.map(({ path }) => path));
  expect(CATALOGUE.types).toHaveLength(3 * (FAMILIES.length + modules.length) + 3);
  expect(CATALOGUE.types).toContainEqual({
    type: 'https_edge_route_oidc_updated.v0',
    description: 'The OIDC module of an HTTPS edge route was updated.',
  });
  expect(CATALOGUE.types).toContainEqual({
    type: 'reserved_domain_certificate_renewed.v0',
    description: 'The automatic certificate of a reserved domain was renewed.',
  });
  expect(CATALOGUE.types).toContainEqual({ type: 'ip_policy_created.v0', description: 'An IP policy was created.' });
  expect(CATALOGUE.types).toContainEqual({ type: 'user_deleted.v0', description: 'A user was deleted.' });
});

describe('a type', () => {
  test('of the catalogue is accepted', () => {
    for (const { type } of CATALOGUE.types) expect(CATALOGUE.problem(type)).toBeUndefined();
  });

  test('that is unknown is refused with the three most similar ones', () => {
    expect(CATALOGUE.problem('ip_polcy_created.v0')?.reason).toBe(
      '"ip_polcy_created.v0" is not an event type; the most similar ones are ' +
        'ip_policy_created.v0, ip_policy_updated.v0, ip_policy_deleted.v0',
    );
  });

  test('is quoted up to its 64th character', () => {
    const [kept, cut] = ['x'.repeat(64), 'y'];
    expect(CATALOGUE.problem(kept)?.reason).toContain(`"${kept}" is`);
    expect(CATALOGUE.problem(kept + cut)?.reason).toContain(`"${kept}" is`);
  });
});

test.each([
  ['ab', ['zz', 'abc', 'ab', 'abcd'], ['ab', 'abc', 'abcd']],
  ['ab', ['b', 'a'], ['a', 'b']],
  ['ab', ['a', 'b'], ['a', 'b']],
  ['', [], []],
])('nearest() sorts by similarity, then by name: %s of %o', (type, known, expected) => {
  expect(nearest(type, known)).toEqual(expected);
});
