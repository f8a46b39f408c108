/** Every field of every kind: WALKS_SEED repeats a run's choices. `walks.deep.test.ts` walks further. */
import { describe, expect, test } from 'vitest';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { API_KEY, manifest, startStack } from './stack.ts';
import { walk } from './walks.ts';

const SEED = Number(process.env.WALKS_SEED ?? Math.floor(Math.random() * 2 ** 30));

const stack = await startStack({ prefix: 'walks' });
const post = postTo(stack.api.url, API_KEY);
const walked = kindRows.map((row, at) => ({ row, name: row.name, at }));

describe(`a walk through the specs (seed ${SEED})`, () => {
  test.concurrent.for(walked)('of $name', async ({ row, at }, { annotate }) => {
    await annotate(JSON.stringify(await walk(stack, { row, number: at, steps: 6, seed: SEED + at })));
  });
});

describe('every member that was changed in the API behind its back', () => {
  test.concurrent.for(walked)('is set back, and named: $name', async ({ row, at }) => {
    const name = `${row.type.plural}-drifted`;
    const { another, drift } = await row.declare(post, kindRows.length + at);
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
