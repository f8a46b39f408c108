/**
 * A failover to an API server that is behind: another operator has done the work since, and this one starts with the
 * objects as they were before. Only for test files.
 */
import { expect } from 'vitest';
import { type StoryRow, storyRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { isIdle, untilSettled } from './inspect.ts';
import type { Answer } from './proxy.ts';
import type { Stage } from './stage.ts';

/** What has happened to an object meanwhile. */
export const FATES = ['edited', 'deleted', 'made anew'] as const;
type Fate = (typeof FATES)[number];

interface Actor {
  readonly kind: string;
  readonly name: string;
  readonly row: StoryRow;
  readonly n: number;
}

const lists = /^\/apis\/tunnel-operator\.dev\/[^/]+\/namespaces\/[^/]+\/[^/]+$/;

/**
 * Performs it with objects of all kinds, and checks that the operator then changes nothing at all in the API.
 * @param has whether there is an object with the fate of the nth kind
 */
export async function failOverToThePast(stage: Stage, has: (fate: Fate, nth: number) => boolean): Promise<void> {
  const cast = (fate: Fate): Actor[] =>
    storyRows.flatMap((row, nth) => {
      const name = `${fate.replace(' ', '-')}-${row.type.plural}`;
      return has(fate, nth) ? [{ kind: row.name, name, row, n: FATES.indexOf(fate) }] : [];
    });
  const [edited, deleted, anew] = [cast('edited'), cast('deleted'), cast('made anew')];
  const apply = async (which: 'another' | 'changed', actors: readonly Actor[]) => {
    for (const { kind, name, row, n } of actors) {
      await stage.apply({ kind, name, ...(await stage.declare(row, n))[which] });
    }
  };
  await apply('another', [...edited, ...deleted, ...anew]);
  await untilSettled(stage, 60_000);

  const known = new Map<string, Answer>();
  const { watches } = stage.proxy();
  stage.proxy().intercept(async ({ method, path }, forward) => {
    const answer = await forward();
    if (method === 'GET' && lists.test(path)) known.set(path, answer);
    return answer;
  });
  await stage.operator().kill();
  await (await stage.startOperator()).untilReconciling();
  await untilSettled(stage);
  expect(known.size).toBe(allKinds.length);
  await stage.operator().kill();
  stage.leave(0);

  const other = await stage.startOperator(1);
  await other.untilReconciling();
  await apply('changed', edited);
  for (const actor of [...deleted, ...anew]) await stage.remove(actor);
  await untilSettled(stage, 60_000);
  await apply('another', anew);
  await untilSettled(stage, 60_000);
  await other.kill();
  stage.leave(1);
  const before = await eventsOf(stage);

  watches.hold();
  stage.proxy().intercept(async ({ method, path }, forward) => {
    const past = method === 'GET' ? known.get(path) : undefined;
    return past ?? forward();
  });
  await (await stage.startOperator()).untilReconciling();
  await waitFor('the end of what it does by what it knows', () => isIdle(stage));
  stage.proxy().intercept();
  watches.release();
  await untilSettled(stage);
  expect((await eventsOf(stage)).slice(before.length)).toEqual([]);
}

async function eventsOf(stage: Stage): Promise<string[]> {
  const rows = await stage.query('select type, resource_id from events order by id');
  return rows.map(({ type, resource_id }) => `${type} ${resource_id}`);
}
