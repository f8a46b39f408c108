/** The most delicate scenarios: the operator is killed while it creates or rotates a token. The other tiers run the others. */
import { describe, expect, it } from 'vitest';
import { chains, check, isRead, type Point } from './kill-points.ts';
import { rotateInPlace, undisturbedButFor } from './scenarios.ts';

const scenarios = [
  {
    ...undisturbedButFor.createCredential,
    at: 'call',
    choose: (points: Point[]) => points,
    call: 'api POST /credentials',
  },
  {
    ...rotateInPlace,
    at: 'write',
    choose: (points: Point[]) => points.filter((point) => !isRead(point)),
    call: 'api POST /event_destinations/<id>/rotate_secret',
  },
];
const stages = await chains(3);

describe('the operator survives being killed', { timeout: 240_000 }, () => {
  it.for(scenarios)('at every $at while it $name', async ({ call, choose, ...scenario }) => {
    const { failures, met, points } = await check(stages, scenario, { isExact: true, choose });
    expect(failures).toEqual([]);
    expect(points.filter((point) => !met.includes(point))).toEqual([]);
    expect(points.map((point) => point.call)).toContain(call);
  });
});
