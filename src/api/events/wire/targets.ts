/** The request that each kind of target is sent. */
import { BUILD } from '../../../build.ts';
import type { EventTarget } from '../../../resources/event-target.ts';
import { CLOUD_EVENTS_TYPE, cloudEvent, type EventFormat, type SentEvent } from './cloud-event.ts';
import type { TargetRequest } from './sender.ts';
import { signatureHeaders } from './signature.ts';

/** A destination with its secrets. */
export interface Destination {
  id: string;
  format: EventFormat;
  target: EventTarget;
  /** Signing secrets, newest first; used for webhooks. */
  secrets: readonly string[];
}

const SERVICE = 'tunnel-operator';
const JSON_TYPE = 'application/json';

/** @param source the installation, as a URI */
export function targetRequest(destination: Destination, event: SentEvent, source: string, now: Date): TargetRequest {
  const { webhook, datadog, otlp_logs: otlpLogs } = destination.target;
  const text = cloudEvent(event, source, destination.format);
  if (webhook) return toWebhook(webhook.url, signatureHeaders(event.id, now, text, destination.secrets), text);
  if (datadog) return toDatadog(datadog, event, text);
  if (otlpLogs) return toOtlp(otlpLogs, event, source, text);
  throw new TypeError(`${destination.id} has no target`);
}

const request = (
  url: URL,
  type: string,
  headers: TargetRequest['headers'],
  body: string,
  secrets: readonly string[],
) => ({
  url,
  headers: { ...headers, 'content-type': type, 'user-agent': `${SERVICE}/${BUILD.version}` },
  body,
  secrets: [...secretsIn(url), ...secrets].filter((secret) => secret.length >= SHORTEST_SECRET),
});

/** Shorter texts are words that an answer may have anyway. */
const SHORTEST_SECRET = 8;

/** What path and query may tell of a URL's secret, as a whole and in parts. */
function secretsIn({ pathname, search, searchParams }: URL): string[] {
  return [pathname + search, pathname, ...pathname.split('/'), ...searchParams.values()];
}

function toWebhook(url: string, signature: TargetRequest['headers'], text: string): TargetRequest {
  return request(new URL(url), CLOUD_EVENTS_TYPE, signature, text, []);
}

/** As in their API reference: "Send logs", API v2. Members besides the reserved ones become attributes. */
function toDatadog({ api_key, site, tags }: NonNullable<EventTarget['datadog']>, event: SentEvent, text: string) {
  const log = {
    ddsource: SERVICE,
    service: SERVICE,
    ...(tags.length > 0 && { ddtags: tags.join(',') }),
    timestamp: event.time,
    message: `${event.type} ${event.subject}`,
    event: JSON.parse(text),
  };
  const url = new URL(`https://http-intake.logs.${site}/api/v2/logs`);
  return request(url, JSON_TYPE, { 'dd-api-key': api_key }, JSON.stringify([log]), [api_key]);
}

/**
 * An ExportLogsServiceRequest with one record (OTLP 1, JSON encoding), whose body is the event as text. Attributes are
 * those of OpenTelemetry's conventions for CloudEvents.
 */
function toOtlp(
  { url, headers }: NonNullable<EventTarget['otlp_logs']>,
  event: SentEvent,
  source: string,
  text: string,
) {
  const record = {
    timeUnixNano: nanoseconds(event.time),
    severityNumber: 9,
    severityText: 'INFO',
    eventName: event.type,
    body: { stringValue: text },
    attributes: attributes({
      'cloudevents.event_spec_version': '1.0',
      'cloudevents.event_id': event.id,
      'cloudevents.event_source': source,
      'cloudevents.event_type': event.type,
      'cloudevents.event_subject': event.subject,
    }),
  };
  const scope = { name: SERVICE, version: BUILD.version };
  const resource = { attributes: attributes({ 'service.name': SERVICE }) };
  const values = Object.values(headers);
  // With and without the scheme of an Authorization header.
  const secrets = [...values, ...values.flatMap((value) => value.split(' '))];
  const body = { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: [record] }] }] };
  return {
    ...request(new URL(url), JSON_TYPE, headers, JSON.stringify(body), secrets),
    isRejection: (answer: string) => REJECTED.test(answer),
  };
}

/** An ExportLogsPartialSuccess with a count; 64-bit numbers are texts in this encoding. */
const REJECTED = /"rejectedLogRecords"\s*:\s*"?[1-9]/;

const attributes = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));

/** As a text: a number of JSON is not that precise. */
const nanoseconds = (time: string) => `${Date.parse(time)}000000`;
