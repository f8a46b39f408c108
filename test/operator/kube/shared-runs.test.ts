/** Work that several ask for at the same time. */
import { expect, test } from 'vitest';
import { SharedRuns } from '../../../src/operator/kube/shared-runs.ts';

/** Work that ends when the test says so. */
function workToEnd() {
  const begun: PromiseWithResolvers<void>[] = [];
  const work = () => {
    const run = Promise.withResolvers<void>();
    begun.push(run);
    return run.promise;
  };
  return { begun, work };
}

const turn = () => new Promise<void>((done) => setImmediate(done));

test('those that ask while work is under way share the next run, which begins after it', async () => {
  const runs = new SharedRuns();
  const { begun, work } = workToEnd();
  const first = runs.run('a', work);
  const others = [runs.run('a', work), runs.run('a', work)];
  expect([others[0] === others[1], begun.length]).toEqual([true, 1]);
  begun[0]?.resolve();
  await first;
  await turn();
  expect(begun).toHaveLength(2);
  begun[1]?.resolve();
  await Promise.all(others);
  expect(begun).toHaveLength(2);
});

test('those that ask during the next run share the one after that', async () => {
  const runs = new SharedRuns();
  const { begun, work } = workToEnd();
  const all = [runs.run('a', work), runs.run('a', work)];
  begun[0]?.resolve();
  await turn();
  all.push(runs.run('a', work), runs.run('a', work));
  expect(begun).toHaveLength(2);
  begun[1]?.resolve();
  await turn();
  expect(begun).toHaveLength(3);
  begun[2]?.resolve();
  await Promise.all(all);
});

test('work that fails fails for those who share it, and is done again for those who come later', async () => {
  const runs = new SharedRuns();
  const { begun, work } = workToEnd();
  const failing = expect(runs.run('a', work)).rejects.toThrow('failed');
  const next = runs.run('a', work);
  begun[0]?.reject(new Error('failed'));
  await failing;
  await turn();
  begun[1]?.resolve();
  await next;
  const later = runs.run('a', work);
  expect(begun).toHaveLength(3);
  begun[2]?.resolve();
  await later;
});

test('work of one key waits for no other', () => {
  const runs = new SharedRuns();
  const { begun, work } = workToEnd();
  void runs.run('a', work);
  void runs.run('b', work);
  expect(begun).toHaveLength(2);
});
