/** Starts tracing that sends to a test's receiver. */
import { pino } from 'pino';
import { readSettings } from '../../src/settings/settings.ts';
import { tracingSettings } from '../../src/tracing/settings.ts';
import { startTracing } from '../../src/tracing/start.ts';
import type { Tracing } from '../../src/tracing/tracing.ts';
import type { Receiver } from './receiver.ts';

export async function tracingTo({ url }: Pick<Receiver, 'url'>, env: Record<string, string> = {}): Promise<Tracing> {
  const config = readSettings(tracingSettings, {}, { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env });
  const tracing = await startTracing(config, { service: 'tests', version: '1', log: pino({ level: 'silent' }) });
  if (!tracing) throw new Error('there is an endpoint');
  return tracing;
}
