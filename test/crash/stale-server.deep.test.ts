/** What `watch-faults.test.ts` shows with one object of each kind, with each that there can be. */
import { it } from 'vitest';
import { openStage } from './stage.ts';
import { failOverToThePast } from './stale-server.ts';

it('an API server that is behind misleads the operator about no object of any kind', { timeout: 300_000 }, async () => {
  const stage = await openStage();
  await (await stage.startOperator()).untilReconciling();
  await failOverToThePast(stage, () => true);
});
