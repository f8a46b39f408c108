/** The API, its database or the API server goes away in the middle of the operator's work, and comes back. */
import { describe, it } from 'vitest';
import { startControlPlane } from '../../dev/control-plane/control-plane.ts';
import { createDatabase } from '../../dev/database/databases.ts';
import { startPostgres } from '../../dev/database/postgres.ts';
import { storyRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { atEnd } from '../end-of-file.ts';
import { NOT_OUR_CLUSTER, skipFor } from '../skip.ts';
import { cleanUp, untilSettled } from './inspect.ts';
import { type Call, CUT } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

const MANY = Array.from({ length: 6 }, (_, n) => n);

/** Many of the two kinds that differ most, and one of each kind. */
async function applyMany(stage: Stage, round: number): Promise<void> {
  const description = `round ${round}`;
  for (const n of MANY) {
    const rules = [{ cidr: `10.${n}.0.0/16`, action: 'allow' } as const];
    await stage.apply({ kind: 'IPPolicy', name: `policy-${n}`, spec: { description, rules } });
    await stage.apply({ kind: 'TunnelCredential', name: `agent-${n}`, spec: { description } });
  }
  for (const row of storyRows) {
    const { another, changed } = await stage.declare(row, 0);
    await stage.apply({ kind: row.name, name: `one-${row.type.plural}`, ...(round % 2 === 0 ? another : changed) });
  }
}

interface Outage {
  readonly target: Call['target'];
  readonly take: () => Promise<void>;
  readonly give: () => Promise<void>;
}

/** Takes the server away twice, each time at a write: first before it takes effect, then after. */
async function editUnder(stage: Stage, { target, take, give }: Outage): Promise<void> {
  // Create now what the objects refer to: during an outage, nothing would retry those requests.
  for (const row of storyRows) await stage.declare(row, 0);
  let writes = 0;
  let taken = 0;
  let back: Promise<void> | undefined;
  stage.proxy().intercept(async (call, forward) => {
    if (back || taken === 2 || call.target !== target || call.method === 'GET' || ++writes % 6 !== 0) return forward();
    taken++;
    if (taken === 2) await forward();
    await take();
    back = give();
    back.catch(() => {});
    return CUT;
  });
  let round = 0;
  const edit = async () => {
    await applyMany(stage, ++round);
    if (!back) return false;
    await back;
    back = undefined;
    return taken === 2;
  };
  await waitFor('the last outage', edit, { timeoutMs: 120_000, intervalMs: 200 });
  await untilSettled(stage, 90_000, 200);
  await cleanUp(stage);
}

describe('everything is as declared, and nothing twice,', { timeout: 240_000 }, () => {
  it('after an API outage that the operator reports and during which it restarts', async () => {
    const stage = await openStage();
    await (await stage.startOperator()).untilReconciling();
    await applyMany(stage, 1);
    await untilSettled(stage, 60_000);
    const isSaid = async () => {
      const object = await stage.find({ kind: 'TunnelCredential', name: 'agent-2' });
      return JSON.stringify(object?.status ?? {}).includes('ApiUnavailable');
    };
    await stage.stopApi();
    await applyMany(stage, 2);
    await stage.remove({ kind: 'IPPolicy', name: 'policy-0' });
    await stage.deleteSecret('agent-1');
    await waitFor('the condition to report the outage', isSaid);
    await stage.operator().kill();
    await (await stage.startOperator()).untilReconciling();
    await stage.restartApi();
    await untilSettled(stage, 90_000);
    await cleanUp(stage);
  });

  it('after Postgres has crashed', async () => {
    const server = await startPostgres();
    atEnd(() => server.stop());
    const databaseUrl = await createDatabase(server.url, 'crashing');
    const stage = await openStage({ databaseUrl, flags: ['--api-timeout', '5s'] });
    await (await stage.startOperator()).untilReconciling();
    await editUnder(stage, { target: 'api', take: server.crash, give: server.restart });
  });

  // The processes of an external cluster must not be killed.
  it('after the API server was killed', skipFor(NOT_OUR_CLUSTER), async () => {
    const plane = await startControlPlane({ controllerManager: false });
    atEnd(plane.stop);
    const stage = await openStage({ cluster: plane, flags: ['--kube-timeout', '5s'] });
    atEnd(() => stage.close());
    await (await stage.startOperator()).untilReconciling();
    await editUnder(stage, { target: 'kube', take: plane.killApiServer, give: plane.startApiServer });
  });
});
