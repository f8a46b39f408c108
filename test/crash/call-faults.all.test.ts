/**
 * Calls that fail while all processes keep running: each call that the operator makes meets each fault once, in the deep
 * suite (call-faults.deep.test.ts), and some of them here.
 */
import { describe, expect, it } from 'vitest';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { type StoryRow, storyRow, storyRows } from '../../dev/fixtures/story-rows.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { partsOfId } from '../../src/operator/kinds/nested-calls.ts';
import { isDeep } from '../tier.ts';
import { type Counts, countsSince, lastEvent } from './counts.ts';
import type { Declared } from './declared.ts';
import { untilSettled } from './inspect.ts';
import { counter } from './kill-points.ts';
import { type Assignment, Attribution, FAULTS, hanging, ObjectFaults } from './object-faults.ts';
import type { Fault } from './proxy.ts';
import { openStage } from './stage.ts';

const stage = await openStage({ flags: ['--api-timeout', '2s', '--kube-timeout', '2s'] });
await stage.startOperator();

/** How many faults each call meets, in turn. */
const FAULTS_PER_CALL = isDeep ? Number.POSITIVE_INFINITY : 1;

/** Of the other kinds, whose calls are the same, each call meets one fault in the deep suite too. */
const others = storyRows.filter(({ name }) => name !== 'IPPolicy' && name !== 'TunnelCredential');
const ALL = ['policy', 'agent', ...others.map(({ type }) => type.plural)];
const attribution = new Attribution(ALL);

const numbered = (kind: string, count: number) => Array.from({ length: count }, (_, n) => `${kind}-${n}`);
const numberOf = (name: string) => Number(name.split('-').at(-1));

interface Phase {
  readonly name: string;
  readonly policy?: (name: string) => Promise<unknown>;
  readonly agent?: (name: string) => Promise<unknown>;
  readonly other?: (row: StoryRow, name: string) => Promise<unknown>;
}

const policy = (name: string) => ({ kind: 'IPPolicy', name }) as const;
const agent = (name: string) => ({ kind: 'TunnelCredential', name }) as const;
const object = (row: StoryRow, name: string) => ({ kind: row.name, name });
const apply = (declared: Declared) => stage.apply(declared);

const rotation = { overlap: '0s' };
const edited = (name: string) => ({ description: `edited ${name}`, acl: ['bind:b.example.com'], rotation });

async function deleteInTheApi({ kind, name }: Pick<Declared, 'kind' | 'name'>): Promise<void> {
  const id = (await stage.find({ kind, name }))?.metadata.annotations?.[ANNOTATION.externalId] ?? '';
  await storyRow(kind).kind.calls(stage.client).delete(id);
  await stage.annotate({ kind, name }, { [ANNOTATION.reconcileRequestedAt]: 'gone' });
}

const PHASES: readonly Phase[] = [
  {
    name: 'creating',
    policy: (name) =>
      apply({ ...policy(name), spec: { description: name, rules: [{ cidr: '10.0.0.0/8', action: 'allow' }] } }),
    agent: (name) => apply({ ...agent(name), spec: { description: name, acl: ['bind:a.example.com'], rotation } }),
    other: async (row, name) => {
      const { another, ownerId } = await stage.declare(row, numberOf(name));
      // The calls about modules name only what they are set at.
      if (ownerId !== undefined) attribution.learnId(partsOfId(ownerId).own, name);
      await apply({ ...object(row, name), ...another });
    },
  },
  {
    name: 'editing',
    policy: (name) =>
      apply({
        ...policy(name),
        spec: { description: `edited ${name}`, rules: [{ cidr: '10.0.0.0/9', action: 'deny' }] },
      }),
    agent: (name) => apply({ ...agent(name), spec: edited(name) }),
    other: async (row, name) => apply({ ...object(row, name), ...(await stage.declare(row, numberOf(name))).changed }),
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
    other: (row, name) => deleteInTheApi(object(row, name)),
  },
  {
    name: 'deleting',
    policy: (name) => stage.remove(policy(name)),
    agent: (name) => stage.remove(agent(name)),
    other: (row, name) => stage.remove(object(row, name)),
  },
];

/** How many objects of each kind, by the beginning of their names. */
type ObjectCounts = Readonly<Record<string, number>>;

async function perform(phase: Phase, counts: ObjectCounts) {
  const { policy: actOnPolicy, agent: actOnAgent, other: actOnOther } = phase;
  const names = (kind: string) => numbered(kind, counts[kind] ?? 0);
  if (actOnPolicy) await Promise.all(names('policy').map(actOnPolicy));
  if (actOnAgent) await Promise.all(names('agent').map(actOnAgent));
  if (!actOnOther) return;
  await Promise.all(others.flatMap((row) => names(row.type.plural).map((name) => actOnOther(row, name))));
}

/** What a phase comes to for one object of each kind without faults; Events, which may fail, left out of the calls. */
interface Rehearsal {
  readonly calls: readonly { readonly object: string; readonly call: string }[];
  readonly counts: Counts;
}

async function rehearse(): Promise<Map<string, Rehearsal>> {
  const found = new Map<string, Rehearsal>();
  for (const phase of PHASES) {
    const since = await lastEvent(stage);
    const calls: { object: string; call: string }[] = [];
    const nameOf = counter();
    stage.proxy().intercept((call, forward) => {
      const object = attribution.objectOf(call);
      if (object !== undefined && !call.path.includes('/events')) calls.push({ object, call: nameOf(call, object) });
      return attribution.learnFrom(call, forward);
    });
    await perform(phase, Object.fromEntries(ALL.map((kind) => [kind, 1])));
    await untilSettled(stage);
    found.set(phase.name, { calls, counts: await countsSince(stage, since) });
  }
  return found;
}

const rehearsed = await rehearse();

/** The beginning of the names of the objects that such events are about; rules are those of a policy. */
function namesFor(eventType: string): string {
  const families = kindRows.filter(({ kind }) => eventType.startsWith(`${kind.family.name}_`));
  const row = families.toSorted((a, b) => a.kind.family.name.length - b.kind.family.name.length).at(-1);
  if (row?.name === 'IPPolicy') return 'policy';
  return row?.name === 'TunnelCredential' ? 'agent' : (row?.type.plural ?? '');
}

/** What the phase creates and deletes for so many objects without faults. */
function undisturbed(phase: Phase, objects: ObjectCounts): Counts {
  const counted = Object.entries(rehearsed.get(phase.name)?.counts ?? {});
  return Object.fromEntries(counted.map(([type, times]) => [type, times * (objects[namesFor(type)] ?? 0)]));
}

/** Every call of the phase with the faults that it meets, each for an object of its own. */
function assign(phase: Phase, faults: readonly Fault[]): Assignment[] {
  return ALL.flatMap((kind, place) => {
    const calls = (rehearsed.get(phase.name)?.calls ?? []).filter(({ object }) => object === `${kind}-0`);
    const isOther = place >= ALL.length - others.length;
    const pairs = calls.flatMap(({ call }, nth) => {
      const first = (nth + place) % faults.length;
      const inTurn = [...faults.slice(first), ...faults.slice(0, first)].map((fault) => ({ call, fault }));
      return inTurn.slice(0, isOther ? 1 : FAULTS_PER_CALL);
    });
    return pairs.map((pair, n) => ({ object: `${kind}-${n}`, ...pair }));
  });
}

describe('any call may fail in any way while the operator is', { timeout: 120_000 }, () => {
  const faults = [...Object.values(FAULTS), hanging().fault];
  const most = (kind: string) =>
    Math.max(
      ...PHASES.map((phase) => assign(phase, faults).filter((each) => each.object.startsWith(`${kind}-`)).length),
    );
  const counts = Object.fromEntries(ALL.map((kind) => [kind, most(kind)]));

  it.for(PHASES)('$name', async (phase, { annotate }) => {
    const since = await lastEvent(stage);
    const hang = hanging();
    const assignments = assign(phase, [...Object.values(FAULTS), hang.fault]);
    const faults = new ObjectFaults(attribution, assignments, counter());
    stage.proxy().intercept(faults.fault);
    await perform(phase, counts);
    await untilSettled(stage, 60_000, 200);
    // What a cache knows already, which depends on who is faster, saves a call now and then.
    expect(faults.unmet.length, faults.unmet.join(', ')).toBeLessThanOrEqual(Math.max(2, assignments.length / 10));
    // Abandoned calls arrive after all, and must change nothing.
    hang.release();
    await untilSettled(stage, 60_000, 200);
    expect(await countsSince(stage, since)).toEqual(undisturbed(phase, counts));
    await annotate(`${faults.met.size} calls failed`);
  });

  it('and the token is in no log', async () => {
    const log = await stage.operator().log();
    expect(log).toContain('reconciled');
    expect(log).not.toMatch(/tnl_/);
  });
});
