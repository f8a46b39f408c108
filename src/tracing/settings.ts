/** OpenTelemetry's own variables for traces. Its exporter reads further variables by itself. */
import { z } from 'zod';
import { httpBaseUrl, httpUrl, onOff, wholeNumber } from '../settings/schemas.ts';
import { BadSettings, type Settings, type Values } from '../settings/settings.ts';

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const ratio = z
  .string()
  .regex(/^\d?\.?\d{1,15}$/, { error: 'must be a number from 0 to 1, such as 0.1', abort: true })
  .transform(Number)
  .refine((part) => part <= 1, 'must be a number from 0 to 1, such as 0.1');

const forTheExporter = z.string().optional();

/**
 * The only supported protocol. The variable for traces wins over the one for all signals, which may name another
 * protocol.
 */
const PROTOCOL = 'http/protobuf';
const protocol = z.string().optional();

export const tracingSettings = {
  otlpEndpoint: {
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description: 'where to send traces over OTLP/HTTP, as in http://collector:4318; if unset, none are sent',
    schema: httpBaseUrl.optional(),
  },
  otlpTracesEndpoint: {
    env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    description: 'the same, with the whole path; wins over OTEL_EXPORTER_OTLP_ENDPOINT',
    schema: httpUrl.optional(),
  },
  otlpHeaders: {
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    description: 'headers to send with traces, as name=value,name=value',
    secret: true,
    followed: true,
    schema: forTheExporter,
  },
  otlpProtocol: {
    env: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    description: 'http/protobuf',
    schema: protocol,
  },
  otlpTracesProtocol: {
    env: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    description: 'the same; wins over OTEL_EXPORTER_OTLP_PROTOCOL',
    schema: protocol,
  },
  tracesExporter: {
    env: 'OTEL_TRACES_EXPORTER',
    description: 'otlp, or none for no traces',
    default: 'otlp',
    schema: z.enum(['otlp', 'none']),
  },
  tracesSampler: {
    env: 'OTEL_TRACES_SAMPLER',
    description: `which traces are sent: ${SAMPLERS.join(', ')}`,
    default: 'parentbased_always_on',
    schema: z.enum(SAMPLERS),
  },
  tracesSampled: {
    env: 'OTEL_TRACES_SAMPLER_ARG',
    description: 'fraction of traces that the ratio samplers send, from 0 to 1',
    default: '1',
    schema: ratio,
  },
  tracesDelayMs: {
    env: 'OTEL_BSP_SCHEDULE_DELAY',
    description: 'milliseconds for which spans are collected before they are sent',
    default: '5000',
    schema: wholeNumber(1, 3_600_000),
  },
  serviceName: {
    env: 'OTEL_SERVICE_NAME',
    description: 'name of this program in traces; default: tunnel-operator, or tunnel-operator-api for the API',
    schema: forTheExporter,
  },
  resourceAttributes: {
    env: 'OTEL_RESOURCE_ATTRIBUTES',
    description: 'further attributes of this program in traces, as name=value,name=value',
    schema: forTheExporter,
  },
  tracingDisabled: {
    env: 'OTEL_SDK_DISABLED',
    description: 'true for no traces, whatever else is set',
    default: 'false',
    schema: z.string().toLowerCase().pipe(onOff),
  },
} as const satisfies Settings;

export interface TracingConfig extends Values<typeof tracingSettings> {
  /** What the file of OTEL_EXPORTER_OTLP_HEADERS holds now, if it is given as a file. */
  latestOtlpHeaders?: (() => string | undefined) | undefined;
}

/**
 * Where traces are sent; undefined if none are.
 * @throws BadSettings when another protocol is set
 */
export function tracesUrl(config: TracingConfig): string | undefined {
  const { otlpEndpoint: base, otlpTracesEndpoint: whole, otlpProtocol, otlpTracesProtocol } = config;
  if (config.tracingDisabled || config.tracesExporter === 'none') return undefined;
  const url = whole ?? (base === undefined ? undefined : `${base}/v1/traces`);
  const protocol = otlpTracesProtocol ?? otlpProtocol ?? PROTOCOL;
  if (url !== undefined && protocol !== PROTOCOL)
    throw new BadSettings(
      `OTEL_EXPORTER_OTLP_PROTOCOL is "${protocol}", but must be ${PROTOCOL}, the only supported protocol`,
    );
  return url;
}
