import { expect, test } from 'vitest';
import { readSettings } from '../../src/settings/settings.ts';
import { tracesUrl, tracingSettings } from '../../src/tracing/settings.ts';

const read = (env: Record<string, string>) => readSettings(tracingSettings, {}, env);

test.each<[string, Record<string, string>, string | undefined]>([
  ['nowhere by default', {}, undefined],
  ['to the path for traces', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, 'http://c:4318/v1/traces'],
  ['below a prefix', { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c/otlp/' }, 'https://c/otlp/v1/traces'],
  [
    'to the URL for traces as it is',
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t/x', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' },
    'http://t/x',
  ],
  ['nowhere when disabled', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_SDK_DISABLED: 'true' }, undefined],
  ['nowhere with exporter none', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_EXPORTER: 'none' }, undefined],
  [
    'nowhere when disabled in capitals',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_SDK_DISABLED: 'TRUE' },
    undefined,
  ],
  [
    'by the protocol for traces, which takes precedence',
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
    },
    'http://c/v1/traces',
  ],
  ['with the password of the receiver', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://u:p@c' }, 'http://u:p@c/v1/traces'],
  ['nowhere for an empty variable', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, undefined],
])('traces go %s', (_, env, url) => {
  expect(tracesUrl(read(env))).toBe(url);
});

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', /must be an http or https URL/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://c?a=b', /must have no query and no fragment/],
  ['OTEL_SDK_DISABLED', 'yes', /must be true or false/],
  ['OTEL_TRACES_SAMPLER', 'some', /OTEL_TRACES_SAMPLER/],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5', /must be a number from 0 to 1/],
  ['OTEL_TRACES_SAMPLER_ARG', '-1', /must be a number from 0 to 1/],
  ['OTEL_TRACES_SAMPLER_ARG', 'x', /must be a number from 0 to 1/],
])('%s=%s is refused before anything starts', (name, value, reason) => {
  expect(() => read({ [name]: value })).toThrow(reason);
});

test.each(['0', '1', '0.25', '.5', '1.0'])('%s of the traces may be sampled', (ratio) => {
  expect(read({ OTEL_TRACES_SAMPLER_ARG: ratio }).tracesSampled).toBe(Number(ratio));
});

test('another protocol is refused, unless nothing is sent', () => {
  const grpc = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  expect(() => tracesUrl(read(grpc))).toThrow(/is "grpc", but must be http\/protobuf, the only supported protocol/);
  expect(tracesUrl(read({ ...grpc, OTEL_SDK_DISABLED: 'true' }))).toBeUndefined();
});
