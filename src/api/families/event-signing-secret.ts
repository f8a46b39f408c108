/** The signing secrets of event destinations: sealed, shown once, and rotated with an overlap in which both sign. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { IDEMPOTENCY_REPLAYED_HEADER } from '../../resources/definition/idempotency.ts';
import { type eventDestination, SIGNING_SECRET_PREFIX } from '../../resources/event-destination.ts';
import { signingSecretRotation } from '../../resources/event-destination-calls.ts';
import {
  belongingTo,
  type Family,
  type SingleCall,
  singleParameters,
  writeLockedIn,
  writeRow,
} from '../crud/family.ts';
import { attempt, claim, complete, forgetCalls } from '../crud/idempotency.ts';
import { type Api, type OperationResult, operation } from '../http/operation.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Executor } from '../store/database.ts';
import type { Row } from '../store/repository.ts';

type Destinations = Family<typeof eventDestination>;

const TABLE = 'event_destinations';
const CURRENT = 'sealed_signing_secret';
const PREVIOUS = 'sealed_previous_signing_secret';

const locationOf = (id: string, field: string) => ({ table: TABLE, id, field });

const newSecret = () => SIGNING_SECRET_PREFIX + randomBytes(32).toString('base64');

/** The columns of the secrets. */
export const SIGNING_SECRETS = {
  columns: [CURRENT],
  sealed: [CURRENT, PREVIOUS],
};

/** The first signing secret of a destination, which the creation response shows. */
export function firstSecret(secrets: Secrets, id: string, secret = newSecret()) {
  return {
    fields: { signing_secret_issued_at: new Date().toISOString() },
    columns: { [CURRENT]: secrets.seal(secret, locationOf(id, CURRENT)) },
    token: secret,
  };
}

const stored = z.object({ [CURRENT]: z.string(), [PREVIOUS]: z.string().nullable() });

const READ = {
  name: 'event_destinations.signing_secrets',
  text: `
    select ${CURRENT}, case when previous_signing_secret_until > now() then ${PREVIOUS} end as ${PREVIOUS}
      from ${TABLE} where id = $1`,
};

/** What signs events now, newest first. */
export async function signingSecrets(db: Executor, secrets: Secrets, id: string): Promise<string[]> {
  const [row] = await db.query({ ...READ, values: [id] });
  const { [CURRENT]: current, [PREVIOUS]: previous } = stored.parse(row);
  const newest = secrets.open(current, locationOf(id, CURRENT));
  return previous === null ? [newest] : [newest, secrets.open(previous, locationOf(id, PREVIOUS))];
}

const REPLACE = {
  name: 'event_destinations.replace_signing_secret',
  text: `update ${TABLE} set ${CURRENT} = $2, ${PREVIOUS} = $3 where id = $1`,
};

const END = {
  name: 'event_destinations.end_signing_secrets',
  text: `
    update ${TABLE} set ${PREVIOUS} = null, previous_signing_secret_until = null where previous_signing_secret_until < now()`,
  values: [],
};

/** Deletes replaced secrets whose overlap has ended: they sign nothing, and later backups must not have them. */
export async function deleteEndedSecrets(db: Executor): Promise<void> {
  await db.query(END);
}

type RotateCall = SingleCall<z.output<typeof signingSecretRotation>>;

/** Until when the secret that a rotation replaces goes on signing, counted from now. */
const overlapOf = ({ body: { overlapMs } }: RotateCall) => ({
  previous_signing_secret_until: overlapMs === 0 ? null : new Date(Date.now() + overlapMs).toISOString(),
});

/** Adds the operation that replaces the secret. */
export function addRotation(destinations: Destinations): void {
  const { resource } = destinations;

  async function rotate(api: Api, tx: Executor, call: RotateCall, secret: string): Promise<OperationResult> {
    return writeLockedIn(api, tx, destinations, call, async (context, row) => {
      const { id } = row;
      const { secrets } = api;
      const [replaced = ''] = await signingSecrets(tx, secrets, id);
      const overlap = overlapOf(call);
      const previous = overlap.previous_signing_secret_until && secrets.seal(replaced, locationOf(id, PREVIOUS));
      await tx.query({ ...REPLACE, values: [id, secrets.seal(secret, locationOf(id, CURRENT)), previous] });
      const next = { ...row, signing_secret_issued_at: new Date().toISOString(), ...overlap };
      return answer(next, call, secret, await writeRow(context, destinations, row, next, {}, ['signing_secret']));
    });
  }
  const answer = (row: Row, { base }: RotateCall, secret: string | null, revision: number): OperationResult => {
    const body = { ...destinations.show(row, base), signing_secret: secret };
    return { body, revision, headers: { location: `${base}${resource.path}/${row.id}` } };
  };
  /**
   * The destination as it is now, with the secret that the first request under the key has issued, unless another has
   * replaced it. The caller may have it only from this response, so the overlap begins anew.
   */
  async function repeat(api: Api, tx: Executor, call: RotateCall, secret: string | null): Promise<OperationResult> {
    // The first request has changed the revision that it accepted.
    const again = { ...call, ifMatch: undefined };
    return writeLockedIn(api, tx, destinations, again, async (context, row) => {
      const [current] = await signingSecrets(tx, api.secrets, row.id);
      const isCurrent = secret === current;
      const next = { ...row, ...(isCurrent && overlapOf(call)) };
      const isMoved = next.previous_signing_secret_until !== row.previous_signing_secret_until;
      const revision = isMoved ? await writeRow(context, destinations, row, next) : row.revision;
      const shown = answer(next, call, isCurrent ? secret : null, revision);
      return { ...shown, headers: { ...shown.headers, [IDEMPOTENCY_REPLAYED_HEADER]: 'true' } };
    });
  }

  destinations.add(
    operation({
      method: 'POST',
      path: `${resource.path}/{id}/rotate_secret`,
      operationId: 'rotateEventDestinationSecret',
      summary: 'Replace the signing secret of an event destination',
      description:
        'Only this response shows the new `signing_secret`; store it. Until the overlap ends, events have a signature of ' +
        'either secret, so the receiver can change to the new one at any time. Another rotation ends the overlap: only ' +
        'the secret that it replaces still signs. With an `Idempotency-Key`, repeating the request issues no further ' +
        'secret: it shows the same one again, unless another has replaced it, and the overlap begins anew.',
      ...belongingTo(resource),
      params: singleParameters(resource),
      tagged: true,
      creates: true,
      manages: 'optionally',
      body: signingSecretRotation,
      success: { status: 200, description: 'The event destination, with its new secret.', schema: resource.view },
      errors: ['PRECONDITION_FAILED', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED'],
      async handle(call, api) {
        const secret = call.body.signing_secret ?? newSecret();
        const { idempotencyKey } = call;
        if (idempotencyKey === undefined) return api.db.transaction((tx) => rotate(api, tx, call, secret));
        const tried = attempt(idempotencyKey, call);
        return api.db.transaction(async (tx) => {
          const earlier = await claim(tx, tried);
          if (earlier) return repeat(api, tx, call, earlier.token);
          const rotated = await rotate(api, tx, call, secret);
          const { id } = call.params;
          await forgetCalls(tx, id);
          const made = { resourceId: id, path: `${resource.path}/${id}` };
          await complete(tx, tried, { ...made, status: 200, body: {}, token: secret });
          return rotated;
        });
      },
    }),
  );
}
