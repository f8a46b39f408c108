/** What the API says about its fields, in the terms of the spec, as conditions show it. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../../../src/client/errors.ts';
import { kinds } from '../../../../src/operator/kinds/kinds.ts';
import { Source } from '../../../../src/operator/managed/declaration/input.ts';
import {
  inSpecTerms,
  NO_TERMS,
  type SpecTerms,
  specPath,
} from '../../../../src/operator/managed/declaration/spec-terms.ts';
import { explain } from '../../../../src/operator/managed/object/failure.ts';

test.each([
  ['/description', 'spec.description'],
  ['/owner_id', 'spec.ownerId'],
  ['/rules/0/ip_policy_id', 'spec.rules[0].ipPolicyId'],
  ['/acl/12', 'spec.acl[12]'],
  ['/a~1b/c~0d', 'spec["a/b"]["c~d"]'],
  ['', 'spec'],
])('the pointer %s is the field %s', (pointer, expected) => {
  expect(specPath(pointer)).toBe(expected);
});

const membersOf = (kind: string) => kinds.find((each) => each.kind === kind)?.memberNames ?? new Map();
const terms = (kind: string, spec: object, more: Partial<SpecTerms> = {}): SpecTerms => ({
  ...NO_TERMS,
  spec,
  members: membersOf(kind),
  ...more,
});

test.each([
  ['a reference', 'ReservedDomain', { certificateRef: {} }, '/certificate_id', 'spec.certificateRef'],
  ['one of several', 'EndpointConfiguration', {}, '/ip_policy_ids/1', 'spec.ipPolicyRefs[1]'],
  ['an id, if the spec has it', 'TunnelCredential', { ownerId: 'x' }, '/owner_id', 'spec.ownerId'],
  ['a field in another member', 'TLSCertificate', {}, '/certificate_pem', 'spec.secretRef["tls.crt"]'],
  ['keys of a map', 'HTTPResponseBackend', { headers: { x_my_key: 1 } }, '/headers/x_my_key', 'spec.headers.x_my_key'],
  ['keys other than names', 'HTTPResponseBackend', { headers: { 'x-a': 1 } }, '/headers/x-a', 'spec.headers["x-a"]'],
  ['keys that are numbers', 'TunnelGroupBackend', { labels: { 12: 'x' } }, '/labels/12', 'spec.labels.12'],
])('a pointer to %s leads to the member of the spec', (_, kind, spec, pointer, expected) => {
  expect(specPath(pointer, terms(kind, spec))).toBe(expected);
});

describe('a refusal', () => {
  const refused = (details: Record<string, string>, about: SpecTerms) =>
    explain(new ApiError({ error_code: 'INVALID_REQUEST', status_code: 400, msg: 'bad valid_after', details }), about);

  test('names fields as the spec does', () => {
    const about = terms('SSHHostCertificate', { validUntil: 'x' });
    const details = { '/valid_until': 'must be after valid_after, which is 2026-01-01T00:00:00Z', request_id: 'r' };
    expect(refused(details, about)).toBe('spec.validUntil: must be after validAfter, which is 2026-01-01T00:00:00Z');
    expect(refused({}, about)).toBe('bad validAfter');
    // Ids and types of events look like names of fields, but are not.
    const others = 'ip_policy_created.v0 of ipp_01m81400rsfqeac8xv44xwa3a9';
    expect(inSpecTerms(others, about)).toBe(others);
  });

  test('names the Secret and key of a text, regardless of the case of a header', () => {
    const from = new Source({ kind: 'Secret', name: 'app', key: 'auth' }, z.string());
    const about = terms(
      'HTTPResponseBackend',
      { headers: { 'X-Auth': {} } },
      { sources: [{ path: 'spec.headers["X-Auth"]', input: from }] },
    );
    for (const pointer of ['/headers/X-Auth', '/headers/x-auth']) {
      expect(refused({ [pointer]: 'must be printable' }, about)).toMatch(
        /^spec\.headers\["x-auth"\]: the value of "auth" in Secret app must be printable$/i,
      );
    }
  });
});
