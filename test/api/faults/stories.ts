/**
 * What writers do under load: one story per kind of write. Each models the states that its resources may be in: an
 * acknowledged write has taken effect, an unanswered one may have.
 */
import { buildsEdge, replacesRules, restrictsTlsEdge } from './composite-stories.ts';
import type { Outcome, Story } from './load.ts';
import { Possible } from './possible.ts';
import { FIRST, type Thing, under, type Writer } from './writer.ts';

/** Records a create with an idempotency key: there is one resource, with the id of the response. */
function made(things: Possible<readonly Thing[]>, outcome: Outcome<{ id: string }>): void {
  if (outcome.kind === 'done') things.write(() => [{ ...FIRST, id: outcome.value.id }], true);
  else things.write((there) => (there.length > 0 ? there : [FIRST]), false);
}

function trackThings(writer: Writer, table: string, mark: string): Possible<readonly Thing[]> {
  const things = new Possible<readonly Thing[]>([]);
  writer.track(mark, things, (stored) => stored.marked(table, mark));
  return things;
}

/** Without a key: after a lost response the resource may or may not exist, and a retry would create another. */
const createsPlainly: Story = async (writer, mark) => {
  const things = trackThings(writer, 'ip_policies', mark);
  const outcome = await writer.call((client) => client.ipPolicies.create({ metadata: mark }));
  const isDone = outcome.kind === 'done';
  things.write((there) => [...there, isDone ? { ...FIRST, id: outcome.value.id } : FIRST], isDone);
};

const createsUnderKey: Story = async (writer, mark) => {
  const things = trackThings(writer, 'ip_policies', mark);
  const create = () => writer.attempt((client) => client.ipPolicies.create({ metadata: mark }, under(mark)));
  const first = await create();
  made(things, first);
  const second = await create();
  made(things, second);
  if (first.kind === 'done' && second.kind === 'done') writer.require(same(first, second), `${mark}: replays differ`);
};

/** Sends the same create to both processes at once. */
const createsTwice: Story = async (writer, mark) => {
  const things = trackThings(writer, 'http_response_backends', mark);
  const outcomes = await writer.callBoth((client) =>
    client.httpResponseBackends.create({ metadata: mark }, under(mark)),
  );
  for (const outcome of outcomes.toSorted((a) => (a.kind === 'done' ? 1 : -1))) made(things, outcome);
  const [first, second] = outcomes;
  if (first?.kind === 'done' && second?.kind === 'done') writer.require(same(first, second), `${mark}: two answers`);
};

/** Closing the key settles the outcome: the response names the resource created with it, if there is one. */
const closesKey: Story = async (writer, mark) => {
  const things = trackThings(writer, 'ip_policies', mark);
  made(things, await writer.call((client) => client.ipPolicies.create({ metadata: mark }, under(mark))));
  const { resource } = await writer.settled((client) => client.closeIdempotencyKey(mark));
  const id = resource?.id ?? null;
  const isKnown = things.saw((there) => (id === null ? there.length === 0 : (there[0]?.id ?? id) === id));
  writer.require(isKnown, `${mark}: closed with ${id}, although it was ${things}`);
  const again = await writer.call((client) => client.ipPolicies.create({ metadata: mark }, under(mark)));
  writer.require(again.kind !== 'done', `${mark}: created under a closed key`);
};

const patches: Story = async (writer, mark) => {
  interface State extends Thing {
    readonly body: string;
  }
  const { id } = await writer.settled((client) => client.httpResponseBackends.create({ metadata: mark }, under(mark)));
  const things = new Possible<State>({ id, revision: 1, body: '' });
  writer.track(mark, things, (stored) => stored.marked('http_response_backends', mark)[0]);
  for (let n = 0; n < 5; n++) {
    const body = `${mark} ${n}`;
    const outcome = await writer.attempt((client) => client.httpResponseBackends.update(id, { body }));
    // A PATCH that changes nothing writes nothing.
    const change = (state: State) => (state.body === body ? state : { ...state, body, revision: state.revision + 1 });
    things.write(change, outcome.kind === 'done');
  }
};

const issuesTokens: Story = async (writer, mark) => {
  const things = trackThings(writer, 'credentials', mark);
  const create = () => writer.settled((client) => client.credentials.create({ metadata: mark }, under(mark)));
  const first = await create();
  const again = await create();
  writer.require(first.token !== null && first.token === again.token, `${mark}: a replay with another token`);
  things.write(() => [{ id: first.id, revision: 1 }], true);
  writer.keepToken(first.id, String(first.token));
  if (writer.random.chance(0.7)) return;
  const deleted = await writer.attempt((client) => client.credentials.delete(first.id), 'NOT_FOUND');
  writer.dropToken(first.id);
  things.write(() => [], deleted.kind !== 'unknown');
};

export const stories: readonly Story[] = [
  createsPlainly,
  createsUnderKey,
  createsTwice,
  closesKey,
  patches,
  replacesRules,
  buildsEdge,
  restrictsTlsEdge,
  issuesTokens,
];

const same = (one: { value: { id: string } }, other: { value: { id: string } }) =>
  JSON.stringify(one.value) === JSON.stringify(other.value);
