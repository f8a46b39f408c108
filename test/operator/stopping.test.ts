/** The end of an operator whose management API keeps it waiting. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { EventRecorder } from '../../src/operator/kube/event-recorder.ts';
import { LeaderElection } from '../../src/operator/kube/leader-election.ts';
import type { OperatorConfig } from '../../src/operator/settings.ts';
import { policy, startStack } from '../e2e/stack.ts';
import { type Answer, answering, json } from './kube/answering.ts';

const stack = await startStack({ prefix: 'stopping', operators: 0 });
afterEach(() => vi.restoreAllMocks());

const warnings = () => stack.logs.splice(0).filter((line) => JSON.parse(line).level >= 40);
const failure = (error_code: string, status_code: number) =>
  json({ error_code, status_code, msg: 'no', details: {} }, status_code);
/** As of a management API that does not know `/whoami`. */
const unknown = failure('NOT_FOUND', 404);

/** An operator whose API answers like this, once it has been asked for something. */
async function waiting(answer: Answer, settings: Partial<OperatorConfig> = {}) {
  const api = await answering((response, asked) =>
    (asked.line.endsWith('/whoami') ? unknown : answer)(response, asked),
  );
  const operator = await stack.operate({ apiUrl: api.url, ...settings });
  await stack.apply(policy('waits'));
  await waitFor('a call', () => api.asked.some(({ line }) => !line.endsWith('/whoami')));
  warnings();
  return { operator, api };
}

test('a pause that the API has asked for does not hold it up', async () => {
  const { operator } = await waiting((response, asked) => {
    response.setHeader('retry-after', '300');
    return failure('RATE_LIMITED', 429)(response, asked);
  });
  await stack.stopOperator(operator);
  expect(warnings().filter((line) => line.includes('shutdown timeout'))).toEqual([]);
});

test('the calls under way are ended before others may lead', async () => {
  let underWay = 0;
  const hang: Answer = (response) => {
    underWay++;
    response.once('close', () => underWay--);
  };
  const { operator } = await waiting(hang, { leaderElect: true, shutdownMs: 100 });
  const { release } = LeaderElection.prototype;
  let left: number | undefined;
  vi.spyOn(LeaderElection.prototype, 'release').mockImplementation(async function (this: LeaderElection) {
    await waitFor('their end', () => underWay === 0, { timeoutMs: 5_000 }).catch(() => undefined);
    left = underWay;
    await release.call(this);
  });
  await stack.stopOperator(operator);
  expect(left).toBe(0);
  expect(warnings().some((line) => line.includes('shutdown timeout'))).toBe(true);
});

test('no connection to the API is left', async () => {
  const { operator, api } = await waiting(unknown);
  expect(await api.connections()).toBeGreaterThan(0);
  await stack.stopOperator(operator);
  await expect.poll(api.connections).toBe(0);
});

test('what it has to say in Events is said before others may lead', async () => {
  const operator = await stack.operate({ leaderElect: true });
  const said = Promise.withResolvers<void>();
  vi.spyOn(EventRecorder.prototype, 'flush').mockReturnValue(said.promise);
  const release = vi.spyOn(LeaderElection.prototype, 'release');
  const stopped = stack.stopOperator(operator);
  await delay(200);
  expect(release).not.toHaveBeenCalled();
  said.resolve();
  await stopped;
  expect(release).toHaveBeenCalledTimes(1);
});
