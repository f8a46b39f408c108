/** Whole programs are down for a while, or ask for fewer calls. */
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import type { ControlPlane } from '../../dev/control-plane/control-plane-handle.ts';
import { createDatabase } from '../../dev/database/databases.ts';
import { type Postgres, startPostgres } from '../../dev/database/postgres.ts';
import { type KindRow, kindRows } from '../../dev/fixtures/kinds.ts';
import { storyRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { eventTypes } from '../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { isDeep } from '../tier.ts';
import { cleanUp } from './clean-up.ts';
import { type Counts, countsSince, excess, lastEvent } from './counts.ts';
import { untilSettled } from './inspect.ts';
import { refusal } from './object-faults.ts';
import { type Call, CUT, type Fault } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

/** How often a server is taken away in a row. */
const TIMES = isDeep ? 3 : 1;
let round = 0;
const MANY = Array.from({ length: 6 }, (_, n) => n);

/** Many of the two kinds that differ most, and one of each kind. */
async function createMany(stage: Stage, description: string): Promise<void> {
  for (const n of MANY) {
    const rules = [{ cidr: `10.${n}.0.0/16`, action: 'allow' } as const];
    await stage.apply({ kind: 'IPPolicy', name: `policy-${n}`, spec: { description, rules } });
    await stage.apply({ kind: 'TunnelCredential', name: `agent-${n}`, spec: { description } });
  }
  round++;
  for (const row of storyRows) {
    const { another, changed } = await stage.declare(row, 0);
    await stage.apply({ kind: row.name, name: `one-${row.type.plural}`, ...(round % 2 === 0 ? another : changed) });
  }
}

const created = ({ kind }: KindRow) => eventTypes(kind.family.name).created;

/**
 * What was made more than once for an object since that event. The kinds left out are made anew by every round, as are the
 * rules of a policy, and the outages determine how many rounds there are.
 * @param more what is made besides
 */
async function madeTwice(stage: Stage, since: unknown, more: Counts = {}): Promise<string[]> {
  const counts = await countsSince(stage, since);
  const kept = kindRows.filter(({ replaced }) => replaced.length === 0);
  const made = Object.fromEntries(kept.map((row) => [created(row), counts[created(row)] ?? 0]));
  const objects = kept.map((row) => {
    const many = row.name === 'IPPolicy' || row.name === 'TunnelCredential' ? MANY.length : 0;
    return [created(row), 1 + many + (more[created(row)] ?? 0)];
  });
  return excess(made, Object.fromEntries(objects));
}

/**
 * Tokens that were lost on their way: for each kind, the objects whose create was not answered, or whose Secret was not
 * written. Such a token is issued again if the object was edited before the next attempt, in each outage once: the same
 * request would have got it back.
 */
function lostTokens(calls: readonly Call[], outages: number): Counts {
  const rows = kindRows.filter(({ kind }) => kind.delivery);
  const losses = rows.map((row) => {
    const owners = calls.flatMap((call) => ownerOfLost(row, call) ?? []);
    const timesOf = (owner: string) => owners.filter((other) => other === owner).length;
    const times = [...new Set(owners)].map((owner) => Math.min(timesOf(owner), outages));
    return [created(row), times.reduce((total, one) => total + one, 0)];
  });
  return Object.fromEntries(losses);
}

/** The UID of the object of that kind that may have lost a token by this call. */
function ownerOfLost({ name, kind }: KindRow, { target, method, path, body, status, idempotencyScope }: Call) {
  if (method === 'GET' || (status !== undefined && status < 500)) return undefined;
  if (target === 'api') return method === 'POST' && path === pathOf(kind) ? idempotencyScope : undefined;
  if (!/\/secrets(\/[^/?]+)?$/.test(path) || method === 'DELETE') return undefined;
  return secretBody.parse(JSON.parse(body)).metadata.ownerReferences.find((owner) => owner.kind === name)?.uid;
}

const pathOf = ({ family }: KindRow['kind']) => FAMILIES.find(({ name }) => name === family.name)?.path;
const ownerReferences = z.array(z.object({ kind: z.string(), uid: z.string() })).default([]);
const secretBody = z.object({ metadata: z.object({ ownerReferences }) });

/** Takes a server away at some of the operator's writes, before or after they take effect, and gives it back. */
function outages(options: {
  when: 'before' | 'after';
  isWrite: (call: Call) => boolean;
  every: number;
  times: number;
  take: () => Promise<void>;
  give: () => Promise<void>;
}): { fault: Fault; isOver: () => Promise<boolean> } {
  const { when, isWrite, every, times, take, give } = options;
  let writes = 0;
  let taken = 0;
  let back: Promise<void> = Promise.resolve();
  let isAway = false;
  const fault: Fault = async (call, forward) => {
    if (isAway || taken === times || !isWrite(call) || ++writes % every !== 0) return forward();
    isAway = true;
    taken++;
    if (when === 'after') await forward();
    await take();
    back = give().finally(() => {
      isAway = false;
    });
    // Whoever asks whether it is over sees it fail.
    back.catch(() => {});
    return CUT;
  };
  const isOver = async () => {
    await back;
    return taken === times && !isAway;
  };
  return { fault, isOver };
}

/** Goes on editing everything, whoever is away, until the outages that this fault makes are over. */
async function editUnder(stage: Stage, { fault, isOver }: ReturnType<typeof outages>): Promise<void> {
  // What the objects refer to is made by nobody who would repeat it.
  for (const row of storyRows) await stage.declare(row, 0);
  stage.proxy().intercept(fault);
  let edits = 0;
  const edit = async () => {
    await createMany(stage, `round ${++edits}`);
    return isOver();
  };
  await waitFor('the last outage', edit, { timeoutMs: 120_000, intervalMs: 200 });
}

describe('while the API is down', async () => {
  const stage = await openStage();
  await (await stage.startOperator()).untilReconciling();
  afterEach(() => cleanUp(stage));

  it('the operator waits, says so, and continues when it is back', async () => {
    const since = await lastEvent(stage);
    await createMany(stage, 'before');
    await untilSettled(stage);
    await stage.stopApi();
    await createMany(stage, 'while it was away');
    await stage.remove({ kind: 'IPPolicy', name: 'policy-0' });
    await stage.deleteSecret('agent-1');
    const isSaid = async () => {
      const object = await stage.find({ kind: 'TunnelCredential', name: 'agent-2' });
      return JSON.stringify(object?.status ?? {}).includes('ApiUnavailable');
    };
    await waitFor('the condition to name the trouble', isSaid);
    await stage.restartApi();
    await untilSettled(stage);
    // In place of the one whose token is lost with its Secret.
    expect(await madeTwice(stage, since, { 'credential_created.v0': 1 })).toEqual([]);
  });

  it('the operator starts nevertheless', async () => {
    const since = await lastEvent(stage);
    await stage.operator().kill();
    await stage.stopApi();
    await createMany(stage, 'while nobody was there');
    const operator = await stage.startOperator();
    await operator.untilReconciling();
    await waitFor('an attempt', async () => (await operator.log()).includes('ApiUnavailable'));
    await stage.restartApi();
    // The comparison at the start failed; this is what a resync would do.
    await waitFor('everything', async () => (await operator.metrics()).includes('result="error"'));
    await operator.kill();
    await (await stage.startOperator()).untilReconciling();
    await untilSettled(stage);
    expect(await madeTwice(stage, since)).toEqual([]);
  });
});

describe('when the API returns 429', async () => {
  const stage = await openStage({ flags: ['--api-concurrency', '4'] });
  await (await stage.startOperator()).untilReconciling();
  afterEach(() => cleanUp(stage));

  it('nobody calls it before Retry-After has passed', async () => {
    const RETRY_AFTER_S = 2;
    await waitFor('the comparison at the start', () => stage.operator().isIdle());
    // As many calls as may be under way wait for the answer, so that none of them is on its way when it comes.
    const together = Promise.withResolvers<void>();
    let underWay = 0;
    let refusedAt: number | undefined;
    const fault: Fault = async (call, forward) => {
      if (call.target === 'kube' || refusedAt !== undefined) return forward();
      underWay++;
      if (underWay < 4) {
        await together.promise;
        return refusal(call, 429, { 'retry-after': '0' });
      }
      refusedAt = performance.now();
      setImmediate(() => together.resolve());
      return refusal(call, 429, { 'retry-after': String(RETRY_AFTER_S) });
    };
    const since = await lastEvent(stage);
    stage.proxy().forget();
    stage.proxy().intercept(fault);
    await createMany(stage, 'too many');
    await untilSettled(stage);
    expect(await madeTwice(stage, since)).toEqual([]);
    const isLater = ({ target, status }: Call) => target === 'api' && status !== 429;
    const waited = stage
      .proxy()
      .calls.filter(isLater)
      .map(({ at }) => at - (refusedAt ?? 0));
    expect(waited.length).toBeGreaterThan(MANY.length);
    expect(Math.min(...waited)).toBeGreaterThanOrEqual(RETRY_AFTER_S * 1000);
  });
});

describe('when Postgres crashes', async () => {
  const servers: Postgres[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  it.for(isDeep ? (['before', 'after'] as const) : (['after'] as const))(
    '%s it commits what was asked for, everything is as declared once it is back',
    { timeout: 180_000 },
    async (when) => {
      const server = await startPostgres();
      servers.push(server);
      const databaseUrl = await createDatabase(server.url, 'crashing');
      const stage = await openStage({ databaseUrl, flags: ['--api-timeout', '5s'] });
      // As users run it: what is committed is on disk. The tests' server waives that.
      await stage.query('alter database crashing set synchronous_commit = on');
      await server.restart();
      await (await stage.startOperator()).untilReconciling();
      const isWrite = ({ target, method }: Call) => target === 'api' && method !== 'GET';
      const away = outages({ when, isWrite, every: 5, times: TIMES, take: server.crash, give: server.restart });
      const since = await lastEvent(stage);
      await editUnder(stage, away);
      await untilSettled(stage, 60_000);
      expect(await madeTwice(stage, since, lostTokens(stage.proxy().calls, TIMES))).toEqual([]);
      await cleanUp(stage);
    },
  );
});

// The processes of an external cluster must not be killed.
describe('when the API server is killed', skipFor(NOT_OUR_CLUSTER), () => {
  let plane: ControlPlane | undefined;
  let stage: Stage | undefined;
  afterAll(async () => {
    await stage?.close();
    await plane?.stop();
  });

  it('everything is as declared once it is back', { timeout: 240_000 }, async () => {
    plane = await startControlPlane({ controllerManager: false });
    stage = await openStage({ cluster: plane, flags: ['--kube-timeout', '5s'] });
    await (await stage.startOperator()).untilReconciling();
    const { killApiServer, startApiServer } = plane;
    const since = await lastEvent(stage);
    const moments = isDeep ? (['before', 'after'] as const) : (['before'] as const);
    for (const when of moments) {
      const isWrite = ({ target, method }: Call) => target === 'kube' && method !== 'GET';
      const away = outages({ when, isWrite, every: 7, times: TIMES, take: killApiServer, give: startApiServer });
      await editUnder(stage, away);
      await untilSettled(stage, 90_000, 200);
    }
    const lost = lostTokens(stage.proxy().calls, TIMES * moments.length);
    expect(await madeTwice(stage, since, lost)).toEqual([]);
    await cleanUp(stage);
  });
});
