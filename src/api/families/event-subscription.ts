/** Event subscriptions: the types that they may ask for, and their sources one by one. */
import { eventSubscription } from '../../resources/event-subscription.ts';
import { forget } from '../crud/idempotency.ts';
import { mount } from '../crud/mount.ts';
import { refused } from '../errors/errors.ts';
import { CATALOGUE } from '../events/catalogue.ts';
import { addSources, sourceId, typesOf } from './event-sources.ts';

export const eventSubscriptions = mount(eventSubscription, {
  aboutDelete: 'Its events are no longer sent.',
  derive(after, before) {
    const known = new Set(before === undefined ? [] : typesOf(before));
    const problems = typesOf(after)
      .map((type, index) => [`/sources/${index}/type`, known.has(type) ? undefined : CATALOGUE.problem(type)] as const)
      .flatMap(([at, problem]) => (problem === undefined ? [] : [[at, problem] as const]));
    if (problems.length > 0) throw refused(Object.fromEntries(problems));
    return {};
  },
  async beforeUpdate({ tx }, { id, sources }, after) {
    const kept = new Set(after.sources.map(({ type }) => type));
    const removed = sources.flatMap(({ type }) => (kept.has(type) ? [] : [sourceId(id, type)]));
    await forget(tx, removed);
  },
  async beforeDelete({ tx }, { id, sources }) {
    await forget(
      tx,
      sources.map(({ type }) => sourceId(id, type)),
    );
  },
});
addSources(eventSubscriptions);
