/** Run with `--reporter=verbose` to see how many points there were. */
import { describe, expect, it, type TestContext } from 'vitest';
import { storyRows } from '../../dev/fixtures/story-rows.ts';
import { changesOfTexts } from './everything.ts';
import { chains, check, type KillPoint, told } from './kill-points.ts';
import { departures, editsOfModules, takeovers } from './modules.ts';
import { disturbedToo, type Scenario, secretRows, undisturbedButFor, withEveryKind, withSecrets } from './scenarios.ts';

const stages = await chains(4);

/** Every start makes the same calls before it begins with its work: one story is told at all of them. */
const isOfStart = ({ call }: KillPoint) => /^(api GET \/whoami|kube GET \/[a-z]+)( #\d+)?$/.test(call);
const chosen = (scenario: Scenario) => (points: KillPoint[]) =>
  scenario.whileDown && scenario !== undisturbedButFor.createdWhileDown
    ? points.filter((point) => !isOfStart(point))
    : points;

/** @param isSteady whether it makes the same writes every time */
async function checkAll(
  scenario: Scenario,
  { annotate }: TestContext,
  isExact: boolean,
  isSteady = true,
): Promise<void> {
  const report = await check(stages, scenario, { isExact, choose: chosen(scenario) });
  const { failures, killed, missed, points } = report;
  const calls = new Set(points.map(({ call }) => call));
  await annotate(`${told(report)}: ${[...calls].join(', ')}`);
  expect(failures).toEqual([]);
  if (isSteady) expect(missed).toEqual([]);
  expect(killed.length).toBeGreaterThanOrEqual(points.length / 2);
}

describe('the operator survives being killed at every call', { timeout: 1_200_000 }, () => {
  it.for(Object.values(undisturbedButFor))('while it $name', (scenario, context) => checkAll(scenario, context, true));
  // One kind at a time: with all of them, each point would wait for every other object to settle.
  const oneByOne = Object.values(withEveryKind).flatMap((scenario) =>
    storyRows.map((row) => ({ ...scenario, rows: [row], kind: row.name })),
  );
  it.for(oneByOne)('with every kind being $kind, while it $name', (scenario, context) =>
    checkAll(scenario, context, true),
  );
  const ofSecrets = Object.values(withSecrets).flatMap((scenario) =>
    secretRows.map((row) => ({ ...scenario, rows: [row], kind: row.name })),
  );
  it.for(ofSecrets)('with the Secret of an $kind, while it $name', (scenario, context) =>
    checkAll(scenario, context, true),
  );
  it.for([...editsOfModules, ...changesOfTexts])('while it $name', (scenario, context) =>
    checkAll(scenario, context, true),
  );
  // Which deletion is seen first is not the same every time.
  it.for([...takeovers, ...departures])('while it $name', (scenario, context) =>
    checkAll(scenario, context, true, false),
  );
  it.for(Object.values(disturbedToo))('while it $name', (scenario, context) => checkAll(scenario, context, false));
});
