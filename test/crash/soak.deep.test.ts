/**
 * Many objects, two operators, and random user actions and faults. After each round everything is left alone, and must
 * converge to what is declared. SOAK_SEED repeats a run's choices (not its timing), SOAK_ROUNDS sets the number of
 * rounds.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { randomFrom } from '../../dev/fixtures/random.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { ApiError } from '../../src/client/errors.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { FAULTS, refusal } from './call-faults.ts';
import type { Declared } from './declared.ts';
import { isIdle, untilSettled } from './inspect.ts';
import type { Fault } from './proxy.ts';
import { openStage, type Stage } from './stage.ts';

const SEED = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 2 ** 31));
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 8);
const ACTIONS_PER_ROUND = 60;
const OBJECTS = 10;
const OPERATORS = 2;
const FAULTY = 0.06;

const { next: random, below, oneOf, some } = randomFrom(SEED);

const TEXTS = ['one', 'two', 'three'];
const CIDRS = ['10.0.0.0/8', '192.0.2.0/24', '198.51.100.0/24', '2001:db8::/32'];
const TARGETS = ['bind:a.example.com', 'bind:*.example.com', 'bind:app=shop'];

function randomObject(): Declared {
  const n = below(OBJECTS);
  const description = `${oneOf(TEXTS)}`;
  if (random() < 0.5) {
    const rules = some(CIDRS).map((cidr) => ({ cidr, action: oneOf(['allow', 'deny'] as const) }));
    return { kind: 'IPPolicy', name: `policy-${n}`, spec: { description, rules } };
  }
  const name = `agent-${n}`;
  const secret = { name: oneOf([name, `${name}-b`, `${name}-c`]), key: oneOf(['token', 'AUTHTOKEN']) };
  return { kind: 'TunnelCredential', name, spec: { description, acl: some(TARGETS), secret, rotation: OVERLAP } };
}
const OVERLAP = { overlap: '200ms' };

const stage = await openStage({
  flags: ['--api-timeout', '2s', '--kube-timeout', '2s', '--watch-silence-timeout', '3s', '--resync-interval', '4s'],
});

const counts = new Map<string, number>();
const countUp = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);

// What users do.

const isDeclared = (kind: Declared['kind']) => [...stage.declared.values()].filter((object) => object.kind === kind);

async function apply(): Promise<void> {
  const object = randomObject();
  // While the previous object of this name is being deleted, an apply has no effect.
  if ((await stage.find(object))?.metadata.deletionTimestamp === undefined) await stage.apply(object);
}

async function onDeclared(kind: Declared['kind'], act: (object: Declared) => Promise<unknown>): Promise<void> {
  const objects = isDeclared(kind);
  if (objects.length > 0) await act(oneOf(objects));
}

const ACTIONS: Readonly<Record<string, () => Promise<unknown>>> = {
  apply,
  'apply again': apply,
  'apply once more': apply,
  'delete a policy': () => onDeclared('IPPolicy', (object) => stage.remove(object)),
  'delete a credential': () => onDeclared('TunnelCredential', (object) => stage.remove(object)),
  rotate: () =>
    onDeclared('TunnelCredential', (object) =>
      stage.annotate(object, { [ANNOTATION.rotateRequestedAt]: String(random()) }),
    ),
  'delete a Secret': () =>
    onDeclared('TunnelCredential', async (object) => {
      if (object.kind === 'TunnelCredential' && !('remote' in object))
        await stage.deleteSecret(object.spec.secret?.name ?? object.name);
    }),
  'edit in the API': async () => {
    const { items } = await stage.client.credentials.page();
    if (items.length > 0) await stage.client.credentials.update(oneOf(items).id, { description: 'drifted' });
  },
  'delete in the API': async () => {
    const family = oneOf([stage.client.credentials, stage.client.ipPolicies]);
    const { items } = await family.page();
    if (items.length > 0) await family.delete(oneOf(items).id);
  },
  'kill an operator': async () => {
    const place = below(OPERATORS);
    await stage.operator(place).kill();
    await stage.startOperator(place);
  },
  'stop an operator': async () => {
    const place = below(OPERATORS);
    await stage.operator(place).stop();
    await stage.startOperator(place);
  },
  'cut the watches': async () => oneOf(stage.proxies).watches.cut(),
  'silence the watches': async () => oneOf(stage.proxies).watches.silence(),
  'hold the watches back': async () => oneOf(stage.proxies).watches.hold(),
  'release the watches': async () => oneOf(stage.proxies).watches.release(),
  'expire the watches': async () => {
    const { watches } = oneOf(stage.proxies);
    const gone = new Set<string>();
    watches.atStart((path) => {
      if (gone.has(path)) return undefined;
      gone.add(path);
      return 'gone';
    });
    watches.cut();
  },
};

const isGone = (error: unknown) =>
  (error instanceof ApiError && error.code === 'NOT_FOUND') || /not found|There is no/i.test(String(error));

/** Calls that arrive after the operator has stopped waiting for them. */
const late = new Set<Promise<unknown>>();

const misfortunes: readonly Fault[] = [
  ...Object.values(FAULTS),
  async (call) => refusal(call, 429, { 'retry-after': '1' }),
  async (_, forward) => {
    const arrival = new Promise((resolve) => setTimeout(resolve, 2_500 + random() * 5_000)).then(forward);
    const done = arrival.catch(() => {}).finally(() => late.delete(done));
    late.add(done);
    return arrival;
  },
];

const misfortune: Fault = (call, forward) => {
  if (random() >= FAULTY) return forward();
  countUp('a call fails');
  return oneOf(misfortunes)(call, forward);
};

/** Waits until the operators have made some calls or have nothing to do. */
async function letThemWork(): Promise<void> {
  const made = () => stage.proxies.reduce((sum, { calls }) => sum + calls.length, 0);
  const until = made() + below(24);
  await waitFor('some calls, or nothing to do', async () => made() >= until || isIdle(stage), { intervalMs: 20 });
}

async function quiesce(at: Stage): Promise<void> {
  for (const proxy of at.proxies) {
    proxy.intercept();
    proxy.watches.atStart();
    proxy.watches.release();
  }
  await untilSettled(at, 180_000, 250);
  await Promise.all(late);
  await untilSettled(at, 180_000, 250);
}

describe(`the promise is kept under random faults (seed ${SEED})`, { timeout: 300_000 }, () => {
  afterAll(() => process.stderr.write(`soak with seed ${SEED}: ${JSON.stringify(Object.fromEntries(counts))}\n`));

  it.for(Array.from({ length: ROUNDS }, (_, n) => n + 1))('in round %i', async () => {
    for (let place = stage.operators.length; place < OPERATORS; place++) await stage.startOperator(place);
    for (const proxy of stage.proxies) proxy.intercept(misfortune);
    const done: string[] = [];
    for (let n = 0; n < ACTIONS_PER_ROUND; n++) {
      const what = oneOf(Object.keys(ACTIONS));
      done.push(what);
      countUp(what);
      // Two users may act on the same thing at once; it is not a failure if the second finds it gone.
      await ACTIONS[what]?.().catch((error: unknown) => {
        if (!isGone(error)) throw error;
      });
      await letThemWork();
    }
    await quiesce(stage);
    expect(done).toHaveLength(ACTIONS_PER_ROUND);
  });

  it('and at the end nothing is left', async () => {
    await stage.removeAll();
    await quiesce(stage);
    expect(await Array.fromAsync(stage.client.credentials.list())).toEqual([]);
    expect(await Array.fromAsync(stage.client.ipPolicies.list())).toEqual([]);
    for (const operator of stage.operators) expect(await operator.log()).not.toMatch(/tnl_/);
  });
});
