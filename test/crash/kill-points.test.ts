/** The most delicate scenario: the operator is killed while it creates a token. The other tiers run the others. */
import { describe, expect, it } from 'vitest';
import { chains, check } from './kill-points.ts';
import { undisturbedButFor } from './scenarios.ts';

const { createCredential } = undisturbedButFor;
const stages = await chains(3);

describe('the operator survives being killed', { timeout: 240_000 }, () => {
  it(`at every call while it ${createCredential.name}`, async () => {
    const { failures, met, points } = await check(stages, createCredential, { isExact: true });
    expect(failures).toEqual([]);
    expect(points.filter((point) => !met.includes(point))).toEqual([]);
    expect(points.map(({ call }) => call)).toContain('api POST /credentials');
  });
});
