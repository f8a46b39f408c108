/**
 * Tracing by OpenTelemetry's SDK. It registers nothing globally: both programs can run in one process, each with its
 * own traces or none.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  type Attributes as OtelAttributes,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseKeyPairsIntoRecord, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { ReportingExporter } from './reporting-exporter.ts';
import { samplerOf } from './sampler.ts';
import type { TracingConfig } from './settings.ts';
import type { Attributes, Span, SpanStart, TracedProgram, TraceIds, Tracing } from './tracing.ts';

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;
const GETTER = {
  get: (headers: NonNullable<SpanStart['from']>, name: string) => headers[name],
  keys: (headers: NonNullable<SpanStart['from']>) => Object.keys(headers),
};
const SETTER = {
  set(headers: Record<string, string>, name: string, value: string) {
    headers[name] = value;
  },
};
const propagator = new W3CTraceContextPropagator();

export class OpenTelemetry implements Tracing {
  readonly #active = new AsyncLocalStorage<TracedSpan>();
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  constructor({ url, service, version, log, ...config }: TracingConfig & TracedProgram & { url: string }) {
    const { latestOtlpHeaders: latest } = config;
    // The exporter itself reads the variable, but knows nothing of a file.
    const headers = latest && { headers: async () => parseKeyPairsIntoRecord(latest()) };
    const exporter = new ReportingExporter(new OTLPTraceExporter({ url, ...headers }), log);
    const ours = resourceFromAttributes({ 'service.name': service, 'service.version': version });
    const theirs = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
    this.#provider = new TracerProvider({
      resource: defaultResource().merge(ours).merge(theirs),
      sampler: samplerOf(config.tracesSampler, config.tracesSampled),
      spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: config.tracesDelayMs })],
    });
    this.#tracer = this.#provider.getTracer('tunnel-operator', version);
  }

  begin({ name, kind = 'internal', attributes = {}, from }: SpanStart): Span {
    const parent = from
      ? propagator.extract(ROOT_CONTEXT, from, GETTER)
      : (this.#active.getStore()?.context ?? ROOT_CONTEXT);
    const span = this.#tracer.startSpan(name, { kind: KINDS[kind], attributes: known(attributes) }, parent);
    return new TracedSpan(span, this.#active);
  }

  ids(): TraceIds | undefined {
    return this.#active.getStore()?.ids;
  }

  async stop(): Promise<void> {
    await this.#provider.shutdown();
  }
}

class TracedSpan implements Span {
  readonly context: Context;
  readonly #span: OtelSpan;
  readonly #active: AsyncLocalStorage<TracedSpan>;

  constructor(span: OtelSpan, active: AsyncLocalStorage<TracedSpan>) {
    this.context = trace.setSpan(ROOT_CONTEXT, span);
    this.#span = span;
    this.#active = active;
  }

  within<T>(work: () => T): T {
    return this.#active.run(this, work);
  }

  get ids(): TraceIds {
    const { traceId: trace_id, spanId: span_id } = this.#span.spanContext();
    return { trace_id, span_id };
  }

  get headers(): Record<string, string> {
    const headers: Record<string, string> = {};
    propagator.inject(this.context, headers, SETTER);
    return headers;
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(known(attributes));
  }

  fail(type: string): void {
    this.#span.setAttribute('error.type', type);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span.end();
  }
}

function known(attributes: Attributes): OtelAttributes {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, copied(value)]])),
  );
}

const copied = (value: string | number | boolean | readonly string[]) =>
  typeof value === 'object' ? [...value] : value;
