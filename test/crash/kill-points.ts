/**
 * Kills the operator at every call that it makes in the course of a story, as soon as the call has taken effect, and
 * checks that the story ends as it does without.
 *
 * A call is told apart by what it is and how often it was made, not by its number: two kinds are worked on at a time,
 * so the order of all calls is not the same every time, while that of the calls about one object is.
 */
import { isDeepStrictEqual } from 'node:util';
import { storyRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { type Counts, countsSince, excess, lastEvent } from './counts.ts';
import { inspect, isIdle, type Outline, untilSettled } from './inspect.ts';
import { type Call, CUT, type Fault } from './proxy.ts';
import type { Cast, Scenario } from './scenarios.ts';
import { openStage, type Stage, type StageOptions } from './stage.ts';

export interface KillPoint {
  /** As `label` names the call. */
  readonly call: string;
  readonly when: 'before' | 'after';
}

/** What a story comes to without a crash. */
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
  readonly points: readonly KillPoint[];
  /** Points at which the operator was killed. */
  readonly killed: readonly KillPoint[];
  /**
   * Writes that did not come, although the story has them each time that it ends undisturbed. Whether the operator looks
   * at something once more that was changed meanwhile is not the same every time.
   */
  readonly missed: readonly KillPoint[];
  /** In sentences, each with its point; empty when all is well. */
  readonly failures: readonly string[];
}

/** `count` stages, each with an operator that is restarted after each crash and so is there for the next. */
export function chains(count: number): Promise<Stage[]> {
  return Promise.all(Array.from({ length: count }, () => chain()));
}

/** One such stage. */
export async function chain(options: Omit<StageOptions, 'flags'> = {}): Promise<Stage> {
  const stage = await openStage({ ...options, flags: ONE_BY_ONE });
  await (await stage.startOperator()).untilReconciling();
  return stage;
}

/** Performs a scenario without a crash, then with one at each of the chosen points; default: all. */
export async function check(
  stages: readonly Stage[],
  scenario: Scenario,
  options: {
    /** Whether it must end exactly as without a crash, with as much created and deleted; else with at most one more of each. */
    isExact?: boolean;
    choose?: (points: KillPoint[]) => KillPoint[];
  } = {},
): Promise<Report> {
  const { isExact = false, choose = (points) => points } = options;
  const [first] = stages;
  if (!first) throw new Error('there is no stage');
  const reference = await perform(first, scenario);
  const report = await killAtEach(stages, scenario, choose(allPoints(reference)), { reference, isExact });
  if (report.missed.length === 0) return report;
  // Status writes that follow close on each other may become one: what another telling lacks too, is no point of the story.
  const again = await perform(first, scenario);
  return { ...report, missed: report.missed.filter(({ call }) => again.calls.includes(call)) };
}

/** Flags under which the calls about one object come one after the other. */
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

/** For the log of a run. */
export function told({ points, killed }: Pick<Report, 'points' | 'killed'>): string {
  const others = points.filter((point) => !killed.includes(point)).map(({ call }) => call);
  const not = others.length > 0 ? `, not at ${others.join(', ')}` : '';
  return `killed at ${killed.length} of ${points.length} points${not}`;
}

/** What a call is, without names and ids: `api POST /credentials`. */
export function label({ target, method, path }: Pick<Call, 'target' | 'method' | 'path'>): string {
  const short = path
    .replace(/^\/apis?\/(tunnel-operator\.dev\/)?v1(alpha1)?\/namespaces\/[^/]+/, '')
    .replace(/\/events\/.+/, '/events/<name>')
    .replace(/\b(policy|agent|one|[a-z]+(?=-\d+(?:\/status)?(?:\?dryRun=All)?$))-\d+/, '$1')
    .replace(/\b[a-z]{2,8}_[0-9a-z]{26}\b/g, '<id>')
    .replace(/\b[0-9a-f]{64}\b/, '<digest>');
  return `${target} ${method} ${short}`;
}

const isRead = ({ call }: KillPoint) => / GET /.test(call);

/** Names calls `label` and, after the first, how often there was one like it (about the same object, if one is given). */
export function counter(): (call: Call, object?: string) => string {
  const seen = new Map<string, number>();
  return (call, object = '') => {
    const name = label(call);
    const times = (seen.get(`${object} ${name}`) ?? 0) + 1;
    seen.set(`${object} ${name}`, times);
    return times === 1 ? name : `${name} #${times}`;
  };
}

/** One performance without a crash. */
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
 * Before the first call of the reference, and after each. Before a call, everything is as it was after the one that
 * precedes it, since nothing that the operator knows besides survives.
 */
function allPoints({ calls }: Reference): KillPoint[] {
  const [first] = calls;
  const after = calls.map((call): KillPoint => ({ call, when: 'after' }));
  return first === undefined ? after : [{ call: first, when: 'before' }, ...after];
}

/** Performs the scenario once for each point, shared out over the stages. */
async function killAtEach(
  stages: readonly Stage[],
  scenario: Scenario,
  points: readonly KillPoint[],
  expected: Expected,
): Promise<Report> {
  const left = [...points];
  const killed: KillPoint[] = [];
  const failures: string[] = [];
  const work = async (stage: Stage) => {
    for (let point = left.shift(); point; point = left.shift()) {
      const where = `killed ${point.when} "${point.call}"`;
      try {
        let wasKilled = false;
        // A slow machine may need a call less, or another one: then the story ends undisturbed, and is told again.
        for (let attempt = 1; !wasKilled && attempt <= MOST_ATTEMPTS; attempt++) {
          const outcome = await killAt(stage, scenario, point, expected);
          failures.push(...outcome.failures.map((failure) => `${where}: ${failure}`));
          wasKilled = outcome.wasKilled;
        }
        if (wasKilled) killed.push(point);
      } catch (error) {
        failures.push(`${where}: ${error instanceof Error ? error.message : String(error)}`);
        await stage.sweep();
      }
    }
  };
  await Promise.all(stages.map(work));
  const missed = points.filter((point) => !killed.includes(point) && !isRead(point));
  return { points, killed, missed, failures };
}

async function killAt(stage: Stage, scenario: Scenario, point: KillPoint, { reference, isExact }: Expected) {
  const cast = castFor(stage, scenario);
  await setUp(cast, scenario);
  const since = await lastEvent(stage);
  const trap = killing(stage, point);
  stage.proxy().intercept(trap.fault);
  await scenario.act(cast);
  if (scenario.whileDown) await stage.startOperator();
  const isOver = async () => trap.isSprung() || ((await isIdle(stage)) && (await inspect(stage)).problems.length === 0);
  await waitFor('the crash or the end', isOver);
  await stage.operator().kill();
  await scenario.meanwhile?.(cast);
  stage.proxy().intercept();
  await stage.startOperator();
  const outline = unnumbered(await untilSettled(stage));
  const counts = await countsSince(stage, since);
  const failures = (await scenario.always?.(cast, since)) ?? [];
  if (isExact && !isDeepStrictEqual(outline, reference.outline)) {
    failures.push(`the end is ${JSON.stringify(outline)}, without a crash ${JSON.stringify(reference.outline)}`);
  }
  if (isExact && !isDeepStrictEqual(counts, reference.counts)) {
    failures.push(`counted ${JSON.stringify(counts)}, without a crash ${JSON.stringify(reference.counts)}`);
  }
  // What happens before it is back may leave a resource that was created for what is not declared any more, or whose token
  // nobody has kept.
  if (!isExact) failures.push(...excess(counts, reference.counts, 1));
  await tearDown(cast);
  return { wasKilled: trap.isSprung(), failures };
}

/** Kills the operator at a point. From then on nothing more that it sent takes effect. */
function killing(stage: Stage, { call: wanted, when }: KillPoint): { fault: Fault; isSprung: () => boolean } {
  const name = counter();
  let sprung = false;
  const fault: Fault = async (call, forward) => {
    if (sprung) return CUT;
    if (name(call) !== wanted) return forward();
    if (when === 'after') await forward();
    sprung = true;
    await stage.operator().kill();
    return CUT;
  };
  return { fault, isSprung: () => sprung };
}

async function setUp(cast: Cast, scenario: Scenario): Promise<void> {
  const { stage } = cast;
  stage.proxy().intercept();
  await scenario.given?.(cast);
  await untilSettled(stage);
  await scenario.besides?.(cast);
  if (scenario.whileDown) await stage.operator().kill();
}

/** Everything goes, which is checked like everything else. */
async function tearDown({ stage }: Cast): Promise<void> {
  await stage.removeAll();
  await untilSettled(stage);
  stage.forgetKinds();
  await stage.sweepSecrets();
}

/** The objects of two performances have different numbers. */
function unnumbered(outline: Outline): Outline {
  return Object.fromEntries(Object.entries(outline).map(([key, value]) => [key.replace(/-\d+$/, ''), value]));
}
