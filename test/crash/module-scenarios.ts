/** Edits of modules that an operator can be killed in. */
import { isDeepStrictEqual } from 'node:util';
import { type Edit, type ModulesRow, modulesRows } from '../../dev/fixtures/story-rows.ts';
import { partsOfId } from '../../src/operator/kinds/nested-calls.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import { revisionsOf } from './module-revisions.ts';
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

/** Checks every revision of the resource that the API recorded. */
async function mustStayGuarded(cast: Cast, since: unknown, { isOpen }: ModulesRow, edit: Edit): Promise<string[]> {
  const { stage, each } = cast;
  const problems = each.map(async (one) => {
    const object = await stage.find(one);
    const { externalId = '' } = object ? readIdentity(object) : {};
    const text = 'select type from events where id > $1 and resource_id = $2 order by id';
    const rows = await stage.query(text, [since, partsOfId(externalId).own]);
    const [before, after] = [await listOf(cast, one, edit.from), await listOf(cast, one, edit.to)];
    const revisions = revisionsOf(Object.keys(before.body), rows);
    const open = revisions.filter(isOpen).map((modules) => `it was open, with the modules [${modules}]`);
    const names = new Set(Object.keys({ ...before.body, ...after.body }));
    const writes = [...names].filter((name) => !isDeepStrictEqual(before.body[name], after.body[name])).length;
    return revisions.length === writes ? open : [...open, `it took ${revisions.length} writes instead of ${writes}`];
  });
  return (await Promise.all(problems)).flat();
}

/** Edits of modules: they end exactly as undisturbed, and never leave the resource open in between. */
export const editsOfModules: readonly Scenario[] = modulesRows.flatMap((row) =>
  row.edits.map((edit) => ({
    name: edit.name,
    rows: [row],
    given: (cast: Cast) => applyList(cast, edit.from),
    act: (cast: Cast) => applyList(cast, edit.to),
    always: (cast: Cast, since: unknown) => mustStayGuarded(cast, since, row, edit),
  })),
);
