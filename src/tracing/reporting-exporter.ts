/** Logs once that traces cannot be sent, and once that they are sent again, so that an outage does not fill the log. */
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { errorType } from './tracing.ts';

export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: Pick<Logger, 'info' | 'warn'>;
  /** Spans dropped since the last successful export. */
  #lost = 0;

  constructor(exporter: SpanExporter, log: Pick<Logger, 'info' | 'warn'>) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.#sent();
      else this.#failed(spans.length, result.error);
      // Already reported here; the SDK would report a failure again for every batch.
      done({ code: ExportResultCode.SUCCESS });
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  #sent(): void {
    if (this.#lost > 0) this.#log.info({ lost: this.#lost }, 'traces are sent again');
    this.#lost = 0;
  }

  #failed(spans: number, error: Error | undefined): void {
    if (this.#lost === 0) this.#log.warn(describe(error), 'traces cannot be sent; they are dropped until they can');
    this.#lost += spans;
  }
}

/** Not the whole error, which contains the response of the receiver. */
function describe(error: Error | undefined) {
  if (error === undefined) return {};
  const status = 'code' in error && typeof error.code === 'number' ? { status: error.code } : {};
  return { ...status, error: `${errorType(error)}: ${error.message}`.slice(0, 200) };
}
