/** The requests that each kind of target gets. */
import { BUILD } from '../../../build.ts';
import { SIGNING_SECRET_PREFIX } from '../../../resources/event-destination.ts';
import type { EventTarget } from '../../../resources/event-target.ts';
import { CLOUD_EVENTS_TYPE, cloudEvent, type EventFormat, type SentEvent } from './cloud-event.ts';
import { redactor, secretsIn } from './redaction.ts';
import type { TargetRequest } from './sender.ts';
import { messageSigner } from './signature.ts';

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

/** Where the events of a destination go. */
export interface Target {
  readonly url: URL;
  /** The request for one event. */
  request(event: SentEvent, now: Date): TargetRequest;
}

/**
 * Prepares what is the same for all events of a destination.
 * @param source the installation, as a URI
 */
export function openTarget(destination: Destination, source: string): Target {
  const { webhook, datadog, otlp_logs: otlpLogs } = destination.target;
  const textOf = (event: SentEvent) => cloudEvent(event, source, destination.format);
  if (webhook) return toWebhook(webhook.url, destination.secrets, textOf);
  if (datadog) return toDatadog(datadog, textOf);
  if (otlpLogs) return toOtlp(otlpLogs, source, textOf);
  throw new TypeError(`${destination.id} has no target`);
}

/** What all requests to a URL have in common. */
function endpoint(url: URL, type: string, headers: TargetRequest['headers'], secrets: readonly string[]) {
  return {
    url,
    headers: { ...headers, 'content-type': type, 'user-agent': `${SERVICE}/${BUILD.version}` },
    redact: redactor([...secretsIn(url), ...secrets]),
  };
}

type TextOf = (event: SentEvent) => string;

function toWebhook(address: string, secrets: readonly string[], textOf: TextOf): Target {
  const sign = messageSigner(secrets);
  const keys = secrets.map((secret) => secret.slice(SIGNING_SECRET_PREFIX.length));
  const common = endpoint(new URL(address), CLOUD_EVENTS_TYPE, {}, keys);
  return {
    url: common.url,
    request(event, now) {
      const body = textOf(event);
      return { ...common, headers: { ...common.headers, ...sign(event.id, now, body) }, body };
    },
  };
}

/** As in their API reference: "Send logs", API v2. Members besides the reserved ones become attributes. */
function toDatadog({ api_key, site, tags }: NonNullable<EventTarget['datadog']>, textOf: TextOf): Target {
  const url = new URL(`https://http-intake.logs.${site}/api/v2/logs`);
  const common = endpoint(url, JSON_TYPE, { 'dd-api-key': api_key }, [api_key]);
  return {
    url,
    request(event) {
      const log = {
        ddsource: SERVICE,
        service: SERVICE,
        ...(tags.length > 0 && { ddtags: tags.join(',') }),
        timestamp: event.time,
        message: `${event.type} ${event.subject}`,
        event: JSON.parse(textOf(event)),
      };
      return { ...common, body: JSON.stringify([log]) };
    },
  };
}

/** OTLP 1, JSON encoding. */
function toOtlp(
  { url: address, headers }: NonNullable<EventTarget['otlp_logs']>,
  source: string,
  textOf: TextOf,
): Target {
  const values = Object.values(headers);
  // With and without the scheme of an Authorization header.
  const secrets = [...values, ...values.flatMap((value) => value.split(' '))];
  const common = endpoint(new URL(address), JSON_TYPE, headers, secrets);
  return {
    url: common.url,
    request: (event) => ({
      ...common,
      body: JSON.stringify(logsRequest(event, source, textOf(event))),
      isRejection: (answer) => REJECTED.test(answer),
    }),
  };
}

/**
 * An ExportLogsServiceRequest with one record, whose body is the event as text. Attributes are those of OpenTelemetry's
 * conventions for CloudEvents.
 */
function logsRequest(event: SentEvent, source: string, text: string) {
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
  return { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: [record] }] }] };
}

/** An ExportLogsPartialSuccess with a count; 64-bit numbers are texts in this encoding. */
const REJECTED = /"rejectedLogRecords"\s*:\s*"?[1-9]/;

const attributes = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));

/** As text, since a number in JSON is not precise enough. */
const nanoseconds = (time: string) => `${Date.parse(time)}000000`;
