import { afterEach, expect, test, vi } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { LeaderElection } from '../../src/operator/kube/leader-election.ts';
import type { OperatorConfig } from '../../src/operator/settings.ts';
import { newId } from '../../src/resources/definition/id.ts';
import { user } from '../../src/resources/user.ts';
import { LEASES, policy } from '../e2e/manifest.ts';
import { API_KEY, startStack } from '../e2e/stack.ts';
import { type Answer, answering, apiError, json } from './kube/answering.ts';

const stack = await startStack({ prefix: 'stopping', operators: 0 });
afterEach(() => vi.restoreAllMocks());

const warnings = () => stack.logs.splice(0).filter((line) => JSON.parse(line).level >= 40);
/** The answer of a management API that is too old for `/whoami`. */
const unknown = apiError('NOT_FOUND', 404);

/** An operator whose API gives this answer; resolves once the operator has made a call other than whoami. */
async function waiting(answer: Answer, settings: Partial<OperatorConfig> = {}) {
  const api = await answering((response, asked) =>
    (asked.line.endsWith('/whoami') ? unknown : answer)(response, asked),
  );
  const operator = await stack.operate({ apiUrl: api.url, ...settings });
  await stack.apply(policy('waits'));
  await waitFor('a call to the API', () => api.asked.some(({ line }) => !line.endsWith('/whoami')));
  warnings();
  return { operator, api };
}

test('a pause requested by the API does not delay the shutdown', async () => {
  const { operator } = await waiting((response, asked) => {
    response.setHeader('retry-after', '300');
    return apiError('RATE_LIMITED', 429)(response, asked);
  });
  await stack.stopOperator(operator);
  expect(warnings().filter((line) => line.includes('shutdown timeout'))).toEqual([]);
});

test('calls in flight are aborted before the Lease is released', async () => {
  let underWay = 0;
  const hang: Answer = (response) => {
    underWay++;
    response.once('close', () => underWay--);
  };
  const { operator } = await waiting(hang, { leaderElect: true, shutdownMs: 100 });
  const { release } = LeaderElection.prototype;
  let left: number | undefined;
  vi.spyOn(LeaderElection.prototype, 'release').mockImplementation(async function (this: LeaderElection) {
    await waitFor('the calls in flight to end', () => underWay === 0, { timeoutMs: 5_000 }).catch(() => undefined);
    left = underWay;
    await release.call(this);
  });
  await stack.stopOperator(operator);
  expect(left).toBe(0);
  expect(warnings().some((line) => line.includes('shutdown timeout'))).toBe(true);
});

test('calls in flight are aborted as soon as another process leads', async () => {
  const { operator } = await waiting(() => {}, { leaderElect: true, shutdownMs: 3_600_000 });
  const stopped = stack.stopOperator(operator);
  const spec = { holderIdentity: 'them', leaseDurationSeconds: 3_600 };
  await stack.kube.patch(LEASES, 'tunnel-operator', { spec }, stack.namespace);
  await stopped;
  expect(warnings().map((line) => JSON.parse(line).msg)).toContain(
    'another process may be active; aborting the reconciles in progress',
  );
  await stack.kube.delete(LEASES, 'tunnel-operator', stack.namespace);
});

/** Two answers to whoami: `ours` with the true owner of the key, and `others` with another owner. */
async function whoami() {
  const answer = await fetch(`${stack.api.url}/whoami`, { headers: { authorization: `Bearer ${API_KEY}` } });
  const [ours, { owner }] = [await answer.text(), await stack.client.whoami()];
  return { ours: json(JSON.parse(ours)), others: json(JSON.parse(ours.replaceAll(owner.id, newId(user.prefix)))) };
}

test('an operator whose API key now belongs to another owner sends nothing more with it, and ends', async () => {
  const { ours, others } = await whoami();
  let isExchanged = false;
  let isTold = false;
  const late: string[] = [];
  const api = await answering((response, asked) => {
    if (asked.line.endsWith('/whoami')) {
      isTold = isExchanged;
      return (isExchanged ? others : ours)(response, asked);
    }
    isExchanged = true;
    if (isTold) late.push(asked.line);
    return apiError('UNAUTHENTICATED', 401)(response, asked);
  });
  await stack.stopOperator(await stack.operate());
  // One call at a time, so that none is in flight when the operator learns of the other owner.
  const operator = await stack.operate({ apiUrl: api.url, apiConcurrency: 1 });
  await stack.apply(policy('refused'));
  await operator.lostLead;
  await stack.stopOperator(operator);
  expect([isTold, late]).toEqual([true, []]);
});
