/** Loads OpenTelemetry if traces are to be sent. */
import { type TracingConfig, tracesUrl } from './settings.ts';
import type { TracedProgram, Tracing } from './tracing.ts';

/** Undefined if no traces are sent. OpenTelemetry is then not loaded. */
export async function startTracing(config: TracingConfig, program: TracedProgram): Promise<Tracing | undefined> {
  const url = tracesUrl(config);
  if (url === undefined) return undefined;
  const { OpenTelemetry } = await import('./opentelemetry.ts');
  const { origin, pathname } = new URL(url);
  program.log.info({ url: origin + pathname, sampler: config.tracesSampler }, 'sending traces');
  return new OpenTelemetry({ ...config, ...program, url });
}
