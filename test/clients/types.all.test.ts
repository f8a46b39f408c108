import { expect, test } from 'vitest';
import { playClient } from '../../dev/clients/play.ts';
import { ToolsUnavailable } from '../../dev/clients/tools.ts';
import { startTarget } from '../../dev/fuzz/run.ts';
import { createTestDatabase } from '../harness.ts';

/** The quickest of those that `npm run test:clients` tries. */
test('types generated from the OpenAPI document fit every family, as do the answers', async ({
  skip,
  onTestFinished,
}) => {
  const target = await startTarget(await createTestDatabase());
  onTestFinished(target.stop);
  await playClient('openapi-typescript', { url: target.url, key: target.admin.key }).catch((error) => {
    if (!(error instanceof ToolsUnavailable)) throw error;
    return skip(error.message);
  });
  expect(target.badLines()).toEqual([]);
}, 300_000);
