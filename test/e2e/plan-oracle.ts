/**
 * Checks that applying a file changes in the API exactly what the command `plan` announced for it. Each file contains
 * objects of every kind, edited since the file before. Only for test files.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { manifest } from './manifest.ts';
import { type Edit, type Life, livesOfEveryKind } from './plan-lives.ts';
import type { Found } from './plan-subjects.ts';
import { startPlanning } from './planning.ts';

/** PLAN_SEED repeats the choices of a run. */
const SEED = Number(process.env.PLAN_SEED ?? Math.floor(Math.random() * 2 ** 30));

/** @param which whether each kind has an object for every series of edits, or for one series, taken in turn */
export async function agreeAboutEveryKind(prefix: string, which: 'every' | 'in turn') {
  const { stack, planned, applied } = await startPlanning(prefix);
  const { kube, namespace } = stack;
  const lives = await livesOfEveryKind(stack, { which, seed: SEED });

  describe(`a plan and what is applied (seed ${SEED})`, () => {
    const edits = Math.max(...lives.map((each) => each.edits.length));
    test.for(Array.from({ length: edits }, (_, at) => at))('are the same for edit %i', async (at) => {
      const edited = lives.flatMap(({ edits, ...life }) => edits.slice(at, at + 1).map((edit) => ({ ...life, edit })));
      await Promise.all(
        edited.map(async ({ row, name, edit }) => {
          if (edit.meanwhile) await edit.meanwhile(String((await stack.see(row.type, name)).status.id));
        }),
      );
      const files = edited.flatMap(({ row, name, edit }) => [
        ...edit.objects,
        manifest(row.name, name, edit.spec, edit.annotations),
      ]);
      const before = await Promise.all(edited.map((each) => found(each)));
      const { code, objects } = await planned(files, { allowUserApiKeys: true });
      const events = await applied(...files);
      const after = await Promise.all(edited.map((each, index) => found(each, before[index])));

      const done = edited.map(({ name, subject }, index) => ({ name, ...subject.done(before[index], after[index]) }));
      const said = objects.map(({ name, action, changes }, index) => {
        const paths = changes.map(({ path }) => path);
        return { name, ...edited[index]?.subject.said(action, paths, before[index], after[index]) };
      });
      expect(said).toEqual(done);
      // Resources are written if and only if their object was to change.
      const writing = done.flatMap(({ action }, index) =>
        action === 'none' ? [] : [idsOf(before[index], after[index])],
      );
      expect(events.filter(({ resource_id }) => !writing.flat().includes(resource_id))).toEqual([]);
      expect(writing.filter((ids) => !events.some(({ resource_id }) => ids.includes(resource_id)))).toEqual([]);
      expect(code).toBe(events.length > 0 ? 2 : 0);
    });
  });

  async function found({ row, name, subject, edit }: Omit<Life, 'edits'> & { edit: Edit }, earlier?: Found) {
    const { id } = shown.parse((await kube.find(row.type, name, namespace))?.status ?? {});
    return subject.find(edit, id, earlier);
  }
}

/** Ids as API events name them: without the parent's id. */
const idsOf = (...found: readonly (Found | undefined)[]) =>
  found.flatMap((each) => each?.ids ?? []).map((id) => id.split('/').at(-1));

const shown = z.object({ id: z.string().optional() });
