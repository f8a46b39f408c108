/** What `npm run bench` measures, by name. */
import { benchApi } from './api/bench.ts';
import { benchCluster } from './cluster/bench.ts';
import { benchCompare } from './compare.ts';
import { benchEvents } from './events/bench.ts';
import { benchMemory } from './memory/bench.ts';
import { benchOperator } from './operator.ts';
import type { BenchOptions } from './options.ts';
import { benchPaging } from './paging/bench.ts';
import { benchScale } from './scale.ts';

export const PARTS: Readonly<Record<string, (options: BenchOptions) => Promise<void>>> = {
  api: benchApi,
  paging: benchPaging,
  events: benchEvents,
  memory: benchMemory,
  operator: benchOperator,
  scale: benchScale,
  processes: benchCluster,
  compare: benchCompare,
};

/**
 * The parts that run by default. Excluded are memory and scale, which take long; processes, which need a machine with many
 * processors to be meaningful; and the comparison, which needs another checkout.
 */
export const BY_DEFAULT = ['api', 'paging', 'operator'];
