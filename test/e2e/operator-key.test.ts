/** An operator whose key is not an admin's, as with `operator.apiKey.admin=false` of the chart. */
import { describe, expect, test } from 'vitest';
import { skipFor } from '../skip.ts';
import { CREDENTIALS, credential, manifest, ours, POLICIES, policy } from './manifest.ts';
import { startStack } from './stack.ts';

const IN_PODS = process.env.TEST_PODS ? 'the API is in a Pod, whose settings are those of the suite' : undefined;
const [BOTS, KEYS] = [ours('botusers'), ours('apikeys')];
const apiKey = 'tnl_ak_not_of_an_admin_0123456789012345';

describe("an operator whose key is not an admin's", skipFor(IN_PODS), async () => {
  if (IN_PODS !== undefined) return;
  const stack = await startStack({ prefix: 'no-admin', api: { operatorApiKey: apiKey }, settings: { apiKey } });

  test('makes objects Ready, and says of a kind that needs an admin what to do, which helps', async () => {
    await stack.apply(credential('own'), policy('any'), manifest('BotUser', 'bot', { name: 'builder' }));
    await stack.ready(POLICIES, 'any');
    const { status } = await stack.ready(CREDENTIALS, 'own');
    const { items } = await stack.client.users.page();
    const owner = items.find(({ id }) => id === status.ownerId);
    expect(owner).toMatchObject({ name: 'Bootstrap operator', admin: false });
    expect(await stack.accepts((await stack.secret('own'))?.token)).toBe(true);

    const { ready } = await stack.reason(BOTS, 'bot', 'Ready', 'AccessDenied');
    expect(ready).toMatchObject({
      status: 'False',
      message:
        "The management API denies access to the operator's API key: Only admins may do this. Make the key's owner one, or give the operator an API key of one",
    });
    // Nothing exists in the API, which the operator can tell without an admin's rights.
    await stack.apply(manifest('BotUser', 'never', { name: 'never' }));
    await stack.reason(BOTS, 'never', 'Ready', 'AccessDenied');
    await stack.remove(BOTS, 'never');
    await stack.client.users.update(String(owner?.id), { admin: true });
    await stack.reconciled(BOTS, 'bot');
    await stack.ready(BOTS, 'bot');
    await stack.remove(BOTS, 'bot');
    await stack.client.users.update(String(owner?.id), { admin: false });
  });

  test('says what to do about a key whose owner is a viewer', async () => {
    const { items } = await stack.client.users.page();
    const id = String(items.find(({ name }) => name === 'Bootstrap operator')?.id);
    await stack.client.users.update(id, { role: 'viewer' });
    await stack.apply(policy('unread'));
    const { ready } = await stack.reason(POLICIES, 'unread', 'Ready', 'AccessDenied');
    expect(ready?.message).toBe(
      "The management API denies access to the operator's API key: The owner of the API key is a viewer, who may only read. Make the key's owner an editor, or give the operator another API key",
    );
    await stack.client.users.update(id, { role: null });
    await stack.reconciled(POLICIES, 'unread');
    await stack.ready(POLICIES, 'unread');
  });

  test('is refused tokens of another owner, by the name of the field', async () => {
    const { id: ownerId } = await stack.client.botUsers.create({ name: 'another' });
    await stack.apply(credential('others', { ownerId }), manifest('APIKey', 'others', { ownerId }));
    for (const type of [CREDENTIALS, KEYS]) {
      const { ready } = await stack.reason(type, 'others', 'Ready', 'Rejected');
      expect(ready?.message).toBe("spec.ownerId: only an admin's API key may name another owner");
    }
  });
});
