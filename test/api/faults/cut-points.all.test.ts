/** Cuts twice per statement; in the deep tier (cut-points.deep.test.ts), at every message. */
import { describe, expect, test } from 'vitest';
import { isDeep } from '../../tier.ts';
import { operations } from './cut-operations.ts';
import { cutEverywhere, EVERYWHERE, openBench, PER_STATEMENT } from './cut-points.ts';
import { brokenInvariants } from './invariants.ts';

const bench = await openBench();

describe('a broken database connection gives a 503, leaves all or none of the change, and a retry settles it:', () => {
  test.for(operations)('$name', async (operation, { annotate }) => {
    const points = await cutEverywhere(bench, operation, isDeep ? EVERYWHERE : PER_STATEMENT);
    expect(points).toBeGreaterThan(3);
    await annotate(`cut at ${points} points`);
    expect(await brokenInvariants(bench.direct.rows)).toEqual([]);
  });
});
