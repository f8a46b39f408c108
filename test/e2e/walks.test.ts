/**
 * Random walks through the valid and the invalid specs of every kind: each member takes any value that its family's
 * samples and spellings have, or none. After each step the resource is what the API would make of that spec, or the
 * object says which field is in the way; and from wherever it got, it recovers. WALKS_STEPS says how many steps,
 * WALKS_SEED repeats a run's choices.
 */
import { describe, expect, test } from 'vitest';
import { type Choices, type Declaration, type Declarations, type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { type Random, randomFrom } from '../../dev/fixtures/random.ts';
import { API_KEY, eventually, manifest, type Seen, startStack } from './stack.ts';

const SEED = Number(process.env.WALKS_SEED ?? Math.floor(Math.random() * 2 ** 30));
const STEPS = Number(process.env.WALKS_STEPS ?? 6);
const NUMBER = 900;

const stack = await startStack({ prefix: 'walks' });
const post = postTo(stack.api.url, API_KEY);
const walked = kindRows.map((row, at) => ({ row, name: row.name, at }));

/** Ready, or refused for good, in its present generation. */
async function decided({ type }: KindRow, name: string): Promise<Seen> {
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
const writes = async (id: string) => {
  const [row] = await stack.sql(`select count(*) as n from events where resource_id = $1`, [id]);
  return row?.n;
};

describe(`a walk through the specs (seed ${SEED})`, () => {
  test.concurrent.for(walked)('of $name', async ({ row, at }, { annotate }) => {
    const random = randomFrom(SEED + at);
    const name = `${row.type.plural}-walk`;
    const { least, another, choices, choose } = await row.declare(post, NUMBER + at);
    const remote = (id: unknown) => row.kind.calls(stack.client).get(String(id));
    const counts = { ready: 0, rejected: 0, refused: 0 };
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
      const { status, ready } = await decided(row, name);
      if (ready?.status !== 'True') {
        expect(ready?.message).toMatch(/spec\./);
        counts.rejected++;
        return;
      }
      counts.ready++;
      expect(await remote(status.id), JSON.stringify(declaration.spec)).toMatchObject(declaration.remote);
      const before = await writes(String(status.id));
      await stack.reconciled(row.type, name);
      expect(await writes(String(status.id)), 'a second reconcile wrote').toBe(before);
    };

    await step(least);
    for (let n = 0; n < STEPS; n++) {
      last = nextChoice(random, choices, last);
      await step(choose(last));
    }
    const isFixed = row.immutable.some((member) => least.spec[member] !== another.spec[member]);
    const end = isFixed ? least : another;
    await step(end);
    expect(applied).toBe(end);
    const { status } = await stack.ready(row.type, name);
    expect(await remote(status.id)).toMatchObject(end.remote);
    await annotate(JSON.stringify(counts));
    await stack.remove(row.type, name);
    expect(await stack.remoteIds()).not.toContain(status.id);
  });
});

const drifting = kindRows.map((row, at) => ({ row, name: row.name, at }));

describe('every member that was changed in the API behind its back', () => {
  test.concurrent.for(drifting)('is set back, and named: $name', async ({ row, at }) => {
    const name = `${row.type.plural}-drifted`;
    const { another, drift } = await row.declare(post, NUMBER + kindRows.length + at);
    const { update, get } = row.kind.calls(stack.client);
    await stack.apply(...another.objects, manifest(row, name, another.spec));
    const id = String((await stack.ready(row.type, name)).status.id);
    for (const [field, value] of Object.entries(drift)) {
      await update(id, { [field]: value });
      const { synced } = await stack.reconciled(row.type, name);
      expect(synced).toMatchObject({ reason: 'DriftCorrected', message: expect.stringContaining('spec.') });
      expect(await get(id), field).toMatchObject(another.remote);
    }
    await stack.remove(row.type, name);
  });
});
