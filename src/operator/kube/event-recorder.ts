/**
 * Kubernetes Events about our objects, as `kubectl describe` shows them. Best effort, in the background: repeats of the
 * same Event raise its count, floods are thinned, and no reconcile waits for or fails with an Event.
 */
import type { Logger } from 'pino';
import { toKubeTime } from './conditions.ts';
import type { KubeApi, ResourceType } from './kube-api.ts';
import { KubeError } from './kube-error.ts';
import type { KubeObject } from './kube-object.ts';
import type { KubeMetrics } from './metrics.ts';

export interface KubeEvent {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

export interface EventRecorderOptions {
  component: string;
  instance: string;
  log: Logger;
  metrics: KubeMetrics;
}

const EVENTS: ResourceType = { group: '', version: 'v1', plural: 'events' };
/** The same Event of the same object within this time raises its count instead of making a new one. */
const REPEAT_MS = 10 * 60_000;
/** Over all objects: a burst, then a steady rate. Warnings have their own, so that a mass of news cannot hide them. */
const RATE = { burst: 50, perSecond: 5 };
const MAX_MESSAGE = 1024;

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
  #serial = 0;

  constructor(api: KubeApi, options: EventRecorderOptions) {
    this.#api = api;
    this.#options = options;
  }

  record(object: KubeObject, event: KubeEvent): void {
    if (!this.#tokens[event.type].take()) {
      this.#options.metrics.eventsDropped.inc({ reason: 'rate' });
      return;
    }
    this.#tail = this.#tail.then(() => this.#send(object, event));
  }

  /** Resolves when everything recorded so far was sent or given up. */
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
      const name = `${object.metadata.name.slice(0, 200).replace(/[^a-z0-9]+$/, '')}.${now.getTime().toString(16)}${(this.#serial++).toString(16)}`;
      await this.#api.create(EVENTS, this.#body(object, event, name, now), namespace);
      this.#remember(key, { name, count: 1, at: now.getTime() });
    } catch (err) {
      this.#options.metrics.eventsDropped.inc({ reason: 'failed' });
      this.#options.log.debug({ err, reason: event.reason }, 'an Event could not be sent');
    }
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

  #body(object: KubeObject, event: KubeEvent, name: string, now: Date) {
    const { component, instance } = this.#options;
    const { namespace = 'default', resourceVersion, uid } = object.metadata;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: {
        apiVersion: object.apiVersion,
        kind: object.kind,
        name: object.metadata.name,
        namespace,
        uid,
        resourceVersion,
      },
      type: event.type,
      reason: event.reason,
      message: event.message.slice(0, MAX_MESSAGE),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
      firstTimestamp: toKubeTime(now),
      lastTimestamp: toKubeTime(now),
      count: 1,
    };
  }

  #remember(key: string, sent: Sent): void {
    for (const [old, { at }] of this.#sent) {
      if (sent.at - at < REPEAT_MS) break;
      this.#sent.delete(old);
    }
    this.#sent.set(key, sent);
  }
}

class TokenBucket {
  readonly #rate: typeof RATE;
  #tokens: number;
  #filledAt = performance.now();

  constructor(rate: typeof RATE) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  take(): boolean {
    const now = performance.now();
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + ((now - this.#filledAt) / 1000) * this.#rate.perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
