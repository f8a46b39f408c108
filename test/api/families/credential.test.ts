import { expect, test } from 'vitest';
import { authentication, credential } from '../../../src/resources/credential.ts';
import { startTestApi } from '../harness.ts';

const { admin } = await startTestApi();

test('every credential has a token of its own', async () => {
  const made = await Promise.all(Array.from({ length: 50 }, () => admin.post('/credentials', {})));
  const tokens = made.map((reply) => reply.as(credential.view).token);
  for (const token of tokens) expect(token).toMatch(/^tnl_cr_[0-9A-Za-z]{43}$/);
  expect(new Set(tokens).size).toBe(50);
});

test('an agent that names no target is identified; "" as the target is refused', async () => {
  const { id, token } = (await admin.post('/credentials', { acl: ['bind:example.com'] })).as(credential.view);
  const ask = (bind: unknown) => admin.post('/credentials/authenticate', { token, bind });
  const expected = { allowed: true, credential_id: id, owner_id: admin.id, matched_rule: null };
  expect((await ask(null)).as(authentication)).toEqual(expected);
  expect((await ask('')).error.details).toHaveProperty('/bind');
});
