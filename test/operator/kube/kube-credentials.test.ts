/** When credentials are read again, and which connections they use. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { KubeCredentials } from '../../../src/operator/kube/kube-credentials.ts';
import { configOf, SERVER } from './kubeconfigs.ts';

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-renewal-'));
afterAll(() => rm(folder, { recursive: true }));
const token = join(folder, 'token');
const put = (text: string) => writeFile(token, text);

describe('credentials', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  const setUp = async () => {
    await put('one');
    const credentials = new KubeCredentials(await configOf(folder, { tokenFile: token }), SERVER);
    const authorization = async () => (await credentials.get()).headers.Authorization;
    return { credentials, authorization };
  };

  test('are kept for half a minute, and the connections for longer', async () => {
    const { credentials, authorization } = await setUp();
    const { dispatcher } = await credentials.get();
    await put('two');
    for (const [ms, expected] of [
      [29_999, 'Bearer one'],
      [1, 'Bearer two'],
      [30_000, 'Bearer two'],
    ] as const) {
      vi.setSystemTime(Date.now() + ms);
      expect(await authorization()).toBe(expected);
    }
    const now = await credentials.get();
    expect([now.dispatcher === dispatcher, dispatcher]).toMatchObject([true, { closed: false }]);
    await credentials.close();
    expect(dispatcher).toMatchObject({ destroyed: true });
  });

  test('that were refused are read again at once for all calls, and get new connections', async () => {
    const { credentials } = await setUp();
    const first = await credentials.get();
    await put('two');
    credentials.refused(first);
    const [second, same] = await Promise.all([credentials.get(), credentials.get()]);
    expect([second.headers.Authorization, second === same]).toEqual(['Bearer two', true]);
    expect([second.dispatcher === first.dispatcher, first.dispatcher]).toMatchObject([false, { closed: true }]);
    credentials.refused(first);
    expect(await credentials.get()).toBe(second);
    vi.setSystemTime(Date.now() + 30_000);
    expect((await credentials.get()).dispatcher).toBe(second.dispatcher);
    await credentials.close();
    expect(second.dispatcher).toMatchObject({ destroyed: true });
  });

  test('that are closed are not renewed, even if a renewal has begun', async () => {
    const { credentials } = await setUp();
    const first = await credentials.get();
    credentials.refused(first);
    const renewed = credentials.get();
    await credentials.close();
    await expect(renewed).rejects.toThrow('the client is closed');
    await expect(credentials.get()).rejects.toThrow('the client is closed');
    expect(first.dispatcher).toMatchObject({ destroyed: true });
  });

  test('that were read before stay in use while they cannot be read', async () => {
    const { credentials, authorization } = await setUp();
    await put('');
    await expect(authorization()).rejects.toThrow(`the token file ${token} is empty`);
    await put('one');
    const known = await credentials.get();
    await put('');
    vi.setSystemTime(Date.now() + 30_000);
    expect(await credentials.get()).toBe(known);
    await put('two');
    expect(await authorization()).toBe('Bearer two');
    await credentials.close();
  });
});

test('the token of a credential program is kept until it is refused', async () => {
  const answer = join(folder, 'credential.json');
  const apiVersion = 'client.authentication.k8s.io/v1';
  const print = async (text: string) => {
    const status = { token: text, expirationTimestamp: '2099-01-01T00:00:00Z' };
    await writeFile(answer, JSON.stringify({ apiVersion, kind: 'ExecCredential', status }));
  };
  const exec = { apiVersion, command: 'cat', args: [answer], interactiveMode: 'Never' };
  const credentials = new KubeCredentials(await configOf(folder, { exec }), SERVER);
  await print('one');
  const first = await credentials.get();
  expect(first.headers.Authorization).toBe('Bearer one');
  await print('two');
  credentials.refused(first);
  expect((await credentials.get()).headers.Authorization).toBe('Bearer two');
  await credentials.close();
});
