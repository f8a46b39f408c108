/** Runs some scenarios at some points; the deep tier (kill-points.deep.test.ts) runs all scenarios at all points. */
import { describe, expect, it } from 'vitest';
import { storyRows } from '../../dev/fixtures/story-rows.ts';
import { isDeep } from '../tier.ts';
import { chains, check, type Point } from './kill-points.ts';
import { editsOfModules } from './module-scenarios.ts';
import {
  disturbedToo,
  rotateInPlace,
  type Scenario,
  secretRows,
  undisturbedButFor,
  withEveryKind,
  withSecrets,
} from './scenarios.ts';

/** How many points are tried in parallel. */
const STAGES = isDeep ? 4 : 3;

/** One kind per scenario: with all kinds, each point would wait for every other object to settle. */
const oneByOne = (scenarios: Readonly<Record<string, Scenario>>, rows: typeof storyRows) =>
  Object.values(scenarios).flatMap((scenario) =>
    rows.map((row) => ({ ...scenario, rows: [row], name: `${scenario.name} (${row.name})` })),
  );
const undisturbed: readonly Scenario[] = [
  ...Object.values(undisturbedButFor),
  ...editsOfModules,
  ...(isDeep ? oneByOne(withEveryKind, storyRows) : [withEveryKind.createEach, withEveryKind.deleteEach]),
  ...oneByOne(withSecrets, isDeep ? secretRows : secretRows.slice(0, 1)),
  rotateInPlace,
];

/** Every third scenario (in the deep tier, every one), with its index. */
const some = (scenarios: readonly Scenario[]) =>
  scenarios.map((scenario, index) => ({ ...scenario, index })).filter(({ index }) => isDeep || index % 3 === 0);

/** As many points as are tried in parallel. The first differs by scenario, so that together they cover many calls. */
function few(first: number) {
  return (points: Point[]) => {
    const n = isDeep ? 1 : Math.max(1, Math.ceil(points.length / STAGES));
    return points.filter((_, index) => index % n === first % n);
  };
}

/** Every start makes the same calls before the actual work, so only one scenario is killed at those. */
function pointsOf({ index, ...scenario }: Scenario & { readonly index: number }) {
  const isOfStart = ({ call }: Point) => /^(api GET \/whoami|kube GET \/[a-z]+)( #\d+)?$/.test(call);
  const isLeftOut = (point: Point) =>
    scenario.whileDown && scenario.name !== undisturbedButFor.remoteGoneWhileDown.name && isOfStart(point);
  return (points: Point[]) => few(index)(points.filter((point) => !isLeftOut(point)));
}

describe('the operator survives being killed at any call', { timeout: isDeep ? 1_200_000 : 240_000 }, async () => {
  const stages = await chains(STAGES);

  it.for(some(undisturbed))('while it $name', async (scenario) => {
    const { failures, missed, met, points } = await check(stages, scenario, {
      isExact: true,
      choose: pointsOf(scenario),
    });
    expect({ failures, missed }).toEqual({ failures: [], missed: [] });
    expect(met.length).toBeGreaterThanOrEqual(points.length / 2);
  });

  it.for(some(Object.values(disturbedToo)))('while it $name', async (scenario) => {
    const { failures, missed } = await check(stages, scenario, { choose: pointsOf(scenario) });
    expect({ failures, missed }).toEqual({ failures: [], missed: [] });
  });
});

describe('any call may fail in any way, or arrive late,', { timeout: isDeep ? 1_200_000 : 240_000 }, async () => {
  const stages = await chains(STAGES, ['--api-timeout', '2s', '--kube-timeout', '2s']);
  const started = undisturbed.filter(({ whileDown }) => !whileDown);

  it.for(some(started))('while the operator $name', async (scenario) => {
    const { failures, missed } = await check(stages, scenario, {
      isExact: true,
      isFailing: true,
      choose: pointsOf(scenario),
    });
    expect({ failures, missed }).toEqual({ failures: [], missed: [] });
  });

  it('and no log contains a token', async () => {
    for (const stage of stages) expect(await stage.operator().log()).not.toMatch(/tnl_/);
  });
});
