/** Events as CloudEvents 1.0 in structured JSON (github.com/cloudevents/spec, formats/json-format.md). */

export const CLOUD_EVENTS_TYPE = 'application/cloudevents+json';

/** An event as it is sent. */
export interface SentEvent {
  id: string;
  type: string;
  /** RFC 3339. */
  time: string;
  /** Id of the resource that changed. */
  subject: string;
  /** Orders the events of one resource; the CloudEvents extension of that name. */
  sequence: string;
  /** Id of the user or bot that made the change. */
  principal: string;
  /** The resource as GET shows it, without secrets. */
  data: Readonly<Record<string, unknown>>;
}

/** `thin`: without the resource, which the receiver reads by its `uri`. */
export type EventFormat = 'json' | 'thin';

const THIN = ['id', 'uri', 'revision'];

/** @param source the installation, as a URI */
export function cloudEvent(event: SentEvent, source: string, format: EventFormat): string {
  const { id, type, time, subject, sequence, principal, data } = event;
  const context = { specversion: '1.0', id, source, type, subject, time, sequence };
  const datacontenttype = 'application/json';
  if (format === 'json') return JSON.stringify({ ...context, principal, datacontenttype, data });
  const thin = Object.fromEntries(THIN.flatMap((name) => (name in data ? [[name, data[name]]] : [])));
  return JSON.stringify({ ...context, datacontenttype, data: thin });
}
