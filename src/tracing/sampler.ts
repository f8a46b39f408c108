/** Samplers by the names that OTEL_TRACES_SAMPLER has for them; the SDK reads these no longer by itself. */
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from './settings.ts';

/** @param ratio of the traces, from 0 to 1, for those samplers that have one */
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
