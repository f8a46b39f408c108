/** A part of what `kill-points.deep.test.ts` goes through in full. */
import { describe, expect, it } from 'vitest';
import { chains, check, type KillPoint } from './kill-points.ts';
import { editsOfModules } from './modules.ts';
import { disturbedToo, undisturbedButFor, withEveryKind } from './scenarios.ts';

const { createCredential: _, ...others } = undisturbedButFor;
/** How many points are killed at side by side. */
const STAGES = 3;
const stages = await chains(STAGES);

/** Every n-th, from one that differs between scenarios, so that together they meet many different calls. */
const everyNth = (n: number, first: number) => (points: KillPoint[]) =>
  points.filter((_, index) => index % n === first % n);

/** As many as are killed at side by side: a round. */
const few = (first: number) => (points: KillPoint[]) =>
  everyNth(Math.max(1, Math.ceil(points.length / STAGES)), first)(points);

/** Every third of these stories, each with its place. */
const everyThird = <T extends object>(scenarios: readonly T[]) =>
  scenarios.map((scenario, index) => ({ ...scenario, index })).filter(({ index }) => index % 3 === 0);

const writes = (points: KillPoint[]) => points.filter(({ call }) => /^api (POST|PATCH|PUT|DELETE) /.test(call));

/** Those with two writes. */
const editsOfTwo = editsOfModules.filter(({ name }) => / to | and /.test(name));

describe('the operator survives being killed', { timeout: 240_000 }, () => {
  it.for(everyThird(Object.values(others)))('at some calls while it $name', async ({ index, ...scenario }) => {
    const report = await check(stages, scenario, { isExact: true, choose: few(index) });
    expect(report.failures).toEqual([]);
    expect(report.missed).toEqual([]);
  });

  // The others are in kill-points.deep.test.ts, one kind at a time.
  const [first, last] = [withEveryKind.createEach, withEveryKind.deleteEach];
  it.for([first, last].map((scenario, index) => ({ ...scenario, index })))(
    'at some calls while it $name',
    async ({ index, ...scenario }) => {
      const report = await check(stages, scenario, { isExact: true, choose: few(index) });
      expect(report.failures).toEqual([]);
      expect(report.missed).toEqual([]);
    },
  );

  it.for(everyThird(editsOfTwo))('at some writes while it $name', async ({ index, ...scenario }) => {
    const report = await check(stages, scenario, { isExact: true, choose: (points) => few(index)(writes(points)) });
    expect(report.failures).toEqual([]);
    expect(report.killed.length).toBeGreaterThan(0);
    expect(report.missed).toEqual([]);
  });

  it.for(everyThird(Object.values(disturbedToo)))('at some calls while it $name', async ({ index, ...scenario }) => {
    const report = await check(stages, scenario, { choose: few(index) });
    expect(report.failures).toEqual([]);
    expect(report.missed).toEqual([]);
  });
});
