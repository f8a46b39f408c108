import { expect, test, vi } from 'vitest';
import { shareLookups } from '../../../src/api/guard/shared-lookups.ts';
import { startTestApi } from '../harness.ts';

/** Lookups that end when told to; each returns its number. */
function lookups() {
  const begun: PromiseWithResolvers<number>[] = [];
  const lookUp = () => {
    const lookup = Promise.withResolvers<number>();
    begun.push(lookup);
    return lookup.promise;
  };
  const settled = () => new Promise((turn) => setImmediate(turn));
  return { begun, lookUp, settled, end: (n: number) => begun[n]?.resolve(n) };
}

test('requests share a lookup that begins after they have arrived, and only that', async () => {
  const { begun, lookUp, settled, end } = lookups();
  const share = shareLookups<number>();
  const first = share('a', lookUp);
  const during = [share('a', lookUp), share('a', lookUp)];
  await settled();
  expect(begun).toHaveLength(1);
  end(0);
  expect(await first).toBe(0);
  await settled();
  expect(begun).toHaveLength(2);
  const later = share('a', lookUp);
  end(1);
  expect(await Promise.all(during)).toEqual([1, 1]);
  await settled();
  end(2);
  expect(await later).toBe(2);
  const alone = share('a', lookUp);
  expect(begun).toHaveLength(4);
  end(3);
  expect(await alone).toBe(3);
});

test('keys do not wait for each other', async () => {
  const { lookUp, end } = lookups();
  const share = shareLookups<number>();
  void share('a', lookUp);
  const other = share('b', lookUp);
  end(1);
  expect(await other).toBe(1);
});

test('a failed lookup fails for all who share it, and the next one begins', async () => {
  const { begun, lookUp, settled, end } = lookups();
  const share = shareLookups<number>();
  const first = share('a', lookUp);
  const during = [share('a', lookUp), share('a', lookUp)];
  begun[0]?.reject(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  await settled();
  const later = share('a', lookUp);
  begun[1]?.reject(new Error('still gone'));
  for (const each of during) await expect(each).rejects.toThrow('still gone');
  await settled();
  end(2);
  expect(await later).toBe(2);
});

test('a lookup that hangs holds up the next one only for a while', async () => {
  const { begun, lookUp, end } = lookups();
  const share = shareLookups<number>(1);
  const hanging = share('a', lookUp);
  const during = share('a', lookUp);
  await vi.waitFor(() => expect(begun).toHaveLength(2));
  end(1);
  expect(await during).toBe(1);
  const later = share('a', lookUp);
  expect(begun).toHaveLength(3);
  end(0);
  expect(await hanging).toBe(0);
  const next = share('a', lookUp);
  end(2);
  expect(await later).toBe(2);
  await vi.waitFor(() => expect(begun).toHaveLength(4));
  end(3);
  expect(await next).toBe(3);
});

test('a thousand requests wait, and more are refused', async () => {
  const { begun, lookUp, settled, end } = lookups();
  const share = shareLookups<number>();
  const first = share('a', lookUp);
  const waiting = Array.from({ length: 1000 }, () => share('a', lookUp));
  await expect(share('a', lookUp)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  end(0);
  await first;
  await settled();
  end(1);
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([1]));
  expect(begun).toHaveLength(2);
});

test('a user who has been made inactive is refused at once, whatever requests are in flight', async () => {
  const api = await startTestApi();
  for (let round = 0; round < 20; round++) {
    const user = await api.newUser();
    const requests = Array.from({ length: 20 }, async () => {
      while ((await user.get('/whoami')).status === 200);
    });
    await api.admin.patch(`/users/${user.id}`, { active: false });
    expect((await user.get('/whoami')).status).toBe(401);
    await Promise.all(requests);
  }
});
