/**
 * Kills the operator at every call that it makes in a scenario, or makes the call fail, and checks that the scenario ends
 * as it does undisturbed.
 *
 * A call is identified by its label and how often it was made, not by its number: two kinds are reconciled at a time, so
 * only the order of the calls about one object is the same every time.
 */
import { isDeepStrictEqual } from 'node:util';
import { storyRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { FAULTS } from './call-faults.ts';
import { type Counts, countsSince, excess, lastEvent } from './counts.ts';
import { inspect, isIdle, untilSettled } from './inspect.ts';
import type { Outline } from './outline.ts';
import { type Call, CUT, type Fault } from './proxy.ts';
import type { Cast, Scenario } from './scenarios.ts';
import { openStage, type Stage } from './stage.ts';

/** A late call takes effect long after the operator has given up waiting. */
const FAILURES = ['late', ...Object.keys(FAULTS)];

export interface Point {
  /** As `label` names the call. */
  readonly call: string;
  /** `killed before`, `killed after`, or one of the failures. */
  readonly fate: string;
}

/** The outcome of an undisturbed scenario. */
interface Reference {
  readonly calls: readonly string[];
  readonly outline: Outline;
  readonly counts: Counts;
}

interface Expected {
  readonly reference: Reference;
  readonly isExact: boolean;
}

export interface Report {
  readonly points: readonly Point[];
  /** Points at which the fate occurred. */
  readonly met: readonly Point[];
  /** Points at writes that did not occur, although every undisturbed run has them. The number of reads may vary. */
  readonly missed: readonly Point[];
  /** In sentences, each with its point; empty when all is well. */
  readonly failures: readonly string[];
}

/** Opens `count` stages. The operator of each is restarted after every crash, ready for the next. */
export async function chains(count: number, flags: readonly string[] = []): Promise<Stage[]> {
  const stages: Stage[] = [];
  // One after the other: started at once, they keep each other from reaching PostgreSQL in time.
  while (stages.length < count) {
    const stage = await openStage({ flags: [...ONE_BY_ONE, ...flags] });
    await (await stage.startOperator()).untilReconciling();
    stages.push(stage);
  }
  return stages;
}

/** Performs a scenario undisturbed, then once for each of the chosen points; default: all. */
export async function check(
  stages: readonly Stage[],
  scenario: Scenario,
  options: {
    /** Whether it must end exactly as undisturbed, with the same counts; otherwise each count may be one higher. */
    isExact?: boolean;
    /** Whether calls fail, each in the next of the ways, instead of the operator being killed. */
    isFailing?: boolean;
    choose?: (points: Point[]) => Point[];
  } = {},
): Promise<Report> {
  const { isExact = false, isFailing = false, choose = (points) => points } = options;
  const [first] = stages;
  if (!first) throw new Error('there is no stage');
  const reference = await perform(first, scenario);
  const points = choose(isFailing ? failingPoints(reference) : killPoints(reference));
  const report = await disturbAtEach(stages, scenario, points, { reference, isExact });
  if (report.missed.length === 0) return report;
  // Status writes in quick succession may be merged: a call that a second undisturbed run lacks is not missed.
  const again = await perform(first, scenario);
  return { ...report, missed: report.missed.filter(({ call }) => again.calls.includes(call)) };
}

/** Flags that serialise the calls about one object. */
const ONE_BY_ONE = ['--concurrency', '1', '--api-concurrency', '1'] as const;

const MOST_ATTEMPTS = 3;

let performances = 0;

function castFor(stage: Stage, { rows = storyRows }: Scenario): Cast {
  const n = ++performances;
  return {
    stage,
    policy: { kind: 'IPPolicy', name: `policy-${n}` },
    agent: { kind: 'TunnelCredential', name: `agent-${n}` },
    each: rows.map((row) => ({ kind: row.name, name: `${row.type.plural}-${n}`, row, n })),
  };
}

/** Describes a call without names and ids: `api POST /credentials`. */
function label({ target, method, path }: Pick<Call, 'target' | 'method' | 'path'>): string {
  const short = path
    .replace(/^\/apis?\/(tunnel-operator\.dev\/)?v1(alpha1)?\/namespaces\/[^/]+/, '')
    .replace(/\/events\/.+/, '/events/<name>')
    .replace(/\b(policy|agent|one|[a-z]+(?=-\d+(?:-[a-z-]+)?(?:\/status)?(?:\?dryRun=All)?$))-\d+/, '$1')
    .replace(/\b[a-z]{2,8}_[0-9a-z]{26}\b/g, '<id>')
    .replace(/\b[0-9a-f]{64}\b/, '<digest>');
  return `${target} ${method} ${short}`;
}

export const isRead = ({ call }: Point) => / GET /.test(call);

/** Names calls by their label and, from the second with that label, a number. */
function counter(): (call: Call) => string {
  const seen = new Map<string, number>();
  return (call) => {
    const name = label(call);
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return times === 1 ? name : `${name} #${times}`;
  };
}

/** One undisturbed performance. */
async function perform(stage: Stage, scenario: Scenario): Promise<Reference> {
  const cast = castFor(stage, scenario);
  await setUp(cast, scenario);
  const since = await lastEvent(stage);
  stage.proxy().forget();
  await scenario.act(cast);
  if (scenario.whileDown) await stage.startOperator();
  const outline = unnumbered(await untilSettled(stage));
  const name = counter();
  const calls = stage.proxy().calls.map((call) => name(call));
  if (scenario.meanwhile) {
    await stage.operator().kill();
    await scenario.meanwhile(cast);
    await stage.startOperator();
    await untilSettled(stage);
  }
  const reference = { calls, outline, counts: await countsSince(stage, since) };
  await tearDown(cast);
  return reference;
}

/**
 * Before the first call of the reference, and after each call. Before any other call, the state is the same as after
 * the preceding one, since the operator's memory does not survive.
 */
function killPoints({ calls }: Reference): Point[] {
  const [first] = calls;
  const after = calls.map((call): Point => ({ call, fate: 'killed after' }));
  return first === undefined ? after : [{ call: first, fate: 'killed before' }, ...after];
}

function failingPoints({ calls }: Reference): Point[] {
  // Scenarios begin with the same calls, so each begins with a different failure.
  return calls.map((call, n) => ({ call, fate: FAILURES[(performances + n) % FAILURES.length] ?? 'late' }));
}

/** Performs the scenario once for each point; the stages share the points. */
async function disturbAtEach(
  stages: readonly Stage[],
  scenario: Scenario,
  points: readonly Point[],
  expected: Expected,
): Promise<Report> {
  const left = [...points];
  const met: Point[] = [];
  const failures: string[] = [];
  const work = async (stage: Stage) => {
    for (let point = left.shift(); point; point = left.shift()) {
      const where = `"${point.call}" ${point.fate}`;
      try {
        let isMet = false;
        // On a slow machine, the number of calls may vary: if the scenario ends undisturbed, repeat it.
        for (let attempt = 1; !isMet && attempt <= MOST_ATTEMPTS; attempt++) {
          const outcome = await disturbAt(stage, scenario, point, expected);
          failures.push(...outcome.failures.map((failure) => `${where}: ${failure}`));
          isMet = outcome.isMet;
        }
        if (isMet) met.push(point);
      } catch (error) {
        failures.push(`${where}: ${error instanceof Error ? error.message : String(error)}`);
        await stage.sweep();
      }
    }
  };
  await Promise.all(stages.map(work));
  const missed = points.filter((point) => !met.includes(point) && !isRead(point));
  return { points, met, missed, failures };
}

async function disturbAt(stage: Stage, scenario: Scenario, point: Point, { reference, isExact }: Expected) {
  const cast = castFor(stage, scenario);
  await setUp(cast, scenario);
  const since = await lastEvent(stage);
  const trap = trapAt(stage, point);
  stage.proxy().intercept(trap.fault);
  await scenario.act(cast);
  if (scenario.whileDown) await stage.startOperator();
  if (point.fate.startsWith('killed')) {
    const isOver = async () =>
      trap.isSprung() || ((await isIdle(stage)) && (await inspect(stage)).problems.length === 0);
    await waitFor('the crash or the end', isOver);
    await stage.operator().kill();
    await scenario.meanwhile?.(cast);
    stage.proxy().intercept();
    await stage.startOperator();
  } else {
    await untilSettled(stage);
    trap.release();
  }
  const outline = unnumbered(await untilSettled(stage));
  const counts = await countsSince(stage, since);
  const failures = (await scenario.always?.(cast, since)) ?? [];
  if (isExact && !isDeepStrictEqual(outline, reference.outline)) {
    failures.push(`the end is ${JSON.stringify(outline)}, undisturbed ${JSON.stringify(reference.outline)}`);
  }
  if (isExact && !isDeepStrictEqual(counts, reference.counts)) {
    failures.push(`counted ${JSON.stringify(counts)}, undisturbed ${JSON.stringify(reference.counts)}`);
  }
  // A resource may have been created for an object no longer declared, or its token may have been lost with the Secret.
  if (!isExact) failures.push(...excess(counts, reference.counts, 1));
  await tearDown(cast);
  return { isMet: trap.isSprung(), failures };
}

/** Makes the fate occur once, at the point. Nothing that a killed operator sends takes effect. */
function trapAt(stage: Stage, { call: wanted, fate }: Point) {
  const name = counter();
  const gate = Promise.withResolvers<void>();
  let isSprung = false;
  let isDead = false;
  const fault: Fault = async (call, forward) => {
    if (isDead) return CUT;
    if (isSprung || name(call) !== wanted) return forward();
    switch (fate) {
      case 'killed before':
      case 'killed after':
        if (fate === 'killed after') await forward();
        isSprung = true;
        isDead = true;
        await stage.operator().kill();
        return CUT;
      case 'late':
        isSprung = true;
        await gate.promise;
        return forward();
      default:
        isSprung = true;
        return FAULTS[fate]?.(call, forward) ?? forward();
    }
  };
  return { fault, isSprung: () => isSprung, release: gate.resolve };
}

async function setUp(cast: Cast, scenario: Scenario): Promise<void> {
  const { stage } = cast;
  stage.proxy().intercept();
  await scenario.given?.(cast);
  await untilSettled(stage);
  if (scenario.whileDown) await stage.operator().kill();
}

/** Deletes everything, and checks that it is gone. */
async function tearDown({ stage }: Cast): Promise<void> {
  await stage.removeAll();
  await untilSettled(stage);
  stage.forgetKinds();
  await stage.sweepSecrets();
}

/** Removes the numbers of objects, which differ between performances. */
function unnumbered(outline: Outline): Outline {
  return Object.fromEntries(Object.entries(outline).map(([key, value]) => [key.replace(/-\d+$/, ''), value]));
}
