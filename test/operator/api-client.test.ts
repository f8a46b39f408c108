import { describe, expect, test } from 'vitest';
import { ApiClock } from '../../src/client/clock.ts';
import { createApiClient, latestKey } from '../../src/operator/api-client.ts';
import { ApiBudget } from '../../src/operator/controller/api-budget.ts';
import { createMetrics, forgetConnection } from '../../src/operator/metrics.ts';
import { operatorSettings } from '../../src/operator/settings.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { type Answer, answering, cut, hanging, json } from './kube/answering.ts';

const done: Answer = (response) => response.writeHead(204).end();
const error = (status: number, error_code: string) =>
  json({ error_code, status_code: status, msg: 'said', details: {} }, status);
const unauthenticated = error(401, 'UNAUTHENTICATED');

interface SetUpOptions {
  apiKey?: () => string;
  mayCall?: () => Promise<void>;
  onInstallation?: (id: string) => void;
  flags?: Record<string, string>;
}

/** A client of a server that gives these answers; `said` returns the metrics of its calls. */
async function setUp(answers: Answer[], { mayCall, apiKey, onInstallation = () => {}, flags = {} }: SetUpOptions = {}) {
  const server = await answering(...answers);
  const metrics = createMetrics();
  let refusals = 0;
  const config = readSettings(operatorSettings, { apiUrl: server.url, ...flags }, { TUNNEL_API_KEY: 'key' });
  const client = createApiClient(config, {
    userAgent: 'tests/1',
    budget: new ApiBudget(2),
    metrics,
    tracing: undefined,
    clock: new ApiClock(),
    onInstallation,
    ...(mayCall && { mayCall }),
    ...(apiKey && { apiKey }),
    onUnauthenticated: () => refusals++,
  });
  const said = async () =>
    (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => /^tunnel_operator_api_request(s_total|_duration_seconds_count)\{/.test(line))
      .map((line) => line.replace('tunnel_operator_api_', ''));
  return { server, client, said, refusals: () => refusals };
}

describe('a call to the management API', () => {
  test.each<[string, Answer, string, number]>([
    ['succeeds', done, '204', 0],
    ['is refused because of its key', unauthenticated, '401', 1],
    ['is refused for lack of permission', error(403, 'PERMISSION_DENIED'), '403', 0],
    ['fails and is left to the work queue', error(503, 'UNAVAILABLE'), '503', 0],
    ['gets no answer', cut(), '<error>', 0],
  ])('that %s is sent and counted once', async (_, answer, code, refused) => {
    const { server, client, said, refusals } = await setUp([answer]);
    await client.ipPolicies.delete('ipp_1').catch(() => {});
    expect(server.asked.map(({ line, headers }) => [line, headers['user-agent']])).toEqual([
      ['DELETE /ip_policies/ipp_1', 'tests/1'],
    ]);
    expect(await said()).toEqual([
      `requests_total{method="DELETE",code="${code}"} 1`,
      'request_duration_seconds_count{method="DELETE"} 1',
    ]);
    expect(refusals()).toBe(refused);
  });

  test('is neither sent nor counted before it is allowed', async () => {
    const { server, client, said } = await setUp([done], { mayCall: () => Promise.reject(new Error('not yet')) });
    await expect(client.ipPolicies.delete('ipp_1')).rejects.toThrow('not yet');
    expect([server.asked, await said()]).toEqual([[], []]);
  });

  test('is sent with the key that is there once it is allowed', async () => {
    const keys = ['none yet', 'found', 'replaced'];
    let known = 0;
    const mayCall = async () => {
      known = Math.min(known + 1, 2);
    };
    const { server, client } = await setUp([done], { mayCall, apiKey: () => String(keys[known]) });
    await client.ipPolicies.delete('ipp_1');
    expect(server.asked[0]?.headers.authorization).toBe('Bearer replaced');
  });

  test('is not answered by another installation', async () => {
    const seen: string[] = [];
    const onInstallation = (id: string) => {
      if (seen.push(id) > 1) throw new Error('another');
    };
    const from =
      (id: string): Answer =>
      (response, asked) => {
        response.setHeader('installation-id', id);
        return error(404, 'NOT_FOUND')(response, asked);
      };
    const { client } = await setUp([from('one'), from('two')], { onInstallation });
    await expect(client.ipPolicies.get('ipp_1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(client.ipPolicies.get('ipp_1')).rejects.toThrow('GET /ip_policies/ipp_1: another');
    expect(seen).toEqual(['one', 'two']);
  });

  test('fails if there is no answer in time', async () => {
    const { client } = await setUp([hanging()], { flags: { apiTimeout: '100ms' } });
    await expect(client.ipPolicies.delete('ipp_1')).rejects.toThrow('no answer in time');
  });
});

test('a key that changes while the operator runs is sent from then on, once its owner is in doubt', async () => {
  let latest = 'first';
  const doubts: string[] = [];
  const apiKey = latestKey({ apiKey: 'first', latestApiKey: () => latest }, () => void doubts.push(latest));
  const { server, client } = await setUp([done, done, done], { apiKey });
  for (latest of ['first', 'second', 'second']) await client.ipPolicies.delete('ipp_1');
  expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer first',
    'Bearer second',
    'Bearer second',
  ]);
  expect(doubts).toEqual(['second']);
});

test('the series of a connection that is gone are removed', async () => {
  const metrics = createMetrics();
  for (const connection of ['APIConnection shop/default', 'APIConnection web/default'])
    for (const code of ['200', '503']) metrics.connectionRequests.inc({ connection, code });
  await forgetConnection(metrics, 'APIConnection shop/default');
  expect((await metrics.connectionRequests.get()).values.map(({ labels }) => labels)).toEqual([
    { connection: 'APIConnection web/default', code: '200' },
    { connection: 'APIConnection web/default', code: '503' },
  ]);
});
