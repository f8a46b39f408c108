/**
 * The tracing interface of both programs. It does not import OpenTelemetry, which is loaded only if an endpoint is set
 * (start.ts); without one there is no Tracing. Why our own spans: docs/decisions/0018.
 */
import type { Logger } from 'pino';

export interface TracedProgram {
  /** Unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES name another. */
  service: string;
  version: string;
  log: Pick<Logger, 'info' | 'warn'>;
}

/** Named by OpenTelemetry's semantic conventions, or below `tunnel_operator.`. Never a value that may hold a secret. */
export type Attributes = Record<string, string | number | boolean | readonly string[] | undefined>;

export interface SpanStart {
  name: string;
  /** Default: internal. */
  kind?: 'internal' | 'server' | 'client';
  attributes?: Attributes;
  /** Headers of a request that is being served. The span continues the trace of the caller, not the active one. */
  from?: Readonly<Record<string, string | string[] | undefined>>;
}

/** Under the names that log lines use. */
export interface TraceIds {
  trace_id: string;
  span_id: string;
}

export interface Span {
  readonly ids: TraceIds;
  /** Headers by which the receiver of a request continues the trace. */
  readonly headers: Readonly<Record<string, string>>;
  set(attributes: Attributes): void;
  /** Makes this the active span for `work` and everything it starts. */
  within<T>(work: () => T): T;
  /** @param type one of few: a status, a code, a class, never a message */
  fail(type: string): void;
  end(): void;
}

export interface Tracing {
  /** A child of the active span. */
  begin(start: SpanStart): Span;
  /** The ids of the active span; undefined outside any span. */
  ids(): TraceIds | undefined;
  /** Sends the remaining spans. Takes as long as the receiver needs: callers set a limit. */
  stop(): Promise<void>;
}

/** Runs `work` in a span, which fails when it throws. */
export async function traced<T>(
  tracing: Tracing | undefined,
  start: SpanStart,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (!tracing) return work(undefined);
  const span = tracing.begin(start);
  try {
    return await span.within(() => work(span));
  } catch (error) {
    span.fail(errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** The code of an error (of PostgreSQL, of the system), or its class. */
export function errorType(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
