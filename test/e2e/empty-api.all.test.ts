/** The API has lost everything, and the cluster nothing: docs/operations.md says that everything is created anew. */
import { expect, test } from 'vitest';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { expectTied } from './everything.ts';
import { eventually, ROOT, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'before' });
const empty = await startStack({ prefix: 'after', operators: 0 });

const PLURALS = allKinds.map(({ plural }) => `${plural}.tunnel-operator.dev`).join(',');

async function allReady(): Promise<void> {
  const waited = await stack.run('wait', 'tunnels', '--all', '--for=condition=Ready', '--timeout=60s');
  expect(waited).toMatchObject({ code: 0 });
}

async function shownIds(): Promise<string[]> {
  return (await stack.run('get', PLURALS, '-o', 'jsonpath={.items[*].status.id}')).stdout.split(' ');
}

test('an empty API gets a resource for every object, and tokens that work there', { timeout: 180_000 }, async () => {
  await stack.run('apply', '-f', `${ROOT}examples/everything.yaml`);
  await allReady();
  const before = await shownIds();
  expect(before.length).toBeGreaterThanOrEqual(allKinds.length);

  const { id } = (await empty.client.whoami()).owner;
  await stack.restart(undefined, { apiUrl: empty.api.url, acceptNewOwner: id });
  await eventually(async () => {
    const found = await shownIds();
    expect(found).toHaveLength(before.length);
    expect(found.filter((each) => before.includes(each))).toEqual([]);
  }, 90_000);
  await allReady();
  // Modules have the id of what they are set at.
  expect((await empty.remoteIds()).toSorted()).toEqual([...new Set(await shownIds())].toSorted());
  await expectTied(stack, empty.client);
  expect(await empty.accepts((await stack.secret('store-agents'))?.token)).toBe(true);
});
