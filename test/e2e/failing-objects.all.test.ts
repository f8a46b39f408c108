/** Objects that fail, many of them, and whether the others are kept waiting. */
import { expect, test } from 'vitest';
import { findCondition } from '../../src/operator/kube/conditions.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import { createNamespace } from '../harness.ts';
import { CREDENTIALS, credential, eventually, type Manifest, manifest, ours, startStack } from './stack.ts';

const COUNT = process.env.TEST_DEEP === '1' ? 1_000 : 150;
const EDGES = ours('httpsedges');
const stack = await startStack({ prefix: 'failing', operators: 0 });
const { kube, namespace } = stack;
const elsewhere = await createNamespace('failing-not');
const namespaces = [namespace, elsewhere];
await stack.operateIn(namespaces);

/** Refused by the API: nobody has reserved the domain. */
const failing = Array.from({ length: COUNT }, (_, n) =>
  manifest({ name: 'HTTPSEdge' }, `failing-${n}`, { hostports: [`nobody-${n}.example.com:443`] }),
);

/** How many milliseconds it takes until one that does not fail is Ready. */
async function timeUntilReady(type: typeof EDGES, object: Manifest, where = namespace): Promise<number> {
  const begin = performance.now();
  await kube.create(type, object, where);
  await eventually(async () => {
    const { conditions = [] } = readStatus(await kube.get(type, object.metadata.name, where));
    expect(findCondition(conditions, 'Ready')?.status).toBe('True');
  }, 60_000);
  return performance.now() - begin;
}

let made = 0;
const others = {
  'of their kind, in their namespace': () => timeUntilReady(EDGES, manifest({ name: 'HTTPSEdge' }, `fine-${++made}`)),
  'of their kind, in another namespace': () =>
    timeUntilReady(EDGES, manifest({ name: 'HTTPSEdge' }, `fine-${++made}`), elsewhere),
  'of another kind': () => timeUntilReady(CREDENTIALS, credential(`fine-${++made}`)),
};
type Times = Record<keyof typeof others, number>;

/** The median of each, as long as `go` says. */
async function medians(go: (rounds: number) => boolean): Promise<Times> {
  const times = Object.entries(others).map(([name, time]) => ({ name, time, taken: [] as number[] }));
  for (let rounds = 0; go(rounds); rounds++) for (const { time, taken } of times) taken.push(await time());
  return Object.fromEntries(
    times.map(({ name, taken }) => [name, Math.round(taken.toSorted((a, b) => a - b)[taken.length >> 1] ?? 0)]),
  ) as Times;
}

test(`${COUNT} that fail keep no others waiting, and are tried less and less`, { timeout: 600_000 }, async ({
  annotate,
}) => {
  const ROUNDS = 15;
  const alone = await medians((rounds) => rounds < ROUNDS);

  let declared = false;
  const began = performance.now();
  const declaring = stack.apply(...failing).finally(() => (declared = true));
  const amid = await medians((rounds) => rounds < 5 || !declared);
  await declaring;
  const declaringMs = performance.now() - began;
  await eventually(async () => {
    const { items } = await kube.list(EDGES, { namespace });
    const rejected = items.filter((item) => JSON.stringify(item.status ?? {}).includes('"Rejected"'));
    expect(rejected).toHaveLength(COUNT);
  }, 120_000);

  const sent = () => stack.metric('tunnel_operator_api_requests_total', { method: 'POST' });
  const [before, begin] = [await sent(), performance.now()];
  const after = await medians((rounds) => rounds < ROUNDS);
  // The waits double: in t seconds, so many tries of each at most. Without waits it would be hundreds a second.
  const tries = 2 + Math.log2(1 + (performance.now() - begin) / 1000);
  expect((await sent()) - before - Object.keys(others).length * ROUNDS).toBeLessThan(COUNT * tries);

  await annotate(`milliseconds until Ready, median: ${JSON.stringify({ alone, amid, after })}`);
  for (const name of Object.keys(others) as (keyof Times)[]) {
    // Wide, since other tests run beside this one. In their own namespace, some wait for their turn among those that
    // fail, but not behind all of them.
    const bound = Math.max(10 * alone[name] + 1_000, name.includes('in their namespace') ? declaringMs / 2 : 0);
    expect(amid[name], `amid them, ${name}`).toBeLessThan(bound);
    expect(after[name], `beside them, ${name}`).toBeLessThan(bound);
  }
});
