/** What fails in the same way again and again: it is said, counted and tried less often, and one line each time is enough. */
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../dev/processes/wait.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { untilSettled } from './inspect.ts';
import type { Answer, Call } from './proxy.ts';
import { openStage } from './stage.ts';

const stage = await openStage({ flags: ['--kube-timeout', '5s'] });
await (await stage.startOperator()).untilReconciling();

afterEach(async () => {
  stage.proxy().intercept();
  stage.proxy().watches.atStart();
  await stage.removeAll();
  await untilSettled(stage);
});

const logLine = z.looseObject({
  level: z.number(),
  msg: z.string().optional(),
  object: z.string().optional(),
  resource: z.string().optional(),
  err: z.looseObject({ stack: z.string() }).optional(),
});
const WARN = 40;

const logged = async () =>
  (await stage.operator().log())
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => logLine.parse(JSON.parse(line)));

const status = (code: number, reason: string, message: string): Answer => ({
  status: code,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message })),
});

const agent = { kind: 'TunnelCredential', name: 'agent' } as const;
const isSecretWrite = ({ target, method, path }: Call) =>
  target === 'kube' && method !== 'GET' && path.includes('/secrets');
const synced = async () => readStatus((await stage.find(agent)) ?? (await missing())).conditions?.at(-1);
const missing = () => Promise.reject(new Error('the object is gone'));

it('a conflict that stays is shown, logged once and counted', async () => {
  const message = 'the webhook has its own opinion';
  let refused = 0;
  stage.proxy().intercept((call, forward) => {
    if (!isSecretWrite(call)) return forward();
    refused++;
    return Promise.resolve(status(409, 'Conflict', message));
  });
  await stage.apply({ ...agent, spec: { description: 'refused' } });
  await waitFor('the condition', async () => (await synced())?.message === message);
  expect(await synced()).toMatchObject({ status: 'False', reason: 'KubernetesError' });
  expect(refused).toBeGreaterThanOrEqual(5);
  const warnings = async () => (await logged()).filter(({ msg, level }) => msg === message && level >= WARN);
  await waitFor('the warning', async () => (await warnings()).length > 0);
  const said = await warnings();
  expect(said).toMatchObject([{ object: `${stage.namespace}/agent` }]);
  expect(await stage.operator().metrics()).toMatch(
    /controller_runtime_reconcile_errors_total\{controller="TunnelCredential"\} [1-9]/,
  );
  stage.proxy().intercept();
  await stage.annotate(agent, { 'tunnel-operator.dev/reconcile-requested-at': 'now' });
  await untilSettled(stage);
});

it('a change of the object ends the long wait after a failure that only a change can mend', async () => {
  let refused = 0;
  stage.proxy().intercept((call, forward) => {
    if (!isSecretWrite(call)) return forward();
    refused++;
    return Promise.resolve(status(403, 'Forbidden', 'no Secrets here'));
  });
  await stage.apply({ ...agent, spec: { description: 'first' } });
  await waitFor('some attempts', () => refused >= 4);
  await stage.apply({ ...agent, spec: { description: 'second' } });
  const before = refused;
  // The backoff starts over: several attempts follow within the time of the next one before.
  await waitFor('the first attempts anew', () => refused >= before + 3);
});

it('watches that are refused for a while log their stack once', async () => {
  const isWatchFailure = ({ msg, resource }: z.output<typeof logLine>) =>
    msg === 'watch failed; will resume' && resource === 'ippolicies';
  stage.proxy().watches.atStart(() => 'refuse');
  stage.proxy().watches.cut();
  await waitFor('repetitions', async () => (await logged()).filter(isWatchFailure).length >= 4);
  stage.proxy().watches.atStart();
  const lines = (await logged()).filter(isWatchFailure);
  const stacks = lines.flatMap(({ err }) => err?.stack ?? []);
  // One for the broken connection, one for the refusals.
  expect(new Set(stacks).size).toBe(stacks.length);
  expect([1, 2]).toContain(stacks.length);
});
