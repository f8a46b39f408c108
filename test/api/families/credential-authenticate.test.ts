import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { authentication, credential } from '../../../src/resources/credential.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

async function issue(acl: string[], owner_id = admin.id) {
  const shown = (await admin.post('/credentials', { acl, owner_id })).as(credential.view);
  return { id: shown.id, token: z.string().parse(shown.token) };
}
const ask = async (body: object) => (await admin.post('/credentials/authenticate', body)).as(authentication);
const NOBODY = { allowed: false, credential_id: null, owner_id: null, matched_rule: null };

describe('POST /credentials/authenticate', () => {
  test('answers 200 with the credential and its owner', async () => {
    const { id, token } = await issue([]);
    const reply = await admin.post('/credentials/authenticate', { token });
    expect(reply.status).toBe(200);
    expect(reply.as(authentication)).toEqual({
      allowed: true,
      credential_id: id,
      owner_id: admin.id,
      matched_rule: null,
    });
  });

  test('takes null as no bind target, but not ""', async () => {
    const { id, token } = await issue(['bind:example.com']);
    const decision = { allowed: true, credential_id: id, owner_id: admin.id, matched_rule: null };
    expect(await ask({ token, bind: null })).toEqual(decision);
    // An agent that names nothing must not be allowed for that.
    expect((await admin.post('/credentials/authenticate', { token, bind: '' })).error.details).toHaveProperty('/bind');
  });

  test.each([
    [['bind:example.com'], 'example.com', 'bind:example.com'],
    [['bind:example.com'], 'EXAMPLE.com', 'bind:example.com'],
    [['bind:example.com'], 'a.example.com', null],
    [['bind:*.example.com'], 'a.example.com', 'bind:*.example.com'],
    [['bind:*.example.com'], 'a.b.example.com', 'bind:*.example.com'],
    [['bind:*.example.com'], '*.example.com', 'bind:*.example.com'],
    [['bind:*.example.com'], 'example.com', null],
    [['bind:*.example.com'], 'badexample.com', null],
    [['bind:0.tcp.example:1234'], '0.tcp.example:1234', 'bind:0.tcp.example:1234'],
    [['bind:0.tcp.example:1234'], '0.tcp.example:1235', null],
    [['bind:example.com'], 'example.com:443', null],
    [['bind:[2001:db8::1]:443'], '[2001:DB8:0::1]:443', 'bind:[2001:db8::1]:443'],
    [['bind:app=web'], 'app=web', 'bind:app=web'],
    [['bind:app=web'], 'app=Web', null],
    [['bind:app=*'], 'app=anything', 'bind:app=*'],
    [['bind:*=web'], 'any=web', 'bind:*=web'],
    [['bind:*=*'], 'a=b', 'bind:*=*'],
    [['bind:*=*'], 'example.com', null],
    [['*'], 'example.com', '*'],
    [['bind:x.example', 'bind:*.y.example'], 'a.y.example', 'bind:*.y.example'],
  ])('with the ACL %o, binding %s matches %s', async (acl, bind, matched_rule) => {
    const { id, token } = await issue(acl);
    const answer = await ask({ token, bind });
    expect(answer).toEqual({ allowed: matched_rule !== null, credential_id: id, owner_id: admin.id, matched_rule });
  });

  test('permits any target without an ACL', async () => {
    const { token } = await issue([]);
    for (const bind of ['example.com', '*.example.com', 'host:1', 'a=b']) {
      expect(await ask({ token, bind })).toMatchObject({ allowed: true, matched_rule: null });
    }
  });

  test('says nothing about a token that is unknown, deleted or has an inactive owner', async () => {
    expect(await ask({ token: 'tnl_cr_unknown' })).toEqual(NOBODY);
    expect(await ask({ token: '' })).toEqual(NOBODY);

    const gone = await issue([]);
    await admin.delete(`/credentials/${gone.id}`);
    expect(await ask({ token: gone.token })).toEqual(NOBODY);

    const bot = await api.newBot();
    const { token } = await issue([], bot.id);
    expect((await ask({ token })).allowed).toBe(true);
    await admin.patch(`/bot_users/${bot.id}`, { active: false });
    expect(await ask({ token })).toEqual(NOBODY);
    await admin.patch(`/bot_users/${bot.id}`, { active: true });
    expect((await ask({ token })).allowed).toBe(true);
  });

  test('is for admins', async () => {
    const { token } = await issue([]);
    for (const caller of [await api.newUser(), await api.newBot()]) {
      expect((await caller.post('/credentials/authenticate', { token })).error.error_code).toBe('PERMISSION_DENIED');
    }
  });

  test.each([
    ['/token', {}, 'is required'],
    ['/bind', { token: 't', bind: 'a b' }, 'must not contain white space'],
    ['/bind', { token: 't', bind: 'app=*' }, "the label's value must not be a wildcard"],
    ['/target', { token: 't', target: 'x' }, 'unknown field'],
  ])('refuses a wrong %s', async (pointer, body, reason) => {
    expect((await admin.post('/credentials/authenticate', body)).error.details[pointer]).toBe(reason);
  });

  test('creates nothing, so it takes no notice of an idempotency key', async () => {
    const { token } = await issue([]);
    const headers = { 'idempotency-key': 'same' };
    await admin.post('/credentials/authenticate', { token }, headers);
    expect((await admin.post('/credentials/authenticate', { token, bind: 'a.example' }, headers)).status).toBe(200);
  });
});
