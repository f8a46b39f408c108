import { expect, test } from 'vitest';
import { createClient, isNotFound } from '../../src/client/client.ts';

test.each(['.', '..', ''])('an id that would lead to another path is not found, and never sent: "%s"', async (id) => {
  let attempts = 0;
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k', retries: 0, onAttempt: () => attempts++ });
  const { get, update, delete: remove } = client.credentials;
  for (const call of [get(id), update(id, {}), remove(id)]) {
    await expect(call).rejects.toSatisfy(isNotFound);
    await expect(call).rejects.toMatchObject({ status: 404 });
  }
  expect(attempts).toBe(0);
});
