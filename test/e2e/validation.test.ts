/**
 * What the API server rejects at once, so that a mistake shows at `kubectl apply` and not later in a condition; and what
 * only the API can reject.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accepted, OWNER, refusedCredentials, refusedPolicies, rule } from './specs.ts';
import {
  CREDENTIALS,
  credential,
  eventually,
  type Manifest,
  manifest,
  POLICIES,
  policy,
  type RunningOperator,
  startStack,
} from './stack.ts';

const stack = await startStack({ prefix: 'validation', operators: 0 });

describe.each([
  ['IPPolicy', refusedPolicies],
  ['TunnelCredential', refusedCredentials],
])('kubectl apply of a %s with', (_, table) => {
  test.concurrent.each(table)('%s is refused', async (_what, manifest, field, reason) => {
    const { code, stderr } = await stack.tryApply(manifest);
    expect(code).toBe(1);
    expect(stderr).toContain(field);
    expect(stderr).toMatch(reason);
    expect(stderr).not.toMatch(/evaluating rule|type conversion/);
  });

  test('none of these objects exists afterwards', async () => {
    expect(await stack.find(POLICIES, 'x')).toBeUndefined();
    expect(await stack.find(CREDENTIALS, 'x')).toBeUndefined();
  });
});

describe('kubectl apply accepts', () => {
  test.concurrent.each(accepted)('%s', async (_what, manifest) => {
    expect(await stack.tryApply(manifest, '--dry-run=server')).toMatchObject({ code: 0, stderr: '' });
  });
});

test('kubectl explain describes every field of a condition', async () => {
  const { code, stdout } = await stack.run('explain', 'ippolicy.status.conditions');
  expect(code).toBe(0);
  for (const field of ['type', 'status', 'reason', 'message', 'observedGeneration', 'lastTransitionTime']) {
    expect(stdout).toMatch(new RegExp(`^  ${field}\\s`, 'm'));
  }
  expect(stdout).not.toContain('<no description>');
});

describe('an address is refused in words, with an example:', () => {
  const AUTHORITY = { sshCertificateAuthorityRef: { name: 'x' }, publicKey: { value: 'ssh-ed25519 AAAA' } };
  const HOST = 'must be a host name, as in app.example.com or *.example.com';
  test.each([
    ['HTTPSEdge', { hostports: ['app.example.com'] }, 'spec.hostports[0]', 'domain:port, as in app.example.com:443'],
    ['TLSEdge', { hostports: ['app.example.com:0'] }, 'spec.hostports[0]', 'domain:port, as in app.example.com:443'],
    ['ReservedDomain', { domain: 'https://app.example.com' }, 'spec.domain', HOST],
    [
      'EventDestination',
      { target: { webhook: { url: 'http://hooks.example.com' } } },
      'spec.target.webhook.url',
      'must be an https URL in ASCII, without user name, password and fragment, as in https://hooks.example.com/events',
    ],
    [
      'HTTPSEdgeRouteModules',
      { routeRef: { name: 'x' }, oidc: { issuer: 'accounts.example.com', clientId: { value: 'x' }, clientSecret: {} } },
      'spec.oidc.issuer',
      'as in https://accounts.example.com',
    ],
    ['SSHHostCertificate', { ...AUTHORITY, principals: ['a b'] }, 'spec.principals[0]', 'as in host.example.com'],
    [
      'EventSubscription',
      { sources: [{ type: 'ip_policy_made.v0' }] },
      'spec.sources[0].type',
      '"ip_policy_created.v0"',
    ],
  ])('%s %o', async (kind, spec, field, message) => {
    const { code, stderr } = await stack.tryApply(manifest({ name: kind }, 'address', spec), '--dry-run=server');
    expect(code).toBe(1);
    expect(stderr).toContain(field);
    expect(stderr).toContain(message);
  });
});

describe('the owner of a credential', () => {
  const other = OWNER.replace('01k9', '01k8');
  test.each([
    ['changed', { ownerId: OWNER }, { ownerId: other }],
    ['removed', { ownerId: OWNER }, {}],
    ['removed with the whole spec', { ownerId: OWNER }, undefined],
    ['added', {}, { ownerId: OWNER }],
    ['added to an object that had no spec', undefined, { ownerId: OWNER }],
  ])('cannot be %s', async (what, before, after) => {
    const name = `owner-${what.replaceAll(' ', '-')}`;
    const make = (spec: object | undefined): Manifest => ({ ...credential(name), spec });
    expect(await stack.tryApply(make(before))).toMatchObject({ code: 0, stderr: '' });
    const { code, stderr } = await stack.tryApply(make(after));
    expect(code).toBe(1);
    expect(stderr).toContain('spec.ownerId');
    expect(stderr).toContain('ownerId is immutable');
    await stack.remove(CREDENTIALS, name);
  });

  test('stays the same through other changes', async () => {
    await stack.apply(credential('owned', { ownerId: OWNER }));
    await stack.apply(credential('owned', { ownerId: OWNER, description: 'changed' }));
    await stack.remove(CREDENTIALS, 'owned');
  });
});

describe('what only the API can check shows in the conditions, with the field:', () => {
  test.each([
    ['an owner that does not exist', credential('nobodys', { ownerId: OWNER }), /^spec\.ownerId: /],
    [
      'one block in two spellings',
      policy('twice', { rules: [rule({ cidr: '2001:DB8::/32' }), rule({ cidr: '2001:db8::/32' })] }),
      /^spec\.rules\[1\]\.cidr: 2001:db8::\/32 is already in /,
    ],
    ['a character that it cannot store', policy('nul', { description: 'a\u0000b' }), /^spec\.description: .*NUL/],
  ])('%s', async (_, manifest, message) => {
    await stack.apply(manifest);
    const type = manifest.kind === 'IPPolicy' ? POLICIES : CREDENTIALS;
    const operator = await stack.operate();
    const { ready, synced, status } = await stack.reason(type, manifest.metadata.name, 'Ready', 'Rejected');
    expect(ready).toMatchObject({ status: 'False', message: expect.stringMatching(message) });
    expect(synced).toMatchObject({ status: 'False', reason: 'Rejected', message: ready?.message });
    expect(status).toMatchObject({ observedGeneration: 1 });
    // Retried with backoff, but reported once.
    await stack.annotate(type, manifest.metadata.name, { note: 'try again' });
    await eventually(async () => {
      expect(await stack.metric('controller_runtime_terminal_reconcile_errors_total')).toBeGreaterThan(1);
      const told = await stack.events(manifest.metadata.name);
      expect(told).toEqual([{ type: 'Warning', reason: 'Rejected', message: ready?.message }]);
    });
    await stack.remove(type, manifest.metadata.name);
    // Also the policy without its rules is gone that the API had created by then.
    expect(await stack.remoteIds()).toEqual([]);
    await stack.stopOperator(operator);
  });
});

describe('an IP policy whose rules are refused leaves none behind', () => {
  let operator: RunningOperator;
  beforeAll(async () => {
    operator = await stack.operate();
  });
  afterAll(() => stack.stopOperator(operator));

  const rules = ['2001:DB8::/32', '2001:db8::/32'].map((cidr) => ({ cidr, action: 'deny' }));

  test('with deletionPolicy Retain', async () => {
    const before = await stack.remoteIds();
    await stack.apply(policy('refused', { rules, deletionPolicy: 'Retain' }));
    await stack.reason(POLICIES, 'refused', 'Ready', 'Rejected');
    expect(await stack.remoteIds()).toHaveLength(before.length + 1);
    // Neither another attempt nor one with another description makes it one that anybody has asked for.
    await stack.reconciled(POLICIES, 'refused');
    await stack.apply(policy('refused', { description: 'again', rules, deletionPolicy: 'Retain' }));
    await eventually(async () => expect((await stack.see(POLICIES, 'refused')).ready?.observedGeneration).toBe(2));
    expect((await stack.see(POLICIES, 'refused')).ready?.reason).toBe('Rejected');
    await stack.remove(POLICIES, 'refused');
    expect(await stack.remoteIds()).toEqual(before);
  });

  test('nor when it is to observe another one by then', async () => {
    const { id } = await stack.client.ipPolicies.create({});
    const before = await stack.remoteIds();
    await stack.apply(policy('distracted', { rules }));
    await stack.reason(POLICIES, 'distracted', 'Ready', 'Rejected');
    await stack.apply(policy('distracted', { managementPolicy: 'Observe' }));
    await stack.reason(POLICIES, 'distracted', 'Ready', 'NothingToObserve');
    await stack.remove(POLICIES, 'distracted');
    expect(await stack.remoteIds()).toEqual(before);
    expect(await stack.client.ipPolicies.get(id)).toMatchObject({ id });
  });

  test('but is retained once they were accepted, whatever came later', async () => {
    await stack.apply(policy('accepted', { deletionPolicy: 'Retain' }));
    const { status } = await stack.ready(POLICIES, 'accepted');
    await stack.apply(policy('accepted', { rules, deletionPolicy: 'Retain' }));
    await stack.reason(POLICIES, 'accepted', 'Ready', 'Rejected');
    await stack.remove(POLICIES, 'accepted');
    expect(await stack.remoteIds()).toContain(status.id);
  });
});
