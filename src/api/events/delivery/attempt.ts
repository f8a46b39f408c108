/** One attempt to deliver the head of a stream. */
import type { Head, QueuedEvent, Settled } from '../queue/streams.ts';
import type { SentEvent } from '../wire/cloud-event.ts';
import type { Courier } from '../wire/courier.ts';
import type { Destination } from '../wire/targets.ts';
import { afterFailure } from './schedule.ts';

export interface AttemptOptions {
  courier: Courier;
  destination: Destination;
  signal: AbortSignal;
  random?: () => number;
}

export interface Attempted extends Settled {
  /** Whether somebody has asked to make it again. */
  readonly requeued: boolean;
  /** The receiver wants no more events (410). */
  readonly gone: boolean;
  /** When the change was made; null if the event is not kept any more. */
  readonly occurredAt: string | null;
}

/** @throws the signal's reason if the attempt was aborted: nobody knows what became of it */
export async function attempt(
  head: Head,
  { courier, destination, signal, random = Math.random }: AttemptOptions,
): Promise<Attempted> {
  const { resourceId, id, requeued, event } = head;
  const occurredAt = event && !requeued ? event.occurred_at : null;
  const none = { requeued, retryMs: null, attempted: false, statusCode: null, answer: null, gone: false, occurredAt };
  const dropped = (error: string) => ({ resourceId, id, state: 'dropped' as const, ...none, error });
  if (!event) return dropped('The event is older than events are kept.');
  if (!head.wanted) return dropped('No subscription sends the event to this destination any more.');
  const answer = await courier.deliver(destination, sent(event, head.seq), signal);
  signal.throwIfAborted();
  const result = {
    resourceId,
    id,
    requeued,
    attempted: true,
    statusCode: answer.status ?? null,
    answer: answer.body ?? null,
    error: answer.error ?? null,
    gone: answer.gone ?? false,
    occurredAt,
  };
  if (answer.delivered) return { ...result, state: 'delivered', retryMs: null };
  // The destination is paused for it, and this event is the first to be sent if somebody resumes it.
  if (answer.gone) return { ...result, state: 'pending', retryMs: null };
  const state = { attempts: (head.attempts ?? 0) + 1, sinceFirstMs: head.sinceFirstAttemptMs ?? 0 };
  const next = afterFailure(state, answer, random);
  if ('givenUp' in next) return { ...result, state: 'failed', retryMs: null };
  return { ...result, state: 'pending', retryMs: next.retryMs };
}

/** The result for a head that was not sent because this process failed, not the receiver. */
export function notAttempted({ resourceId, id, requeued }: Head): Attempted {
  const error = 'The service failed to send the event; its log says why.';
  return {
    resourceId,
    id,
    requeued,
    state: 'pending',
    retryMs: AFTER_OWN_FAILURE_MS,
    attempted: false,
    statusCode: null,
    answer: null,
    error,
    gone: false,
    occurredAt: null,
  };
}

const AFTER_OWN_FAILURE_MS = 60_000;

function sent(event: QueuedEvent, seq: Head['seq']): SentEvent {
  const { id, type, occurred_at, actor, resource_id, payload, revision, changed_fields } = event;
  const data = {
    ...payload,
    ...(revision == null ? {} : { revision }),
    ...(changed_fields == null ? {} : { changed_fields }),
  };
  const time = new Date(occurred_at).toISOString();
  // The CloudEvents extension compares sequences as text.
  const sequence = String(seq).padStart(19, '0');
  return { id, type, time, subject: resource_id, sequence, principal: actor, data };
}
