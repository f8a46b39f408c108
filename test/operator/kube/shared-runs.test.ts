import { expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { SharedRuns } from '../../../src/operator/kube/shared-runs.ts';

test('callers of one key share a run that begins after their call, even if the run before it fails', async () => {
  const runs = new SharedRuns();
  const begun: PromiseWithResolvers<void>[] = [];
  const done: string[] = [];
  const ask = (who: string, key = 'one') => {
    const work = () => {
      const gate = Promise.withResolvers<void>();
      begun.push(gate);
      return gate.promise;
    };
    return runs.run(key, work).then(
      () => done.push(who),
      () => done.push(`not ${who}`),
    );
  };
  const [first, second, third, other] = [ask('first'), ask('second'), ask('third'), ask('other', 'two')];
  expect(begun).toHaveLength(2);
  begun[1]?.resolve();
  await other;
  begun[0]?.reject(new Error('failed'));
  await first;
  await waitFor('the next run', () => begun.length === 3);
  const fourth = ask('fourth');
  expect(done).toEqual(['other', 'not first']);
  begun[2]?.resolve();
  await Promise.all([second, third]);
  await waitFor('the last run', () => begun.length === 4);
  begun[3]?.resolve();
  await fourth;
  expect(done).toEqual(['other', 'not first', 'second', 'third', 'fourth']);
  void ask('last');
  expect(begun).toHaveLength(5);
});
