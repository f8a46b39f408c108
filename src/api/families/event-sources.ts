/**
 * The sources of an event subscription, one by one. Changing a source updates the subscription: it gets a new revision
 * and ETag, and an update event.
 */
import { z } from 'zod';
import { IDEMPOTENCY_REPLAYED_HEADER } from '../../resources/definition/idempotency.ts';
import { setByService } from '../../resources/definition/read-only.ts';
import {
  eventSource,
  eventSourceCreate,
  eventSources,
  eventSourceUpdate,
  type eventSubscription,
  showSource,
} from '../../resources/event-subscription.ts';
import { belongingTo, type Family, idParameter, writeLocked, writeLockedIn, writeRow } from '../crud/family.ts';
import { attempt, claim, complete, forget } from '../crud/idempotency.ts';
import { fillPath } from '../crud/view.ts';
import { conflict, notFound, refused } from '../errors/errors.ts';
import { CATALOGUE } from '../events/catalogue.ts';
import { isUnchanged } from '../http/entity-tags.ts';
import { type Api, type Call, type OperationResult, operation } from '../http/operation.ts';
import { refuseUnlessShown } from '../http/read-only-members.ts';
import type { Executor } from '../store/database.ts';
import type { Row } from '../store/repository.ts';

type Subscriptions = Family<typeof eventSubscription>;

/** How the record of an idempotency key names a source. */
export const sourceId = (subscriptionId: string, type: string) => `${subscriptionId}/${type}`;

const types = z.array(z.string());

/** The types of a stored subscription. */
export const typesOf = (row: Row) => types.parse(row.sources);

/** The stored response to a create, with the resulting revision of the subscription. */
const kept = z.object({ type: eventSource.shape.type, revision: z.number().optional() });

const PARAMETER = 'subscription_id';

const SOURCE_READ_ONLY = { members: setByService(['uri']), inside: {} };

/** A call about a subscription as the operations of its family see it. */
const ofSubscription = <C extends Call<typeof PARAMETER>>(call: C) => ({
  ...call,
  params: { id: call.params[PARAMETER] },
});

/** Adds the operations on the sources of a subscription. */
export function addSources(subscriptions: Subscriptions): void {
  const { path } = subscriptions.resource;
  const above = { [PARAMETER]: idParameter(subscriptions.resource) } as const;
  const type = { schema: eventSource.shape.type, description: 'The event type.' };
  const list = {
    path: `${path}/{${PARAMETER}}/sources`,
    params: above,
    ...belongingTo(subscriptions.resource),
    tagged: true,
  } as const;
  const single = { ...list, path: `${list.path}/{type}`, params: { ...above, type } } as const;
  const addressOf = (row: Pick<Row, 'id'>, base: string) => `${base}${path}/${row.id}`;

  async function read(db: Executor, call: Call<typeof PARAMETER>): Promise<Row> {
    const id = call.params[PARAMETER];
    return subscriptions.require(await subscriptions.rows.get(db, id), id, ofSubscription(call));
  }
  function requireSource(row: Row, wanted: string): void {
    if (typesOf(row).includes(wanted)) return;
    throw notFound(`The event subscription has no source ${wanted}.`, { id: row.id, type: wanted });
  }
  async function add(
    api: Api,
    tx: Executor,
    call: Call<typeof PARAMETER, unknown, { type: string }>,
  ): Promise<OperationResult> {
    const { type: added } = call.body;
    return writeLockedIn(api, tx, subscriptions, ofSubscription(call), async (context, row) => {
      if (typesOf(row).includes(added)) {
        throw conflict(`The event subscription already has the source ${added}.`, {
          '/type': `is already a source of ${row.id}`,
        });
      }
      const next = { ...row, sources: [...typesOf(row), added] };
      const revision = await writeRow(context, subscriptions, row, next);
      const body = showSource(added, addressOf(row, call.base));
      return { status: 201, body, revision, headers: { location: body.uri } };
    });
  }

  subscriptions.add(
    operation({
      ...list,
      method: 'POST',
      operationId: 'createEventSource',
      summary: 'Add a source to an event subscription',
      description:
        'Appends an event type to the sources. The `ETag` is that of the subscription. Fails with 409 if it has that type.',
      body: eventSourceCreate,
      readOnly: SOURCE_READ_ONLY,
      success: { status: 201, description: 'The new source.', schema: eventSource },
      creates: true,
      manages: 'optionally',
      errors: ['CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'PRECONDITION_FAILED'],
      async handle(call, api) {
        const problem = CATALOGUE.problem(call.body.type);
        if (problem) throw refused({ '/type': problem });
        const { idempotencyKey } = call;
        if (idempotencyKey === undefined) return api.db.transaction((tx) => add(api, tx, call));
        const tried = attempt(idempotencyKey, call);
        return api.db.transaction(async (tx) => {
          const earlier = await claim(tx, tried);
          if (earlier) {
            const { revision, type } = kept.parse(earlier.body);
            const body = showSource(type, addressOf({ id: call.params[PARAMETER] }, call.base));
            const headers = { [IDEMPOTENCY_REPLAYED_HEADER]: 'true', location: body.uri };
            return { status: earlier.status, body, ...(revision === undefined ? {} : { revision }), headers };
          }
          const answer = await add(api, tx, call);
          const made = {
            resourceId: sourceId(call.params[PARAMETER], call.body.type),
            path: fillPath(single.path, { ...call.params, type: call.body.type }),
          };
          const body = { type: call.body.type, revision: answer.revision };
          await complete(tx, tried, { ...made, status: 201, body, token: null });
          return answer;
        });
      },
    }),
  );
  subscriptions.add(
    operation({
      ...list,
      method: 'GET',
      operationId: 'listEventSources',
      summary: 'List the sources of an event subscription',
      description: 'Lists all sources, oldest first, on one page. The `ETag` is that of the subscription.',
      success: { status: 200, description: 'The sources.', schema: eventSources },
      async handle(call, api) {
        const row = await read(api.db, call);
        if (isUnchanged(call.ifNoneMatch, row.revision)) return { status: 304, revision: row.revision };
        const uri = addressOf(row, call.base);
        const sources = typesOf(row).map((each) => showSource(each, uri));
        return { body: { sources, uri: `${uri}/sources` }, revision: row.revision };
      },
    }),
  );
  subscriptions.add(
    operation({
      ...single,
      method: 'GET',
      operationId: 'getEventSource',
      summary: 'Get a source of an event subscription',
      description: 'Returns 404 if the subscription does not have this type. The `ETag` is that of the subscription.',
      success: { status: 200, description: 'The source.', schema: eventSource },
      async handle(call, api) {
        const row = await read(api.db, call);
        requireSource(row, call.params.type);
        if (isUnchanged(call.ifNoneMatch, row.revision)) return { status: 304, revision: row.revision };
        return { body: showSource(call.params.type, addressOf(row, call.base)), revision: row.revision };
      },
    }),
  );
  subscriptions.add(
    operation({
      ...single,
      method: 'PATCH',
      operationId: 'updateEventSource',
      summary: 'Update a source of an event subscription',
      description:
        'Changes nothing, since a source has nothing that can be changed. The body is an empty object, or what GET shows.',
      body: eventSourceUpdate,
      readOnly: SOURCE_READ_ONLY,
      manages: 'optionally',
      success: { status: 200, description: 'The unchanged source.', schema: eventSource },
      errors: ['PRECONDITION_FAILED'],
      handle: (call, api) =>
        writeLocked(api, subscriptions, ofSubscription(call), async (_, row) => {
          requireSource(row, call.params.type);
          const body = showSource(call.params.type, addressOf(row, call.base));
          refuseUnlessShown(call.sentBack, body);
          return { body, revision: row.revision };
        }),
    }),
  );
  subscriptions.add(
    operation({
      ...single,
      method: 'DELETE',
      operationId: 'deleteEventSource',
      summary: 'Remove a source from an event subscription',
      description: 'Events of this type are no longer sent.',
      manages: 'optionally',
      success: { status: 204, description: 'Deleted.' },
      errors: ['PRECONDITION_FAILED'],
      handle: (call, api) =>
        writeLocked(api, subscriptions, ofSubscription(call), async (context, row) => {
          const { type: removed } = call.params;
          requireSource(row, removed);
          await forget(context.tx, [sourceId(row.id, removed)]);
          const next = { ...row, sources: typesOf(row).filter((each) => each !== removed) };
          await writeRow(context, subscriptions, row, next);
          return {};
        }),
    }),
  );
}
