/** Events: what happens here, the subscriptions that ask for it, and the destinations that get it. */
import { randomBytes } from 'node:crypto';
import { eventTypeList } from '../../resources/definition/event-type.ts';
import { eventDestination, SIGNING_SECRET_PREFIX } from '../../resources/event-destination.ts';
import { eventSubscription } from '../../resources/event-subscription.ts';
import { forget } from '../crud/idempotency.ts';
import { mount } from '../crud/mount.ts';
import { invalidRequest } from '../errors/errors.ts';
import type { Catalogue } from '../events/catalogue.ts';
import type { Api } from '../http/operation.ts';
import { addSources, sourceId, typesOf } from './event-sources.ts';

/** Where the signing secrets of destinations are kept. */
export const SIGNING_SECRETS = { table: eventDestination.table, column: 'sealed_signing_secret' };

export function events(api: Api, catalogue: Catalogue): void {
  const subscriptions = mount(api, eventSubscription, {
    derive(after, before) {
      const known = new Set(before === undefined ? [] : typesOf(before));
      const problems = typesOf(after)
        .map(
          (type, index) => [`/sources/${index}/type`, known.has(type) ? undefined : catalogue.problem(type)] as const,
        )
        .flatMap(([at, problem]) => (problem === undefined ? [] : [[at, problem] as const]));
      if (problems.length > 0) throw invalidRequest(Object.fromEntries(problems));
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
  addSources(api, subscriptions, catalogue);
  mount(api, eventDestination, {
    columns: [SIGNING_SECRETS.column],
    async prepare({ signing_secret }, id) {
      const secret = signing_secret ?? SIGNING_SECRET_PREFIX + randomBytes(32).toString('base64');
      const sealed = api.secrets.seal(secret, { table: SIGNING_SECRETS.table, id, field: SIGNING_SECRETS.column });
      return { columns: { [SIGNING_SECRETS.column]: sealed }, token: secret };
    },
  });
  addEventTypes(api, catalogue);
}

function addEventTypes(api: Api, { types }: Catalogue): void {
  api.add({
    method: 'GET',
    path: '/event_types',
    operationId: 'listEventTypes',
    summary: 'List event types',
    description: 'All types that a subscription may have as sources; never paged.',
    tag: eventSubscription.tag,
    access: 'anyone',
    params: {},
    success: { status: 200, description: 'The catalogue.', schema: eventTypeList },
    handle: async ({ base }) => ({ body: { event_types: types, uri: `${base}/event_types`, next_page_uri: null } }),
  });
}
