import { expect, test } from 'vitest';
import { z } from 'zod';
import { startTestApi } from '../harness.ts';

const { admin } = await startTestApi();
const withId = z.looseObject({ id: z.string() });
const create = async (path: string, body: object) => (await admin.post(path, body)).as(withId).id;

test('of those who refer to a resource, the error names the first five, and says whether there are more', async () => {
  const target = { webhook: { url: 'https://hooks.tunnels.test' } };
  const destination = await create('/event_destinations', { format: 'json', target });
  const referrers: string[] = [];
  const refer = async () => {
    const sources = [{ type: 'user_created.v0' }];
    referrers.push(await create('/event_subscriptions', { sources, destination_ids: [destination] }));
  };
  const named = async () => {
    const { error } = await admin.delete(`/event_destinations/${destination}`);
    expect(error.error_code).toBe('RESOURCE_IN_USE');
    return error.details.event_subscription;
  };
  for (let n = 0; n < 5; n++) await refer();
  expect(await named()).toBe(referrers.toSorted().join(', '));
  await refer();
  expect(await named()).toBe(`${referrers.toSorted().slice(0, 5).join(', ')}, …`);
});
