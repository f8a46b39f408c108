/**
 * Mistakes that the API server rejects, so that they show at `kubectl apply` and not later in a condition, and mistakes
 * that only the API can reject. grammar.all.test.ts covers every form of ACL rules and CIDR blocks.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CREDENTIALS, credential, type Manifest, manifest, ours, POLICIES, policy } from './manifest.ts';
import { ACCEPTED, REFUSED, rule } from './mistakes.ts';
import { eventually, type RunningOperator, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'validation', operators: 0 });

const OWNER = 'usr_01k9zq3v5hf8svx2r4c6y7n0wd';

describe('kubectl apply refuses', () => {
  test.concurrent.each(REFUSED)('%s', async (_what, manifest, field, says) => {
    const { code, stderr } = await stack.tryApply(manifest, '--dry-run=server');
    expect(code).toBe(1);
    expect(stderr).toContain(field);
    expect(stderr).toContain(says);
    expect(stderr).not.toMatch(/evaluating rule|type conversion/);
  });
});

test.concurrent.each(ACCEPTED)('kubectl apply accepts %s', async (_what, manifest) => {
  expect(await stack.tryApply(manifest, '--dry-run=server')).toMatchObject({ code: 0, stderr: '' });
});

describe('the owner of a credential', () => {
  test.each([
    ['changed', { ownerId: OWNER }, { ownerId: OWNER.replace('01k9', '01k8') }],
    ['removed with the whole spec', { ownerId: OWNER }, undefined],
    ['added to an object that had no spec', undefined, { ownerId: OWNER }],
  ])('cannot be %s', async (what, before, after) => {
    const name = `owner-${what.replaceAll(' ', '-')}`;
    const make = (spec: object | undefined): Manifest => ({ ...credential(name), spec });
    expect(await stack.tryApply(make(before))).toMatchObject({ code: 0, stderr: '' });
    const { code, stderr } = await stack.tryApply(make(after));
    expect(code).toBe(1);
    expect(stderr).toContain('ownerId is immutable; delete this object and create another');
    await stack.remove(CREDENTIALS, name);
  });
});

const colliding = ['2001:DB8::/32', '2001:db8::/32'].map((cidr) => rule({ cidr }));

describe('a mistake that only the API can detect shows in the conditions, with the field:', () => {
  test.each([
    ['an owner that does not exist', credential('nobodys', { ownerId: OWNER }), /^spec\.ownerId: /],
    [
      'one block in two spellings',
      policy('twice', { rules: colliding }),
      /^spec\.rules\[1\]\.cidr: is the block 2001:db8::\/32, which is already in /,
    ],
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
    // The API had created the policy before it refused the rules.
    expect(await stack.remoteIds()).toEqual([]);
    await stack.stopOperator(operator);
  });
});

test('an API key that would expire before its rotation is refused before anything is created', async () => {
  const operator = await stack.operate();
  const expiresAt = new Date(Date.now() + 3 * 86_400_000).toISOString();
  await stack.apply(
    manifest('BotUser', 'brief', { name: 'brief' }),
    manifest('APIKey', 'brief', { ownerRef: { name: 'brief' }, expiresAt, rotation: { interval: '720h' } }),
  );
  const { ready, status } = await stack.reason(ours('apikeys'), 'brief', 'Ready', 'Rejected');
  expect(status).not.toHaveProperty('id');
  const keys = await Array.fromAsync(stack.client.apiKeys.list());
  expect(keys.filter(({ owner_id }) => owner_id.startsWith('bot_'))).toEqual([]);
  await eventually(async () => {
    const told = await stack.events('brief');
    expect(told).toContainEqual({ type: 'Warning', reason: 'Rejected', message: ready?.message });
  });
  for (const plural of ['apikeys', 'botusers']) await stack.remove(ours(plural), 'brief');
  await stack.stopOperator(operator);
});

test('a client secret from a file that ends with a line break shows where it comes from', async () => {
  const operator = await stack.operate();
  const stringData = { id: 'my-id', secret: 's3cr3t\n' };
  await stack.tryApply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'idp' }, stringData });
  await stack.apply(
    manifest('HTTPSEdge', 'signing-in', {}),
    manifest('HTTPSEdgeRoute', 'signing-in', {
      edgeRef: { name: 'signing-in' },
      match: '/',
      matchType: 'path_prefix',
    }),
    manifest('HTTPSEdgeRouteModules', 'signing-in', {
      routeRef: { name: 'signing-in' },
      oidc: {
        issuer: 'https://a.example',
        clientId: { secretKeyRef: { name: 'idp', key: 'id' } },
        clientSecret: { secretKeyRef: { name: 'idp', key: 'secret' } },
      },
    }),
  );
  const { ready } = await stack.reason(ours('httpsedgeroutemodules'), 'signing-in', 'Ready', 'SourceInvalid');
  expect(ready?.message).toMatch(
    /^spec\.oidc\.clientSecret: the value of "secret" in Secret idp must be printable ASCII, without the line break/,
  );
  expect(ready?.message).not.toContain('s3cr3t');
  for (const plural of ['httpsedgeroutemodules', 'httpsedgeroutes', 'httpsedges'])
    await stack.remove(ours(plural), 'signing-in');
  await stack.stopOperator(operator);
});

describe('an IP policy with refused rules and deletionPolicy Retain', () => {
  let operator: RunningOperator;
  beforeAll(async () => {
    operator = await stack.operate();
  });
  afterAll(() => stack.stopOperator(operator));

  test('leaves no policy behind in the API', async () => {
    const before = await stack.remoteIds();
    await stack.apply(policy('refused', { rules: colliding, deletionPolicy: 'Retain' }));
    await stack.reason(POLICIES, 'refused', 'Ready', 'Rejected');
    expect(await stack.remoteIds()).toHaveLength(before.length + 1);
    await stack.reconciled(POLICIES, 'refused');
    expect((await stack.see(POLICIES, 'refused')).ready?.reason).toBe('Rejected');
    await stack.remove(POLICIES, 'refused');
    expect(await stack.remoteIds()).toEqual(before);
  });

  test('is retained if earlier rules were accepted', async () => {
    await stack.apply(policy('accepted', { deletionPolicy: 'Retain' }));
    const { status } = await stack.ready(POLICIES, 'accepted');
    await stack.apply(policy('accepted', { rules: colliding, deletionPolicy: 'Retain' }));
    await stack.reason(POLICIES, 'accepted', 'Ready', 'Rejected');
    await stack.remove(POLICIES, 'accepted');
    expect(await stack.remoteIds()).toContain(status.id);
  });
});
