/** A Kubernetes Event (core/v1) about an object, as `kubectl describe` shows it. Pure. */
import { toKubeTime } from './conditions.ts';
import type { KubeObject } from './kube-object.ts';

export interface KubeEvent {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** The source of an Event. */
export interface EventReporter {
  component: string;
  /** Unique to this process. */
  instance: string;
}

/** The API server rejects longer messages. */
const MAX_MESSAGE = 1024;
/** Leaves room for the unique suffix; names have at most 253 characters. */
const MAX_PREFIX = 200;

/** As in client-go: the object's name and the time. @param serial distinguishes two Events of the same millisecond */
export function eventName({ metadata }: KubeObject, at: Date, serial: number): string {
  const prefix = metadata.name.slice(0, MAX_PREFIX).replace(/[^a-z0-9]+$/, '');
  return `${prefix}.${at.getTime().toString(16)}${serial.toString(16)}`;
}

export function eventBody(object: KubeObject, event: KubeEvent, name: string, reporter: EventReporter, at: Date) {
  const { component, instance } = reporter;
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
    firstTimestamp: toKubeTime(at),
    lastTimestamp: toKubeTime(at),
    count: 1,
  };
}
