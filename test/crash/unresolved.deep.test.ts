/** Objects of all kinds that refer to what is not there, or not theirs, wait quietly, and go on once it is. */
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import type { Declaration } from '../../dev/fixtures/kinds.ts';
import { storyRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { readStatus } from '../../src/operator/managed/identity/recorded-status.ts';
import type { DeclaredByRow } from './declared.ts';
import { isIdle, untilSettled } from './inspect.ts';
import { openStage, type Stage } from './stage.ts';

const MINUTE = 60_000;

/** What stands in the place of a reference by id, and of a text. */
interface Wrong {
  reference(id: string): object;
  readonly text?: object;
}

const name = 'missing';
const WRONG: Readonly<Record<string, Wrong>> = {
  missing: { reference: () => ({ name }), text: { secretKeyRef: { name, key: 'text' } } },
  // Objects of this name wait themselves.
  'not-ready': { reference: () => ({ name }), text: { secretKeyRef: { name: 'present', key: 'missing' } } },
  elsewhere: { reference: () => ({ name, namespace: 'default' }) },
  'no-such-id': { reference: (id) => ({ id: id.replace(/[0-9a-z]{26}$/, '0'.repeat(26)) }) },
};

const byId = z.object({ id: z.string() });
const inline = z.strictObject({ value: z.string() });

/** The spec with each reference and text replaced; undefined if it has none. */
function withWrong(spec: Declaration['spec'], { reference, text }: Wrong): Declaration['spec'] | undefined {
  let replaced = 0;
  const replaceIn = (value: object) =>
    Object.fromEntries(Object.entries(value).map(([member, each]) => [member, replace(each, member)]));
  const replace = (value: unknown, member: string): unknown => {
    if (Array.isArray(value)) return value.map((each) => replace(each, member));
    if (typeof value !== 'object' || value === null) return value;
    const id = /Refs?$/.test(member) ? byId.safeParse(value).data?.id : undefined;
    const other = id === undefined ? inline.safeParse(value).success && text : reference(id);
    if (!other) return replaceIn(value);
    replaced++;
    return 'name' in other && member === 'backendRef' ? { kind: 'HTTPResponseBackend', ...other } : other;
  };
  const result = replaceIn(spec);
  return replaced > 0 ? result : undefined;
}

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await (await stage.startOperator()).untilReconciling();
});

/** The wait before the next attempt begins with a second, and doubles. */
const MOST_ATTEMPTS = 7;

const isOfSecret = (call: string) => call.includes('/secrets');

function timesOf(calls: readonly string[]): Record<string, number> {
  const grouped = Object.groupBy(calls, (call) => call);
  return Object.fromEntries(Object.entries(grouped).map(([call, each = []]) => [call, each.length]));
}

it('with few requests while nothing changes, which become fewer', { timeout: 5 * MINUTE }, async () => {
  await stage.kube.create(
    { group: '', version: 'v1', plural: 'secrets' },
    { metadata: { name: 'present' }, stringData: { text: 'text' } },
    stage.namespace,
  );
  const right: DeclaredByRow[] = [];
  let usingSecrets = 0;
  for (const row of storyRows) {
    for (const [index, [name, wrong]] of Object.entries(WRONG).entries()) {
      const { another } = await stage.declare(row, index);
      const spec = withWrong(another.spec, wrong);
      if (!spec) continue;
      right.push({ kind: row.name, name, ...another });
      const handsOut = wrong === WRONG['no-such-id'] && row.kind.delivery !== undefined;
      if (handsOut || JSON.stringify(spec).includes('secretKeyRef')) usingSecrets++;
      await stage.apply({ kind: row.name, name, ...another, spec });
    }
  }
  expect(new Set(right.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(9);
  const reasonOf = async (declared: DeclaredByRow) => {
    const object = await stage.find(declared);
    const ready = object && readStatus(object).conditions?.find(({ type }) => type === 'Ready');
    return ready?.status === 'False' ? `${ready.reason}: ${ready.message}` : undefined;
  };
  await waitFor('all to say what is wrong', async () => {
    const said = await Promise.all(right.map(reasonOf));
    return said.every(Boolean) && (await isIdle(stage));
  });
  stage.proxy().forget();
  await delay(MINUTE);
  const calls = stage.proxy().calls.map(({ target, method, path }) => `${target} ${method} ${path}`);
  const [ofSecrets, others] = [calls.filter(isOfSecret), calls.filter((call) => !isOfSecret(call))];
  // What waits for something to appear is not looked at; only the API could tell that an id is right by now.
  expect(others.filter((call) => /\/(missing|not-ready|elsewhere)$/.test(call))).toEqual([]);
  expect(Object.entries(timesOf(others)).filter(([, times]) => times > MOST_ATTEMPTS)).toEqual([]);
  // A Secret is read, or tried, for each object that takes text from it or hands something out.
  expect(ofSecrets.length).toBeLessThanOrEqual(MOST_ATTEMPTS * usingSecrets);
  for (const declared of right) await stage.apply(declared);
  await untilSettled(stage, MINUTE);
});
