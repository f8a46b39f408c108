/** Stories of modules: what users do to those of one object, and to two objects that declare some for one resource. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Edit, type ModulesRow, modulesRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { REASON } from '../../src/operator/contract/reasons.ts';
import { partsOfId } from '../../src/operator/kinds/nested-calls.ts';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { isIdle } from './inspect.ts';
import type { Cast, Scenario } from './scenarios.ts';

async function listOf({ stage }: Cast, { kind, row, n }: Cast['each'][number], list: string) {
  const declared = (await stage.declare(row, n)).lists?.[list];
  if (!declared) throw new Error(`${kind} has no modules called ${list}`);
  return declared;
}

async function applyList(cast: Cast, list: string): Promise<void> {
  for (const one of cast.each)
    await cast.stage.apply({ kind: one.kind, name: one.name, ...(await listOf(cast, one, list)) });
}

/** Goes through every revision that the resource has had, as the API recorded them. */
async function mustStayGuarded(cast: Cast, since: unknown, { isOpen }: ModulesRow, edit: Edit): Promise<string[]> {
  const { stage, each } = cast;
  const problems = each.map(async (one) => {
    const object = await stage.find(one);
    const { externalId = '' } = object ? readIdentity(object) : {};
    const text = "select payload->'modules' as modules from events where id > $1 and resource_id = $2 order by id";
    const rows = await stage.query(text, [since, partsOfId(externalId).own]);
    const revisions = rows.map(({ modules }) => z.array(z.string()).parse(modules));
    const open = revisions.filter(isOpen).map((modules) => `it was open, with the modules [${modules}]`);
    const [before, after] = [await listOf(cast, one, edit.from), await listOf(cast, one, edit.to)];
    const names = new Set(Object.keys({ ...before.body, ...after.body }));
    const writes = [...names].filter((name) => !isDeepStrictEqual(before.body[name], after.body[name])).length;
    return revisions.length === writes ? open : [...open, `it took ${revisions.length} writes in place of ${writes}`];
  });
  return (await Promise.all(problems)).flat();
}

/** What users do to modules: ends exactly as without a crash, and never lets anybody in meanwhile. */
export const editsOfModules: readonly Scenario[] = modulesRows.flatMap((row) =>
  row.edits.map((edit) => ({
    name: edit.name,
    rows: [row],
    given: (cast: Cast) => applyList(cast, edit.from),
    act: (cast: Cast) => applyList(cast, edit.to),
    always: (cast: Cast, since: unknown) => mustStayGuarded(cast, since, row, edit),
  })),
);

/** What the first has set, and what the second would set in its place. */
const EDIT = { from: 'another', to: 'changed' };

type Second = Cast['each'][number];

function pairOf({ each }: Cast): { first: Pick<Second, 'kind' | 'name'>; second: Second } {
  const [second] = each;
  if (!second) throw new Error('a pair is of some kind');
  return { first: { kind: second.kind, name: `first-${second.n}` }, second };
}

async function createFirst(cast: Cast): Promise<void> {
  const { first, second } = pairOf(cast);
  await cast.stage.apply({ ...first, ...(await listOf(cast, second, EDIT.from)) });
}

async function createSecond(cast: Cast): Promise<void> {
  const { second } = pairOf(cast);
  const { kind, name } = second;
  await cast.stage.apply({ kind, name, ...(await listOf(cast, second, EDIT.to)) });
}

/** Which is refused while the first is there. */
async function createRefused(cast: Cast): Promise<void> {
  const { stage } = cast;
  const { second } = pairOf(cast);
  await createSecond(cast);
  await waitFor('the second to be refused', async () => {
    const object = await stage.find(second);
    const ready = object && findCondition(readStatus(object).conditions ?? [], 'Ready');
    return ready?.reason === REASON.managementConflict && (await isIdle(stage));
  });
}

const before = { given: createFirst, besides: createRefused };

const deletesOne = (row: ModulesRow): Scenario => ({
  ...before,
  name: `deletes one of two ${row.name}`,
  rows: [row],
  act: (cast) => cast.stage.remove(pairOf(cast).first),
});

const deletesBoth = (row: ModulesRow): Scenario => ({
  ...before,
  name: `deletes two ${row.name}`,
  rows: [row],
  act: async (cast) => {
    const { first, second } = pairOf(cast);
    await Promise.all([first, second].map((each) => cast.stage.remove(each)));
  },
});

/** The other one takes over. */
export const takeovers: readonly Scenario[] = modulesRows.map(deletesOne);

/** Neither leaves the modules to the other. */
export const departures: readonly Scenario[] = modulesRows.map(deletesBoth);
