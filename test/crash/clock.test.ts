/** The clock of the API is hours behind that of the operator: a token that was just issued is not old. */
import { afterEach, expect, it } from 'vitest';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { isIdle, untilSettled } from './inspect.ts';
import type { Answer } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

const HOURS = 3_600_000;
const agent = { kind: 'TunnelCredential', name: 'agent' } as const;

let stage: Stage;
afterEach(() => stage.close());

/** As if the clock of the API were behind. */
function slowed(answer: Answer, ms: number): Answer {
  const text = answer.body.toString();
  const times = /(?<="created_at":")[^"]+/g;
  const earlier = (time: string) => new Date(Date.parse(time) - ms);
  return {
    ...answer,
    headers: { ...answer.headers, date: earlier(String(answer.headers.date)).toUTCString() },
    body: Buffer.from(text.replace(times, (time) => earlier(time).toISOString())),
  };
}

it('is rotated by its age, which only the API can tell', async () => {
  stage = await openStage();
  await stage.prepareProxy();
  stage.proxy().intercept(async ({ target }, forward) => {
    const answer = await forward();
    return target === 'api' ? slowed(answer, 5 * HOURS) : answer;
  });
  await (await stage.startOperator()).untilReconciling();
  await stage.apply({ ...agent, spec: { description: 'an agent', rotation: { interval: '1h', overlap: '0s' } } });
  await untilSettled(stage);
  const ids = async () => (await Array.fromAsync(stage.client.credentials.list())).map(({ id }) => id);
  const before = await ids();
  await stage.annotate(agent, { [ANNOTATION.reconcileRequestedAt]: 'now' });
  await untilSettled(stage);
  expect(await ids()).toEqual(before);

  await stage.query("update credentials set created_at = created_at - interval '2 hours'");
  await stage.annotate(agent, { [ANNOTATION.reconcileRequestedAt]: 'again' });
  await waitFor('the rotation', async () => !(await ids()).includes(before[0] ?? '') && (await isIdle(stage)));
  await untilSettled(stage);
  expect(await ids()).toHaveLength(1);
});
