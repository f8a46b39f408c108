/** The clock of the API is not that of the operator: a token that was just issued is not old, nor is an old one new. */
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

/** As if the clock of the API, which is that of this process, were another. */
function setClock(shown: (at: number) => number): void {
  stage.proxy().intercept(async ({ target }, forward) => {
    const answer = await forward();
    return target === 'api' ? atAnotherTime(answer, (at) => new Date(shown(at))) : answer;
  });
}

function atAnotherTime(answer: Answer, shown: (at: number) => Date): Answer {
  const text = answer.body.toString();
  const times = /(?<="created_at":")[^"]+/g;
  return {
    ...answer,
    headers: { ...answer.headers, date: shown(Date.now()).toUTCString() },
    body: Buffer.from(text.replace(times, (time) => shown(Date.parse(time)).toISOString())),
  };
}

const ids = async () => (await Array.fromAsync(stage.client.credentials.list())).map(({ id }) => id);

async function start(shown: (at: number) => number): Promise<string[]> {
  stage = await openStage();
  await stage.prepareProxy();
  setClock(shown);
  await (await stage.startOperator()).untilReconciling();
  await stage.apply({ ...agent, spec: { description: 'an agent', rotation: { interval: '1h', overlap: '0s' } } });
  await untilSettled(stage);
  return ids();
}

const rotated = (before: string[]) =>
  waitFor('the rotation', async () => !(await ids()).includes(before[0] ?? '') && (await isIdle(stage)));

it('is rotated by its age, which only the API can tell', async () => {
  const before = await start((at) => at - 5 * HOURS);
  await stage.annotate(agent, { [ANNOTATION.reconcileRequestedAt]: 'now' });
  await untilSettled(stage);
  expect(await ids()).toEqual(before);

  await stage.query("update credentials set created_at = created_at - interval '2 hours'");
  await stage.annotate(agent, { [ANNOTATION.reconcileRequestedAt]: 'again' });
  await rotated(before);
  await untilSettled(stage);
  expect(await ids()).toHaveLength(1);
});

it('is rotated in time by an operator that was started in between', async () => {
  let passedAt = Number.POSITIVE_INFINITY;
  const before = await start((at) => at + (at < passedAt ? 5 : 7) * HOURS);
  await stage.operator().kill();
  passedAt = Date.now();
  await stage.startOperator();
  await rotated(before);
  await untilSettled(stage);
  expect(await ids()).toHaveLength(1);
});
