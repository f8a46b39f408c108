/** Run with `--reporter=verbose` to see how many points there were. */
import { describe, expect, it, type TestContext } from 'vitest';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { chains, check } from './kill-points.ts';
import { disturbedToo, type Scenario, undisturbedButFor, withEveryKind } from './scenarios.ts';

const stages = await chains(4);

async function checkAll(scenario: Scenario, { annotate }: TestContext, isExact: boolean): Promise<void> {
  const { failures, killed, points } = await check(stages, scenario, { isExact });
  const calls = new Set(points.map(({ call }) => call));
  await annotate(`killed at ${killed.length} of ${points.length} points: ${[...calls].join(', ')}`);
  expect(failures).toEqual([]);
  expect(points.filter((point) => !killed.includes(point))).toEqual([]);
}

describe('the operator survives being killed at every call, before and after it takes effect,', {
  timeout: 1_200_000,
}, () => {
  it.for(Object.values(undisturbedButFor))('while it $name', (scenario, context) => checkAll(scenario, context, true));
  // One kind at a time: with all of them, each point would wait for every other object to settle.
  const oneByOne = Object.values(withEveryKind).flatMap((scenario) =>
    kindRows.map((row) => ({ ...scenario, rows: [row], kind: row.name })),
  );
  it.for(oneByOne)('with every kind being $kind, while it $name', (scenario, context) =>
    checkAll(scenario, context, true),
  );
  it.for(Object.values(disturbedToo))('while it $name', (scenario, context) => checkAll(scenario, context, false));
});
