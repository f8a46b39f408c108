import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { Gauge, Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ApiError, ApiUnreachableError } from '../../src/client/errors.ts';
import { ApiOwner, type ApiOwnerOptions, OtherOwner } from '../../src/operator/api-owner.ts';
import { LeaseAnnotation } from '../../src/operator/kube/lease-annotation.ts';
import { Blocked } from '../../src/operator/managed/declaration/external.ts';
import { user } from '../../src/resources/user.ts';
import { type Answer, answering, json, refusal as refusedWith } from './kube/answering.ts';
import { object } from './objects.ts';

const lease = (owner?: string) =>
  object({ name: 'lease', kind: 'Lease', metadata: { annotations: owner === undefined ? {} : { owner } } });
const remembers = (owner?: string) => json(lease(owner));
const forbidden = refusedWith(403, 'Forbidden');
const missing = refusedWith(404, 'NotFound');

interface SetUpOptions extends Partial<Pick<ApiOwnerOptions, 'accepted' | 'mayForget' | 'recheckMs'>> {
  /** What the API server answers; the last one is repeated. */
  answers?: Answer[];
  /** The owner that each whoami call returns, or the error that it throws; the last one is repeated. */
  keys?: (string | Error | Promise<string>)[];
}

async function setUp({
  answers = [remembers('us')],
  keys = ['us'],
  accepted,
  mayForget = false,
  recheckMs = 10_000,
}: SetUpOptions = {}) {
  const server = await answering(...answers);
  const lines: string[] = [];
  const refused = new Gauge({ name: 'refused', help: 'Any.', registers: [new Registry()] });
  let asked = 0;
  const owner = new ApiOwner({
    client: {
      async whoami() {
        const key = (await keys[Math.min(asked++, keys.length - 1)]) ?? '';
        if (key instanceof Error) throw key;
        const mine = { id: key, uri: `http://api/${key}`, type: user.name, name: '' };
        return {
          uri: 'http://api/whoami',
          owner: mine,
          installation_id: '0b0f4e0c-0000-4000-8000-000000000000',
          admin: true,
          api_key: { id: 'k', uri: 'http://api/k', expires_at: null },
        };
      },
    },
    memory: new LeaseAnnotation(server.connect(), { namespace: 'ns', name: 'lease', annotation: 'owner' }),
    accepted,
    mayForget,
    recheckMs,
    refused,
    log: pino({}, { write: (line) => void lines.push(line) }),
  });
  onTestFinished(() => owner.stop());
  const written = () =>
    server.asked.flatMap(({ line, body }) =>
      line.startsWith('GET') ? [] : [JSON.parse(body).metadata.annotations.owner],
    );
  const isRefused = async () => (await refused.get()).values[0]?.value === 1;
  const levels = () => lines.map((line): number => JSON.parse(line).level);
  return { owner, server, written, levels, isRefused, asked: () => asked };
}

const apiError = (status_code: number, error_code: ApiError['code']) =>
  new ApiError({ error_code, status_code, msg: 'said', details: {} });
const unauthenticated = apiError(401, 'UNAUTHENTICATED');
const denied = apiError(403, 'PERMISSION_DENIED');
const failing = apiError(500, 'INTERNAL_ERROR');
const tooOld = apiError(404, 'NOT_FOUND');
const away = new ApiUnreachableError('GET /whoami: no answer in time');
const [INFO, WARN, ERROR] = [30, 40, 50];

describe('a process that is not active yet', () => {
  test.each<[string, SetUpOptions, string | undefined]>([
    ['whose key belongs to the remembered owner', {}, undefined],
    ['for which no owner is remembered', { answers: [remembers()] }, undefined],
    ['whose key belongs to an owner that may take over', { answers: [remembers('them')], accepted: 'us' }, undefined],
    ['that cannot reach the API', { keys: [away] }, undefined],
    ['whose API is failing', { keys: [failing] }, undefined],
    ['whose API does not say who owns the key', { keys: [tooOld] }, undefined],
    ['whose key is refused', { keys: [unauthenticated] }, "refuses the operator's API key"],
    ['whose key lacks permission', { keys: [denied] }, "refuses the operator's API key"],
    ['that may not read the remembered owner', { answers: [forbidden] }, undefined],
  ])('%s may start, and remembers no owner', async (_, options, problem) => {
    const { owner, written, isRefused } = await setUp(options);
    expect(owner.problem).toBe('not known yet whose API key this is');
    expect(await owner.untilUsable()).toBe(true);
    if (problem === undefined) expect(owner.problem).toBeUndefined();
    else expect(owner.problem).toContain(problem);
    expect([written(), owner.annotations, await isRefused()]).toEqual([[], {}, false]);
  });

  test.each([undefined, 'others'])(
    'waits while its key belongs to an owner other than the remembered one; accepted owner: %s',
    async (accepted) => {
      const { owner, server, isRefused, levels } = await setUp({ answers: [remembers('them')], accepted });
      const usable = owner.untilUsable();
      await waitFor('the refusal', () => owner.problem?.startsWith('the API key belongs to us'));
      expect([server.asked.length, await isRefused(), levels()]).toEqual([1, true, [ERROR]]);
      owner.stop();
      expect(await usable).toBe(false);
    },
  );

  test('checks a refused key again until it is accepted, then stops checking', async () => {
    const { owner, asked } = await setUp({ keys: [unauthenticated, denied, 'us'], recheckMs: 20 });
    await owner.untilUsable();
    const rechecked = owner.recheck();
    await waitFor('the key to be accepted', () => owner.problem === undefined);
    // Time for three more checks.
    await delay(100);
    owner.stop();
    await rechecked;
    expect(asked()).toBe(3);
  });

  test('does not check again while the API has not answered', async () => {
    const answer = Promise.withResolvers<string>();
    const { owner, asked } = await setUp({ keys: [unauthenticated, answer.promise], recheckMs: 10 });
    await owner.untilUsable();
    const rechecked = owner.recheck();
    await waitFor('the second call', () => asked() === 2);
    // Time for three more checks.
    await delay(50);
    expect(asked()).toBe(2);
    answer.resolve('us');
    await waitFor('the key to be accepted', () => owner.problem === undefined);
    owner.stop();
    await rechecked;
  });
});

describe('the active process', () => {
  test.each<[string, SetUpOptions, string[]]>([
    ['does not write an owner that is already remembered', {}, []],
    ['remembers its owner', { answers: [remembers()] }, ['us']],
    ['remembers a new owner that may take over', { answers: [remembers('them')], accepted: 'us' }, ['us']],
  ])('%s, and calls whoami once', async (_, options, expected) => {
    const { owner, written, asked, isRefused, levels } = await setUp(options);
    await owner.verify();
    await owner.verify();
    expect(await owner.untilRemembered()).toBe(true);
    expect([written(), owner.annotations, asked()]).toEqual([expected, { owner: 'us' }, 1]);
    expect([owner.problem, await isRefused(), levels().includes(WARN)]).toEqual([undefined, false, false]);
  });

  test('rejects the key of another owner, does not remember it and ends', async () => {
    const { owner, written, isRefused } = await setUp({ answers: [remembers('them')] });
    await expect(owner.verify()).rejects.toBeInstanceOf(OtherOwner);
    expect(await owner.untilRemembered()).toBe(false);
    expect([written(), owner.annotations, await isRefused()]).toEqual([[], {}, true]);
  });

  test('calls whoami again when another installation answers, and uses no answer before', async () => {
    const { owner } = await setUp({ keys: ['us', 'them'] });
    owner.note('one');
    await owner.verify();
    expect(() => owner.recognize('one')).not.toThrow();
    for (const _ of [1, 2]) expect(() => owner.recognize('two')).toThrow('another installation');
    owner.note('two');
    const refused = await owner.verify().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OtherOwner);
    expect(refused).toMatchObject({
      message: expect.stringMatching(/^another installation .* answers at TUNNEL_API_URL \(two\)/),
    });
    expect(String(refused)).not.toContain('--accept-new-owner');
  });

  test('calls whoami again when the key is in doubt', async () => {
    const { owner, isRefused } = await setUp({ keys: ['us', 'them', 'us'] });
    await owner.verify();
    owner.doubt();
    await expect(owner.verify()).rejects.toBeInstanceOf(OtherOwner);
    expect(await isRefused()).toBe(true);
    owner.doubt();
    await owner.verify();
    expect(await isRefused()).toBe(false);
  });

  test('calls whoami again after a failure, and logs repeated failures once', async () => {
    const { owner, levels } = await setUp({ keys: [away, away, unauthenticated, unauthenticated, 'us'] });
    for (const trouble of [away, away, unauthenticated, unauthenticated]) {
      await expect(owner.verify()).rejects.toBe(trouble);
    }
    expect(levels()).toEqual([WARN, ERROR]);
    await owner.verify();
    expect(levels()).toEqual([WARN, ERROR, INFO]);
  });

  test('waits for the namespace of the Lease', async () => {
    const { owner, server } = await setUp({ answers: [missing] });
    const remembered = owner.untilRemembered();
    await waitFor('the problem', () => owner.problem?.includes('there is no namespace ns for the Lease'));
    await expect(owner.verify()).rejects.toBeInstanceOf(Blocked);
    const looks = server.asked.length;
    owner.stop();
    expect([await remembered, server.asked.length]).toEqual([false, looks]);
  });

  test.each<[string, Answer, boolean, number | undefined]>([
    ['works if the permission is missing and it may forget', forbidden, true, undefined],
    ['fails if the permission is missing and it must remember', forbidden, false, 403],
    ['fails if the API server fails, even if it may forget', refusedWith(500), true, 500],
  ])('that cannot use the Lease %s', async (_, answer, mayForget, code) => {
    const { owner, levels } = await setUp({ answers: [answer], mayForget });
    for (let time = 0; time < 2; time++) {
      if (code === undefined) await owner.verify();
      else await expect(owner.verify()).rejects.toMatchObject({ code });
      owner.doubt();
    }
    expect([owner.annotations, levels()]).toEqual([{}, [WARN]]);
  });

  test('works with an API that is too old to say who owns the key', async () => {
    const { owner, server, levels } = await setUp({ keys: [tooOld] });
    for (let time = 0; time < 2; time++) {
      await owner.verify();
      owner.doubt();
    }
    expect([server.asked, levels()]).toEqual([[], [WARN]]);
  });
});
