/**
 * Random walks through the valid and the invalid specs of a kind: each member takes any value that its family's samples
 * and spellings have, or none. Only for test files.
 */
import { expect } from 'vitest';
import type { Choices } from '../../dev/fixtures/field-values.ts';
import type { Declaration, Declarations, KindRow } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { type Random, randomFrom } from '../../dev/fixtures/random.ts';
import { API_KEY, eventually, manifest, type Seen, type Stack } from './stack.ts';

export interface Walk {
  readonly row: KindRow;
  /** That no other object of the stack has. */
  readonly number: number;
  readonly steps: number;
  /** Repeats the choices. */
  readonly seed: number;
}

/** How many steps ended how: refused by the definition or, later, by the API. */
export interface Steps {
  ready: number;
  rejected: number;
  refused: number;
}

/**
 * Walks. After each step the resource is what the API would make of that spec, and is not written again; or the object says
 * which field is in the way. From wherever it got, it recovers, and is deleted.
 */
export async function walk(stack: Stack, { row, number, steps, seed }: Walk): Promise<Steps> {
  const random = randomFrom(seed);
  const name = `${row.type.plural}-walk`;
  const { least, another, choices, choose } = await row.declare(postTo(stack.api.url, API_KEY), number);
  const remote = (id: unknown) => row.kind.calls(stack.client).get(String(id));
  const counts: Steps = { ready: 0, rejected: 0, refused: 0 };
  let [applied, last]: [Declaration | undefined, Choice] = [undefined, {}];

  const step = async (declaration: Declaration) => {
    const { code, stderr } = await stack.tryApply({
      apiVersion: 'v1',
      kind: 'List',
      items: [...declaration.objects, manifest(row, name, declaration.spec)],
    });
    if (code !== 0) {
      // The schema or a rule of the definition; what was there stays as it was.
      expect(stderr).toMatch(/spec\b/);
      // It is no stricter than the API.
      const created = row.kind.calls(stack.client).create(declaration.body);
      await expect(created, stderr).rejects.toMatchObject({ status: 400 });
      counts.refused++;
      return;
    }
    applied = declaration;
    const { status, ready } = await decided(stack, row, name);
    if (ready?.status !== 'True') {
      expect(ready?.message).toMatch(/spec\./);
      counts.rejected++;
      return;
    }
    counts.ready++;
    expect(await remote(status.id), JSON.stringify(declaration.spec)).toMatchObject(declaration.remote);
    const before = await writes(stack, String(status.id));
    await stack.reconciled(row.type, name);
    expect(await writes(stack, String(status.id)), 'a second reconcile wrote').toBe(before);
  };

  await step(least);
  for (let n = 0; n < steps; n++) {
    last = nextChoice(random, choices, last);
    await step(choose(last));
  }
  const isFixed = row.immutable.some((member) => least.spec[member] !== another.spec[member]);
  const end = isFixed ? least : another;
  await step(end);
  expect(applied).toBe(end);
  const { status } = await stack.ready(row.type, name);
  expect(await remote(status.id)).toMatchObject(end.remote);
  await stack.remove(row.type, name);
  await expect(remote(status.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  return counts;
}

/** Ready, or refused for good, in its present generation. */
async function decided(stack: Stack, { type }: KindRow, name: string): Promise<Seen> {
  return eventually(async () => {
    const seen = await stack.see(type, name);
    const { generation } = seen.object.metadata;
    expect(seen.ready).toMatchObject({ observedGeneration: generation });
    expect(['True/Available', 'False/Rejected'], seen.ready?.message).toContain(
      `${seen.ready?.status}/${seen.ready?.reason}`,
    );
    return seen;
  });
}

function nextChoice({ below, chance, oneOf }: Random, choices: readonly Choices[], last: Choice): Choice {
  const change = choices.length === 0 ? undefined : oneOf(choices).name;
  const next = choices.map(({ name, spellings }) => {
    const stays = name !== change && name in last && chance(0.7);
    return [name, stays ? last[name] : spellings[below(spellings.length)]] as const;
  });
  return Object.fromEntries(next);
}
type Choice = Parameters<Declarations['choose']>[0];

/** How often the resource was written to. */
async function writes(stack: Stack, id: string): Promise<number> {
  const [row] = await stack.sql('select count(*)::int as n from events where resource_id = $1', [id]);
  return Number(row?.n);
}
