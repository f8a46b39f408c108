/** Calls that fail while everybody lives on: each call that the operator makes meets each fault, once. */
import { describe, expect, it } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { untilSettled } from './inspect.ts';
import { counter } from './kill-points.ts';
import { type Assignment, Attribution, FAULTS, hanging, ObjectFaults } from './object-faults.ts';
import type { Fault } from './proxy.ts';
import { CREDENTIALS, type Declared, openStage, POLICIES } from './stage.ts';

const stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '2s'] });
await stage.startOperator();
const attribution = new Attribution();

const numbered = (kind: string, count: number) => Array.from({ length: count }, (_, n) => `${kind}-${n}`);

interface Phase {
  readonly name: string;
  readonly policy?: (name: string) => Promise<unknown>;
  readonly agent?: (name: string) => Promise<unknown>;
}

const policy = (name: string) => ({ kind: 'IPPolicy', name }) as const;
const agent = (name: string) => ({ kind: 'TunnelCredential', name }) as const;

async function apply(declared: Declared): Promise<void> {
  await stage.apply(declared);
  const { metadata } = await stage.kube.get(
    declared.kind === 'IPPolicy' ? POLICIES : CREDENTIALS,
    declared.name,
    stage.namespace,
  );
  attribution.learnUid(metadata.uid, declared.name);
}

const rotation = { overlap: '0s' };
const edited = (name: string) => ({ description: `edited ${name}`, acl: ['bind:b.example.com'], rotation });

async function deleteInTheApi({ kind, name }: Pick<Declared, 'kind' | 'name'>): Promise<void> {
  const id = (await stage.find({ kind, name }))?.metadata.annotations?.[ANNOTATION.externalId] ?? '';
  await (kind === 'IPPolicy' ? stage.client.ipPolicies : stage.client.credentials).delete(id);
  await stage.annotate({ kind, name }, { [ANNOTATION.reconcileRequestedAt]: 'gone' });
}

const PHASES: readonly Phase[] = [
  {
    name: 'creating',
    policy: (name) =>
      apply({ ...policy(name), spec: { description: name, rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] } }),
    agent: (name) => apply({ ...agent(name), spec: { description: name, acl: ['bind:a.example.com'], rotation } }),
  },
  {
    name: 'editing',
    policy: (name) =>
      apply({
        ...policy(name),
        spec: { description: `edited ${name}`, rules: [{ cidr: '10.0.0.0/9', action: 'deny' }] },
      }),
    agent: (name) => apply({ ...agent(name), spec: edited(name) }),
  },
  { name: 'rotating', agent: (name) => stage.annotate(agent(name), { [ANNOTATION.rotateRequestedAt]: 'now' }) },
  { name: 'making up for a deleted Secret', agent: (name) => stage.deleteSecret(name) },
  {
    name: 'giving the Secret another name',
    agent: (name) => apply({ ...agent(name), spec: { ...edited(name), secret: { name: `${name}-renamed` } } }),
  },
  {
    name: 'creating anew what is gone',
    policy: (name) => deleteInTheApi(policy(name)),
    agent: (name) => deleteInTheApi(agent(name)),
  },
  {
    name: 'deleting',
    policy: (name) => stage.remove(policy(name)),
    agent: (name) => stage.remove(agent(name)),
  },
];

async function perform(phase: Phase, names: { policies: readonly string[]; agents: readonly string[] }) {
  const { policy: actOnPolicy, agent: actOnAgent } = phase;
  if (actOnPolicy) await Promise.all(names.policies.map(actOnPolicy));
  if (actOnAgent) await Promise.all(names.agents.map(actOnAgent));
}

/** The calls about one policy and one credential in each phase, without faults; Events, which may fail, left out. */
async function rehearse(): Promise<Map<string, { object: string; call: string }[]>> {
  const found = new Map<string, { object: string; call: string }[]>();
  for (const phase of PHASES) {
    const calls: { object: string; call: string }[] = [];
    const nameOf = counter();
    stage.proxy().intercept((call, forward) => {
      const object = attribution.objectOf(call);
      if (object !== undefined && !call.path.includes('/events')) calls.push({ object, call: nameOf(call, object) });
      return attribution.learnFrom(call, forward);
    });
    await perform(phase, { policies: ['policy-0'], agents: ['agent-0'] });
    await untilSettled(stage);
    found.set(phase.name, calls);
  }
  return found;
}

const rehearsed = await rehearse();

/** Every call of the phase with every fault, each for an object of its own. */
function assign(phase: Phase, faults: readonly Fault[]): Assignment[] {
  const assignments: Assignment[] = [];
  for (const kind of ['policy', 'agent']) {
    const calls = (rehearsed.get(phase.name) ?? []).filter(({ object }) => object === `${kind}-0`);
    const pairs = calls.flatMap(({ call }) => faults.map((fault) => ({ call, fault })));
    assignments.push(...pairs.map((pair, n) => ({ object: `${kind}-${n}`, ...pair })));
  }
  return assignments;
}

describe('any call may fail in any way while the operator is', { timeout: 120_000 }, () => {
  const faults = [...Object.values(FAULTS), hanging().fault];
  const most = (kind: string) =>
    Math.max(...PHASES.map((phase) => assign(phase, faults).filter(({ object }) => object.startsWith(kind)).length));
  const names = { policies: numbered('policy', most('policy')), agents: numbered('agent', most('agent')) };

  it.for(PHASES)('$name', async (phase, { annotate }) => {
    const hang = hanging();
    const assignments = assign(phase, [...Object.values(FAULTS), hang.fault]);
    const faults = new ObjectFaults(attribution, assignments, counter());
    stage.proxy().intercept(faults.fault);
    await perform(phase, names);
    await untilSettled(stage, 60_000, 200);
    // What a cache knows already, which depends on who is faster, saves a call now and then.
    expect(faults.unmet.length, faults.unmet.join(', ')).toBeLessThan(assignments.length / 10);
    // What had been given up arrives after all, and must change nothing.
    hang.release();
    await untilSettled(stage, 60_000, 200);
    await annotate(`${faults.met.size} calls failed`);
  });

  it('and the token stands in no log', async () => {
    const log = await stage.operator().log();
    expect(log).toContain('reconciled');
    expect(log).not.toMatch(/tnl_/);
  });
});
