import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_IN_SCOPE } from '../../../src/api/crud/idempotency-scopes.ts';
import { credential } from '../../../src/resources/credential.ts';
import { idempotencyDigest, idempotencyScope } from '../../../src/resources/definition/idempotency.ts';
import { eventSource, eventSubscription } from '../../../src/resources/event-subscription.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { BASE, type Caller, heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi({ poolSize: 60 });
const { admin } = api;

let scopes = 0;
const newScope = () => `scope-${scopes++}`;

const place = (scope: string, sequence: number, key = `${scope}-${sequence}`) => ({
  'idempotency-key': key,
  'idempotency-scope': scope,
  'idempotency-sequence': String(sequence),
});
const create = (scope: string, sequence: number, key?: string, body: object = {}, by: Caller = admin) =>
  by.post('/ip_policies', body, place(scope, sequence, key));
const created = async (...args: Parameters<typeof create>) => (await create(...args)).as(ipPolicy.view).id;
const pathOf = (scope: string) => `/idempotency_scopes/${idempotencyDigest(scope)}`;
const read = async (scope: string, by: Caller = admin) => (await by.get(pathOf(scope))).as(idempotencyScope);
const close = async (scope: string, by: Caller = admin) =>
  (await by.put(`${pathOf(scope)}/closed`)).as(idempotencyScope);
const entry = (id: string, sequence: number) => ({ id, uri: `${BASE}/ip_policies/${id}`, sequence });

const outOfSequence = (next: number) => ({
  error_code: 'CONFLICT',
  msg: expect.stringContaining(`The next sequence number of this idempotency scope is ${next}, not `),
  details: { idempotency_scope: 'out_of_sequence', next_sequence: String(next) },
});
const closed = { error_code: 'CONFLICT', details: { idempotency_scope: 'closed' } };

describe('the creates of a scope', () => {
  test('may start at any sequence number', async () => {
    const scope = newScope();
    const id = await created(scope, 7);
    expect(await read(scope)).toEqual({ next_sequence: 8, resources: [entry(id, 7)] });
  });

  test('are replayed under their own key, even after later creates', async () => {
    const scope = newScope();
    const first = await create(scope, 1);
    await created(scope, 2);
    const again = await create(scope, 1);
    expect(again).toMatchObject({ status: 201, text: first.text, headers: { 'idempotency-replayed': 'true' } });
  });

  test('under the key of another create are refused, and use no sequence number', async () => {
    const scope = newScope();
    const id = await created(scope, 1, `${scope}-key`);
    expect((await create(scope, 2, `${scope}-key`)).error).toMatchObject({
      error_code: 'IDEMPOTENCY_KEY_REUSED',
      details: { resource_id: id },
    });
    expect((await read(scope)).next_sequence).toBe(2);
  });

  test('use no sequence number when they fail', async () => {
    const scope = newScope();
    const body = { ip_policy_id: 'ipp_00000000000000000000000000', cidr: '10.0.0.0/8', action: 'allow' };
    expect((await admin.post('/ip_policy_rules', body, place(scope, 1))).status).toBe(400);
    expect((await read(scope)).next_sequence).toBe(1);
    await created(scope, 1);
  });

  test('may be of any family', async () => {
    const scope = newScope();
    const policy = await created(scope, 1);
    const { id } = (await admin.post('/credentials', {}, place(scope, 2))).as(credential.view);
    const subscription = (await admin.post('/event_subscriptions', {}, place(scope, 3))).as(eventSubscription.view);
    const type = 'ip_policy_created.v0';
    const source = await admin.post(`/event_subscriptions/${subscription.id}/sources`, { type }, place(scope, 4));
    expect((await read(scope)).resources).toEqual([
      { id: `${subscription.id}/${type}`, uri: source.as(eventSource).uri, sequence: 4 },
      { id: subscription.id, uri: subscription.uri, sequence: 3 },
      { id, uri: `${BASE}/credentials/${id}`, sequence: 2 },
      entry(policy, 1),
    ]);
  });
});

describe('a closed scope', () => {
  test('refuses the numbers up to its closing, and accepts the next one', async () => {
    const scope = newScope();
    const id = await created(scope, 1);
    expect(await close(scope)).toEqual({ next_sequence: 3, resources: [entry(id, 1)] });
    // Including the number that may be in flight.
    expect((await create(scope, 2)).error).toMatchObject(closed);
    expect((await create(scope, 2, 'other')).error).toMatchObject(closed);
    const { error } = await create(scope, 1, 'other');
    expect(error).toMatchObject(closed);
    expect(error.msg).toContain('is closed up to 2; nothing more can be created with the sequence number 1');
    await created(scope, 3);
  });

  test('replays nothing', async () => {
    const scope = newScope();
    const id = await created(scope, 1);
    await close(scope);
    const { error } = await create(scope, 1);
    expect(error).toMatchObject({ error_code: 'CONFLICT', details: { idempotency_key: 'closed', resource_id: id } });
    // Families with `prepare` look for a replay first.
    const prepared = newScope();
    const authority = () =>
      admin.post('/ssh_certificate_authorities', { private_key_type: 'ed25519' }, place(prepared, 1));
    expect((await authority()).status).toBe(201);
    await close(prepared);
    expect((await authority()).error).toMatchObject({ details: { idempotency_key: 'closed' } });
  });

  test('may be closed again', async () => {
    const scope = newScope();
    const id = await created(scope, 1);
    await close(scope);
    expect(await close(scope)).toEqual({ next_sequence: 4, resources: [entry(id, 1)] });
  });

  test('does not name deleted resources', async () => {
    const scope = newScope();
    const [first, second] = [await created(scope, 1), await created(scope, 2)];
    await admin.delete(`/ip_policies/${first}`);
    expect((await close(scope)).resources).toEqual([entry(second, 2)]);
    // The record of a key that was closed on its own outlives its resource.
    await admin.put(`/idempotency_keys/${idempotencyDigest(`${scope}-2`)}/closed`);
    await admin.delete(`/ip_policies/${second}`);
    expect((await close(scope)).resources).toEqual([]);
  });

  test.each(['short', 'A'.repeat(64)])('is addressed by its digest, not by %s', async (digest) => {
    expect((await admin.get(`/idempotency_scopes/${digest}`)).error.error_code).toBe('NOT_FOUND');
    expect((await admin.put(`/idempotency_scopes/${digest}/closed`)).error.error_code).toBe('NOT_FOUND');
  });
});

describe('at the same moment', () => {
  const policyBehind = async () => {
    const { id } = (await admin.post('/ip_policies', {})).as(ipPolicy.view);
    const held = await heldTransaction(api.databaseUrl);
    await held.query('select 1 from ip_policies where id = $1 for update', [id]);
    return { id, held, body: { ip_policy_id: id, cidr: '10.0.0.0/8', action: 'allow' } };
  };

  test('a create in progress goes first, and the closing reports its resource', async () => {
    const scope = newScope();
    const { held, body } = await policyBehind();
    const creating = admin.post('/ip_policy_rules', body, place(scope, 1));
    await untilWaiting(api, 1);
    const closing = close(scope);
    await untilWaiting(api, 2);
    await held.commit();
    expect((await creating).status).toBe(201);
    expect((await closing).resources).toHaveLength(1);
  });

  test('of many creates with the same number, one takes effect', async () => {
    const scope = newScope();
    for (let sequence = 1; sequence <= 10; sequence++) {
      const replies = await Promise.all(
        Array.from({ length: 6 }, (_, n) => create(scope, sequence, `${scope}-${sequence}-${n % 3}`)),
      );
      const ids = new Set(replies.filter(({ status }) => status === 201).map((reply) => reply.as(ipPolicy.view).id));
      expect(ids.size).toBe(1);
      for (const reply of replies.filter(({ status }) => status !== 201)) {
        expect(reply.error).toMatchObject(outOfSequence(sequence + 1));
      }
    }
    expect((await read(scope)).resources).toHaveLength(10);
  });

  test('creates, closings and deletions in any order never leave a resource that the scope does not name', async () => {
    const act = fc.constantFrom('create', 'create', 'repeat', 'close', 'delete');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(act, { minLength: 1, maxLength: 4 }), { maxLength: 8 }), async (rounds) => {
        const scope = newScope();
        const description = `of ${scope}`;
        for (const round of rounds) {
          const { next_sequence: next, resources } = await read(scope);
          await Promise.all(
            round.map((what, n) => {
              if (what === 'create') return create(scope, next, `${scope}-${next}-${n}`, { description });
              if (what === 'repeat') return create(scope, Math.max(1, next - 1), undefined, { description });
              if (what === 'close') return close(scope);
              const [newest] = resources;
              return newest ? admin.delete(`/ip_policies/${newest.id}`) : undefined;
            }),
          );
        }
        const known = (await read(scope)).resources.map(({ id }) => id);
        const rows = await api.rows('select id from ip_policies where description = $1', [description]);
        expect(rows.map(({ id }) => id).toSorted()).toEqual(known.toSorted());
        expect((await close(scope)).resources.map(({ id }) => id)).toEqual(known);
      }),
      { numRuns: 60 },
    );
  });
});

test('a scope has room for a limited number of resources, and deleting one makes room', async () => {
  const scope = newScope();
  const first = await created(scope, MAX_IN_SCOPE - 1);
  const last = await created(scope, MAX_IN_SCOPE);
  const text = `
    insert into idempotency_keys (principal, digest, created_at, scope, sequence, resource_id, resource_path, status, body)
    select principal, digest || n, created_at, scope, n, resource_id, resource_path, status, body
      from idempotency_keys, generate_series(1, $2::int) n where scope = $1 and resource_id = $3`;
  await api.rows(text, [idempotencyDigest(scope), MAX_IN_SCOPE - 2, first]);
  expect((await create(scope, MAX_IN_SCOPE + 1)).error).toMatchObject({
    error_code: 'CONFLICT',
    details: { idempotency_scope: 'full' },
  });
  await admin.delete(`/ip_policies/${last}`);
  expect((await create(scope, MAX_IN_SCOPE + 1)).status).toBe(201);
});
