/**
 * Records Kubernetes Events, as `kubectl describe` shows them. Best effort, in the background: a repeated Event raises
 * its count, floods are rate limited, and no reconcile waits for an Event or fails because of one.
 */
import type { Logger } from 'pino';
import { toKubeTime } from './conditions.ts';
import type { KubeApi, ResourceType } from './kube-api.ts';
import { KubeError } from './kube-error.ts';
import { type EventReporter, eventBody, eventName, type KubeEvent } from './kube-event.ts';
import type { KubeObject } from './kube-object.ts';
import type { KubeMetrics } from './metrics.ts';
import { TokenBucket } from './token-bucket.ts';

export interface EventRecorderOptions extends EventReporter {
  log: Logger;
  metrics: KubeMetrics;
}

const EVENTS: ResourceType = { group: '', version: 'v1', plural: 'events' };
/** Within this time, the same Event about the same object raises the count instead of creating a new one. */
const REPEAT_MS = 10 * 60_000;
/**
 * For all objects together. Warnings have a bucket of their own, so that a flood of Normal Events cannot crowd them
 * out.
 */
const RATE = { burst: 50, perSecond: 5 };
/** Most Events that wait to be sent, while the API server does not answer. */
const MOST_WAITING = 200;

interface Sent {
  name: string;
  count: number;
  at: number;
}

export class EventRecorder {
  readonly #api: KubeApi;
  readonly #options: EventRecorderOptions;
  readonly #sent = new Map<string, Sent>();
  readonly #tokens = { Normal: new TokenBucket(RATE), Warning: new TokenBucket(RATE) };
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;
  #serial = 0;
  #isForbidden = false;

  constructor(api: KubeApi, options: EventRecorderOptions) {
    this.#api = api;
    this.#options = options;
  }

  record(object: KubeObject, event: KubeEvent): void {
    const { eventsDropped } = this.#options.metrics;
    if (this.#waiting >= MOST_WAITING) eventsDropped.inc({ reason: 'backlog' });
    else if (!this.#tokens[event.type].take()) eventsDropped.inc({ reason: 'rate' });
    else {
      this.#waiting++;
      this.#tail = this.#tail.then(() => this.#send(object, event)).finally(() => void this.#waiting--);
    }
  }

  /** Resolves when everything recorded so far was sent or dropped. */
  flush(): Promise<void> {
    return this.#tail;
  }

  async #send(object: KubeObject, event: KubeEvent): Promise<void> {
    const { namespace = 'default', uid } = object.metadata;
    const key = [uid, event.type, event.reason, event.message].join('\u0000');
    const now = new Date();
    const known = this.#sent.get(key);
    try {
      if (known && now.getTime() - known.at < REPEAT_MS && (await this.#repeat(known, namespace, now))) return;
      const name = eventName(object, now, this.#serial++);
      await this.#api.create(EVENTS, eventBody(object, event, name, this.#options, now), namespace);
      this.#remember(key, { name, count: 1, at: now.getTime() });
      this.#isForbidden = false;
    } catch (err) {
      this.#options.metrics.eventsDropped.inc({ reason: 'failed' });
      this.#report(err, event);
    }
  }

  /** A missing permission is worth a warning, once. */
  #report(err: unknown, { reason }: KubeEvent): void {
    const { log } = this.#options;
    const isForbidden = err instanceof KubeError && err.isForbidden;
    if (isForbidden && !this.#isForbidden) {
      log.warn({ err, reason }, 'not allowed to write Kubernetes Events; grant create and patch on events');
    } else log.debug({ err, reason }, 'could not send a Kubernetes Event');
    this.#isForbidden ||= isForbidden;
  }

  async #repeat(known: Sent, namespace: string, now: Date): Promise<boolean> {
    try {
      await this.#api.patch(EVENTS, known.name, { count: known.count + 1, lastTimestamp: toKubeTime(now) }, namespace);
      known.count++;
      return true;
    } catch (error) {
      if (error instanceof KubeError && error.isNotFound) return false;
      throw error;
    }
  }

  #remember(key: string, sent: Sent): void {
    for (const [old, { at }] of this.#sent) {
      if (sent.at - at < REPEAT_MS) break;
      this.#sent.delete(old);
    }
    this.#sent.set(key, sent);
  }
}
