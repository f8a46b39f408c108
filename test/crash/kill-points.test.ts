/** A part of what `kill-points.deep.test.ts` goes through in full. */
import { describe, expect, it } from 'vitest';
import { chains, check, type KillPoint } from './kill-points.ts';
import { editsOfModules, successions } from './modules.ts';
import { disturbedToo, undisturbedButFor, withEveryKind } from './scenarios.ts';
import { swaps } from './swaps.ts';

const { createCredential, ...others } = undisturbedButFor;
const stages = await chains(3);

/** Every n-th, from one that differs between scenarios, so that together they meet many different calls. */
const everyNth = (n: number, first: number) => (points: KillPoint[]) =>
  points.filter((_, index) => index % n === first % n);

/** Every eleventh, or fewer where a start makes a hundred calls. */
const few = (first: number) => (points: KillPoint[]) =>
  everyNth(Math.max(11, Math.ceil(points.length / 4)), first)(points);

/** As many, whatever the number of kinds. */
const some = (count: number, first: number) => (points: KillPoint[]) =>
  everyNth(Math.max(1, Math.floor(points.length / count)), first)(points);

const writes = (points: KillPoint[]) => points.filter(({ call }) => /^api (POST|PATCH|PUT|DELETE) /.test(call));

/** Those with two writes. */
const editsOfTwo = editsOfModules.filter(({ name }) => / to | and /.test(name));

describe('the operator survives being killed', { timeout: 240_000 }, () => {
  it(`at every call while it ${createCredential.name}`, async () => {
    const { failures, killed, points } = await check(stages, createCredential, { isExact: true });
    expect(failures).toEqual([]);
    expect(points.filter((point) => !killed.includes(point))).toEqual([]);
    expect(new Set(killed.map(({ call }) => call))).toEqual(
      new Set([
        'kube PATCH /tunnelcredentials/agent',
        'kube POST /secrets?dryRun=All',
        'api POST /credentials',
        'kube POST /secrets',
        'kube PATCH /tunnelcredentials/agent #2',
        'kube PATCH /tunnelcredentials/agent/status',
        'kube POST /events',
      ]),
    );
  });

  it.for(Object.values(others).map((scenario, index) => ({ ...scenario, index })))(
    'at some calls while it $name',
    async ({ index, ...scenario }) => {
      const report = await check(stages, scenario, { isExact: true, choose: few(index) });
      expect(report.failures).toEqual([]);
      expect(report.points.filter((point) => !report.killed.includes(point))).toEqual([]);
    },
  );

  it.for(Object.values(withEveryKind).map((scenario, index) => ({ ...scenario, index })))(
    'at some calls while it $name',
    async ({ index, ...scenario }) => {
      const report = await check(stages, scenario, { isExact: true, choose: some(3, index) });
      expect(report.failures).toEqual([]);
      expect(report.points.filter((point) => !report.killed.includes(point))).toEqual([]);
    },
  );

  it.for(editsOfTwo)('at every write while it $name', async (scenario) => {
    const report = await check(stages, scenario, { isExact: true, choose: writes });
    expect(report.failures).toEqual([]);
    expect(report.killed.length).toBeGreaterThan(0);
    expect(report.points.filter((point) => !report.killed.includes(point))).toEqual([]);
  });

  // Each takes a start with every kind; the others are in kill-points.deep.test.ts.
  it.for(successions.slice(0, 1).map((scenario, index) => ({ ...scenario, index })))(
    'at some changes of an object while it $name',
    async ({ index, ...scenario }) => {
      const changes = (points: KillPoint[]) => points.filter(({ call }) => /^kube PATCH \/\w+modules\//.test(call));
      const report = await check(stages, scenario, {
        isExact: true,
        choose: (points) => some(3, index)(changes(points)),
      });
      expect(report.failures).toEqual([]);
      expect(report.killed.length).toBeGreaterThan(0);
      expect(report.points.filter((point) => !report.killed.includes(point))).toEqual([]);
    },
  );

  it.for(swaps.map((scenario, index) => ({ ...scenario, index })))(
    'at some writes while it $name',
    async ({ index, ...scenario }) => {
      const report = await check(stages, scenario, {
        isExact: true,
        choose: (points) => some(3, index)(writes(points)),
      });
      expect(report.failures).toEqual([]);
      // Who is refused first, and so how often, is not the same every time.
      expect(report.killed.length).toBeGreaterThan(0);
    },
  );

  it.for(Object.values(disturbedToo).map((scenario, index) => ({ ...scenario, index })))(
    'at some calls while it $name',
    async ({ index, ...scenario }) => {
      const report = await check(stages, scenario, { choose: few(index) });
      expect(report.failures).toEqual([]);
      expect(report.points.filter((point) => !report.killed.includes(point))).toEqual([]);
    },
  );
});
