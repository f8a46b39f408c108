/**
 * What tools that wait with kstatus, such as Flux and `helm --wait`, make of every kind in every state: its library says. Argo CD,
 * with the health check of the chart, shows the same.
 */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ensureBinaries } from '../../dev/control-plane/binaries.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { type StoryRow, storyRows } from '../../dev/fixtures/story-rows.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { argoHealth } from '../chart/argocd.ts';
import { type Manifest, manifest } from './manifest.ts';
import { API_KEY, eventually, startStack } from './stack.ts';

const { kstatus } = await ensureBinaries(['kstatus']);
const stack = await startStack({ prefix: 'kstatus', operators: 0 });
const post = postTo(stack.api.url, API_KEY);
const paused = { [ANNOTATION.paused]: 'true' };

/** What Argo CD shows; an object that is in progress only because it is paused is Suspended. */
const ARGO: Readonly<Record<string, RegExp>> = {
  InProgress: /^(Progressing|Suspended)$/,
  Current: /^Healthy$/,
  Failed: /^Degraded$/,
  Terminating: /^Progressing$/,
};

/** The status of the object of each row, by kind. */
async function computed(name: string, rows: readonly StoryRow[] = storyRows): Promise<Record<string, string>> {
  const objects = await Promise.all(rows.map(({ type }) => stack.find(type, name)));
  const { status, stdout, stderr } = spawnSync(kstatus, { input: JSON.stringify(objects), encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const lines = stdout.trimEnd().split('\n');
  const shown = argoHealth(objects);
  for (const [at, line] of lines.entries())
    expect(shown[at]?.status, line).toMatch(ARGO[line.split(' ')[0] ?? ''] ?? /^$/);
  return Object.fromEntries(rows.map((row, at) => [row.name, lines[at]?.split(' ')[0] ?? '']));
}

const each = (status: string, rows: readonly StoryRow[] = storyRows) =>
  Object.fromEntries(rows.map(({ name }) => [name, status]));

/** Waits until every object has the status. */
const becomes = (name: string, status: string, rows?: readonly StoryRow[]) =>
  eventually(async () => expect(await computed(name, rows)).toEqual(each(status, rows)));

let numbers = 0;
const stories = await Promise.all(
  storyRows.map(async (row) => {
    const declare = async () => row.declare(post, ++numbers);
    return { row, first: await declare(), second: await declare(), third: await declare() };
  }),
);
type Story = (typeof stories)[number];

const applyEach = async (manifestsOf: (story: Story) => Manifest[] | Promise<Manifest[]>) =>
  stack.apply(...(await Promise.all(stories.map(manifestsOf))).flat());

/** Names an object that does not exist in the first reference; undefined without one. */
function dangling(spec: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const [member] = Object.entries(spec).find(([name, value]) => name.endsWith('Ref') && isGivenById(value)) ?? [];
  return member === undefined ? undefined : { ...spec, [member]: { name: 'not-there' } };
}

const isGivenById = (value: unknown) => typeof value === 'object' && value !== null && 'id' in value;

test('an object that no operator has seen is in progress', async () => {
  await applyEach(({ row, first: { another }, second }) => [
    ...another.objects,
    manifest(row.name, 'touched', another.spec),
    ...second.least.objects,
    manifest(row.name, 'held', second.least.spec, paused),
  ]);
  expect(await computed('touched')).toEqual(each('InProgress'));
  expect(await computed('held')).toEqual(each('InProgress'));
});

test('an object is current once it is Ready, and in progress while it is paused', async () => {
  await stack.operate();
  await becomes('touched', 'Current');
  for (const { type } of storyRows) await stack.reason(type, 'held', 'Ready', 'Paused');
  expect(await computed('held')).toEqual(each('InProgress'));
  for (const { type } of storyRows) await stack.annotate(type, 'touched', paused);
  await becomes('touched', 'InProgress');
  for (const { type } of storyRows) await stack.annotate(type, 'touched', { [ANNOTATION.paused]: null });
  await becomes('touched', 'Current');
});

test('an object that is refused has failed; its correction ends that', async () => {
  const observing = { managementPolicy: 'Observe' };
  await applyEach(({ row, first, third: { least } }) => [
    ...least.objects,
    // Modules of an owner that has those of another object already; otherwise nothing names what to observe.
    row.isAttached
      ? manifest(row.name, 'refused', first.another.spec)
      : manifest(row.name, 'refused', { ...least.spec, ...observing }),
  ]);
  await becomes('refused', 'Failed');
  await applyEach(({ row, third: { least } }) => [manifest(row.name, 'refused', least.spec)]);
  await becomes('refused', 'Current');
});

test('an object that waits for what it names is in progress', async () => {
  const waiting = await Promise.all(
    stories.map(async ({ row }) => {
      const { another } = await row.declare(post, ++numbers);
      const spec = dangling(another.spec);
      return spec && { row, objects: [...another.objects, manifest(row.name, 'waits', spec)] };
    }),
  );
  const rows = waiting.filter((one) => one !== undefined);
  expect(rows.length).toBeGreaterThan(4);
  await stack.apply(...rows.flatMap(({ objects }) => objects));
  for (const { row } of rows) await stack.reason(row.type, 'waits', 'Ready', 'ReferenceNotFound');
  const names = rows.map(({ row }) => row);
  expect(await computed('waits', names)).toEqual(each('InProgress', names));
});

test('while the API is down, what was Ready is current, and what has changed or is new in progress', async () => {
  await stack.restart(
    () => applyEach(({ row, first: { changed } }) => [...changed.objects, manifest(row.name, 'touched', changed.spec)]),
    { apiUrl: 'http://127.0.0.1:9' },
  );
  expect(await computed('touched')).toEqual(each('InProgress'));
  for (const { type } of storyRows) {
    await stack.annotate(type, 'held', { [ANNOTATION.paused]: null });
    await stack.annotate(type, 'refused', { [ANNOTATION.reconcileRequestedAt]: 'now' });
  }
  for (const { type } of storyRows) {
    for (const name of ['touched', 'refused']) await stack.reason(type, name, 'Synced', 'ApiUnavailable');
    await stack.reason(type, 'held', 'Ready', 'ApiUnavailable');
  }
  expect(await computed('refused')).toEqual(each('Current'));
  expect(await computed('touched')).toEqual(each('InProgress'));
  expect(await computed('held')).toEqual(each('InProgress'));
});

test('an object that is being deleted is terminating', async () => {
  for (const { type } of storyRows) await stack.annotate(type, 'refused', paused);
  for (const { type } of storyRows) await stack.run('delete', type.plural, 'refused', '--wait=false');
  expect(await computed('refused')).toEqual(each('Terminating'));
});
