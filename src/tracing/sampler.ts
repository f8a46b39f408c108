/** Samplers by their names in OTEL_TRACES_SAMPLER, which the SDK itself no longer reads. */
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from './settings.ts';

/** @param ratio the fraction of traces to send, from 0 to 1, for samplers that have one */
export function samplerOf(name: TracingConfig['tracesSampler'], ratio: number): Sampler {
  const own = name.replace(/^parentbased_/, '');
  const root =
    own === 'always_on'
      ? new AlwaysOnSampler()
      : own === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return own === name ? root : new ParentBasedSampler({ root });
}
