import { expect, test, vi } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { apiKeyKind } from '../../../src/operator/kinds/api-key.ts';
import type { apiKey } from '../../../src/resources/api-key.ts';
import type { View } from '../../../src/resources/definition/resource.ts';
import { object } from '../objects.ts';

type Key = View<typeof apiKey>;

const key = (expires_at: string | null): Key => ({
  id: 'ak_1',
  uri: 'https://tunnels.test/api_keys/ak_1',
  created_at: '2026-11-01T00:00:00.000Z',
  description: null,
  metadata: null,
  token: null,
  token_prefix: null,
  last_used_at: null,
  owner_id: 'bot_1',
  expires_at,
});

function unfit(interval: string, expiresAt: string | null, isFirst = true) {
  const spec = apiKeyKind.spec.parse({ rotation: { interval } });
  const mine = object({}, { createGeneration: '1', externalId: 'ak_1' });
  return {
    finding: apiKeyKind.unfit?.(spec, key(expiresAt), isFirst),
    shown: apiKeyKind.describe(spec, key(expiresAt), mine),
  };
}

test.each([
  ['720h', '2026-11-30T00:00:00Z'],
  ['48h', '2026-11-03T00:00:00Z'],
])('a key that expires before its rotation (%s, %s) says so', (interval, expiresAt) => {
  const { finding, shown } = unfit(interval, expiresAt);
  expect(finding).toMatchObject({ status: 'False', reason: 'Rejected' });
  expect(finding?.message).toContain(`spec.rotation.interval: ak_1 expires at ${expiresAt}, before`);
  expect(shown.rotatesAt).toBeUndefined();
});

test.each([
  ['48h', '2026-11-03T00:00:01Z'],
  ['720h', null],
])('a key that is rotated before it expires (%s, %s) is fit', (interval, expiresAt) => {
  const { finding, shown } = unfit(interval, expiresAt);
  expect(finding).toBeUndefined();
  expect(shown.rotatesAt).toMatch(/^2026-1/);
});

test('the last of several keys may expire before its rotation', () => {
  const { finding, shown } = unfit('720h', '2026-11-03T00:00:00Z', false);
  expect(finding).toBeUndefined();
  expect(shown.rotatesAt).toBeUndefined();
});

test.each<[string, object, number, boolean]>([
  ['is refused if it would expire before its rotation', { expiresAt: '2026-11-03T00:00:00Z' }, 1, false],
  ['is created if it is rotated before it expires', { expiresAt: '2026-12-02T00:00:00Z' }, 1, true],
  ['is created if it never expires', {}, 1, true],
  ['may replace another and expire before its rotation', { expiresAt: '2026-11-03T00:00:00Z' }, 2, true],
])('a key %s', async (_, more, sequence, isCreated) => {
  const create = vi.fn(async () => key(null));
  const calls = { apiKeys: { create }, now: () => new Date('2026-11-01T00:00:00Z') };
  const { external, spec } = apiKeyKind;
  const made = external(calls as unknown as Client).create(spec.parse({ rotation: { interval: '720h' }, ...more }), {
    idempotencyKey: 'k',
    idempotencyPlace: { scope: 's', sequence },
  });
  if (isCreated) await made;
  else
    await expect(made).rejects.toThrow(
      'spec.rotation.interval: the key expires at 2026-11-03T00:00:00.000Z, before it is',
    );
  expect(create).toHaveBeenCalledTimes(isCreated ? 1 : 0);
});
