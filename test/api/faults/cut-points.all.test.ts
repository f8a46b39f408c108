/** Twice per statement; cut-points.deep.test.ts does it at every message. */
import { describe, expect, test } from 'vitest';
import { operations } from './cut-operations.ts';
import { cutEverywhere, openBench, PER_STATEMENT } from './cut-points.ts';
import { brokenInvariants } from './invariants.ts';

const bench = await openBench();

describe('a connection to the database that breaks in the middle is 503, leaves all or nothing, and a repetition settles it:', () => {
  test.for(operations)('$name', async (operation, { annotate }) => {
    const points = await cutEverywhere(bench, operation, PER_STATEMENT);
    expect(points).toBeGreaterThan(3);
    await annotate(`cut at ${points} points`);
    expect(await brokenInvariants(bench.direct.rows)).toEqual([]);
  });
});
