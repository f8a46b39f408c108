import {
  ATTR_CLOUDEVENTS_EVENT_ID,
  ATTR_CLOUDEVENTS_EVENT_SOURCE,
  ATTR_CLOUDEVENTS_EVENT_SPEC_VERSION,
  ATTR_CLOUDEVENTS_EVENT_SUBJECT,
  ATTR_CLOUDEVENTS_EVENT_TYPE,
} from '@opentelemetry/semantic-conventions/incubating';
import { expect, test } from 'vitest';
import { cloudEvent } from '../../../../src/api/events/wire/cloud-event.ts';
import { openTarget } from '../../../../src/api/events/wire/targets.ts';
import type { EventTarget } from '../../../../src/resources/event-target.ts';
import { destination, EVENT } from './receiver.ts';

const SOURCE = 'https://api.example.com';
const of = (target: EventTarget) => openTarget(destination(target), SOURCE).request(EVENT, new Date());
const text = cloudEvent(EVENT, SOURCE, 'json');

test('Datadog gets a log with the event as an attribute, and the API key in a header', () => {
  const { url, headers, body } = of({
    datadog: { api_key: '0123456789abcdef', site: 'datadoghq.eu', tags: ['env:prod', 'team:a'] },
  });
  expect(url.href).toBe('https://http-intake.logs.datadoghq.eu/api/v2/logs');
  expect(headers).toMatchObject({ 'dd-api-key': '0123456789abcdef', 'content-type': 'application/json' });
  expect(JSON.parse(body)).toEqual([
    {
      ddsource: 'tunnel-operator',
      service: 'tunnel-operator',
      ddtags: 'env:prod,team:a',
      timestamp: EVENT.time,
      message: `${EVENT.type} ${EVENT.subject}`,
      event: JSON.parse(text),
    },
  ]);
  expect(body).not.toContain('0123456789abcdef');
});

test('OTLP gets a log record with the event as its body, and the attributes of CloudEvents', () => {
  const otlp_logs = { url: 'https://otel.example.com/v1/logs', headers: { 'x-scope-orgid': 'a', 'content-type': 'x' } };
  const { url, headers, body } = of({ otlp_logs });
  expect(url.href).toBe('https://otel.example.com/v1/logs');
  expect(headers).toMatchObject({ 'x-scope-orgid': 'a', 'content-type': 'application/json' });
  const { resourceLogs } = JSON.parse(body);
  expect(resourceLogs).toMatchObject([
    { resource: { attributes: [{ key: 'service.name', value: { stringValue: 'tunnel-operator' } }] } },
  ]);
  const [record] = resourceLogs[0].scopeLogs[0].logRecords;
  expect(record).toMatchObject({
    timeUnixNano: `${Date.parse(EVENT.time)}000000`,
    severityNumber: 9,
    eventName: EVENT.type,
    body: { stringValue: text },
  });
  const attributes = record.attributes.map(({ key, value }: { key: string; value: { stringValue: string } }) => [
    key,
    value.stringValue,
  ]);
  expect(Object.fromEntries(attributes)).toEqual({
    [ATTR_CLOUDEVENTS_EVENT_SPEC_VERSION]: '1.0',
    [ATTR_CLOUDEVENTS_EVENT_ID]: EVENT.id,
    [ATTR_CLOUDEVENTS_EVENT_SOURCE]: SOURCE,
    [ATTR_CLOUDEVENTS_EVENT_TYPE]: EVENT.type,
    [ATTR_CLOUDEVENTS_EVENT_SUBJECT]: EVENT.subject,
  });
});
