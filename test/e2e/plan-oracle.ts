/**
 * Whether applying a file and a reconcile change at the API what the command `plan` has said of it, and nothing else.
 * Objects of every kind are edited from file to file; all of them are in one file. Only for test files.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Declaration, type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { fromSecret } from '../../dev/fixtures/source-texts.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { ifExists } from '../../src/operator/kinds/external-of-family.ts';
import type { Remote } from '../../src/operator/managed/external.ts';
import { startPlanning } from './planning.ts';
import { API_KEY, manifest } from './stack.ts';

interface Edit extends Pick<Declaration, 'spec' | 'objects'> {
  annotations?: Record<string, string>;
  /** What somebody does at the API before it is planned. */
  meanwhile?(id: string): Promise<unknown>;
}

/** One object, and what becomes of it. */
interface Life {
  readonly row: KindRow;
  readonly name: string;
  readonly edits: readonly Edit[];
}

const paused = { [ANNOTATION.paused]: 'true' };
const resumed = { [ANNOTATION.paused]: 'false' };
const rotate = { [ANNOTATION.rotateRequestedAt]: 'today' };
const rotateAgain = { [ANNOTATION.rotateRequestedAt]: 'tomorrow' };

const but = ({ spec, objects }: Edit, policies: Record<string, string>): Edit => ({
  spec: { ...spec, ...policies },
  objects,
});

/** @param which whether each kind has an object for every series of edits, or one of them in turn */
export async function agreeAboutEveryKind(prefix: string, which: 'every' | 'in turn') {
  const { stack, planned, applied } = await startPlanning(prefix);
  const { client, kube, namespace } = stack;
  const post = postTo(stack.api.url, API_KEY);
  const lives = (await Promise.all(kindRows.map(livesOf))).flat();

  describe('a plan and what is applied', () => {
    const edits = Math.max(...lives.map((each) => each.edits.length));
    test.for(Array.from({ length: edits }, (_, at) => at))('are the same, edit %i', async (at) => {
      const edited = lives.flatMap(({ edits, ...life }) => edits.slice(at, at + 1).map((edit) => ({ ...life, edit })));
      await Promise.all(
        edited.map(async ({ row, name, edit }) => {
          if (edit.meanwhile) await edit.meanwhile(String((await stack.see(row.type, name)).status.id));
        }),
      );
      const files = edited.flatMap(({ row, name, edit }) => [
        ...edit.objects,
        manifest(row, name, edit.spec, edit.annotations),
      ]);
      const before = await Promise.all(edited.map(remoteOf));
      const { code, objects } = await planned(files, { allowUserApiKeys: true });
      const events = await applied(...files);
      const after = await Promise.all(edited.map(remoteOf));

      const said = objects.map(({ name, action, changes }) => {
        const members = action === 'create' ? [] : changes.map(({ path }) => memberIn(path));
        return { name, action, members: [...new Set(members)].sort() };
      });
      expect(said).toEqual(edited.map(({ row, name }, index) => ({ name, ...done(row, before[index], after[index]) })));
      // Nobody else has changed anything, and who is to change nothing has not.
      const writing = said.flatMap(({ action }, index) => (action === 'none' ? [] : [before[index], after[index]]));
      const written = writing.flatMap((each) => each?.id.split('/').at(-1) ?? []);
      expect(events.filter(({ resource_id }) => !written.includes(resource_id))).toEqual([]);
      expect(code).toBe(events.length > 0 ? 2 : 0);
    });
  });

  async function livesOf(row: KindRow, at: number): Promise<Life[]> {
    const calls = row.kind.calls(client);
    const names = ['edited', 'moved', 'adopting', ...(row.hasSources ? ['sourced'] : [])];
    // What hands out something differs most.
    const inTurn = [at, ...(row.kind.delivery ? [at + 1] : [])].map((index) => index % names.length);
    const lived = which === 'every' ? names : names.filter((_, index) => inTurn.includes(index));
    return Promise.all(
      lived.map(async (life) => {
        const number = 1 + at * 10 + names.indexOf(life);
        const declared = await row.declare(post, number, life === 'sourced' ? fromSecret : undefined);
        return { row, name: `${row.type.plural}-${life}`, edits: await editsOf(life, declared) };
      }),
    );

    async function editsOf(life: string, declared: Awaited<ReturnType<KindRow['declare']>>): Promise<Edit[]> {
      const { least, another, changed, steps, drift } = declared;
      const [grown = least, grownAndChanged = least] = steps;
      if (life === 'sourced') return [another, changed, changed, another];
      if (life === 'edited') {
        return [
          least,
          { ...but(grown, { deletionPolicy: 'Retain' }), annotations: rotate },
          grown,
          { ...grownAndChanged, annotations: paused },
          { ...grownAndChanged, meanwhile: (id) => calls.update(id, drift) },
        ];
      }
      if (life === 'moved') {
        return [
          another,
          { ...another, annotations: rotate },
          but(changed, { managementPolicy: 'Observe' }),
          changed,
          { ...another, annotations: rotateAgain, meanwhile: (id) => calls.delete(id) },
        ];
      }
      const adopt = { [ANNOTATION.adopt]: (await calls.create(another.body)).id };
      return [
        { ...but(changed, { managementPolicy: 'Observe' }), annotations: adopt },
        { ...changed, annotations: { ...adopt, ...rotate } },
        changed,
        { ...another, annotations: paused },
        { ...another, annotations: resumed },
      ];
    }
  }

  /** The resource of the object as it is, or the one that is to be the object's. */
  async function remoteOf({ row, name, edit }: Omit<Life, 'edits'> & { edit: Edit }): Promise<Remote | undefined> {
    const { id } = shown.parse((await kube.find(row.type, name, namespace))?.status ?? {});
    const wanted = id ?? edit.annotations?.[ANNOTATION.adopt];
    return wanted === undefined ? undefined : ifExists(row.kind.calls(client).get(wanted));
  }
}

const shown = z.object({ id: z.string().optional() });

/** What was done, in the words of a plan. */
function done({ kind }: KindRow, before: Remote | undefined, after: Remote | undefined) {
  if (!before) return { action: after ? 'create' : 'none', members: [] };
  const [old, now] = [before, after].map((each) => new Map<string, unknown>(Object.entries(each ?? {})));
  const differing = kind.fields.filter(
    ({ shownAs }) => JSON.stringify(old?.get(shownAs)) !== JSON.stringify(now?.get(shownAs)),
  );
  const members = differing.map(({ member }) => member).sort();
  if (before.id !== after?.id) return { action: 'replace', members };
  return { action: members.length > 0 ? 'change' : 'none', members };
}

/** `rules` of `spec.rules[10.0.0.0/8].action`. */
const memberIn = (path: string) => path.split(/[.[]/)[1] ?? '';
