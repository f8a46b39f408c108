/** Workers on one queue, with the reconcile of a test and ways to observe them. Only for test files. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { createControllerMetrics } from '../../../src/operator/controller/metrics.ts';
import { SettledVersions } from '../../../src/operator/controller/settled-versions.ts';
import { WorkQueue } from '../../../src/operator/controller/work-queue.ts';
import { Workers, type WorkersOptions } from '../../../src/operator/controller/workers.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { NO_TERMS } from '../../../src/operator/managed/declaration/spec-terms.ts';
import type { ShownFailure } from '../../../src/operator/managed/object/status.ts';
import { object } from '../objects.ts';

type SetUpOptions = Partial<Pick<WorkersOptions, 'concurrency' | 'isOurs' | 'tracing'>>;

/** Workers whose reconcile is `reconcile`, for the object `ns/a`. */
export function setUp(reconcile: WorkersOptions['reconciler']['reconcile'], options: SetUpOptions = {}) {
  const { concurrency = 1, isOurs = () => true, tracing } = options;
  const store = new ObjectStore();
  const registry = new Registry();
  const settled = new SettledVersions();
  const queue = new WorkQueue({ backoff: { firstMs: 1, longestMs: 1 } });
  onTestFinished(() => queue.shutDown());
  const shown: ShownFailure[] = [];
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(line) });
  const workers = new Workers({
    name: 'IPPolicy',
    concurrency,
    queue,
    store,
    settled,
    isOurs,
    termsOf: () => NO_TERMS,
    reconciler: {
      reconcile,
      async recordFailure(_, failure) {
        shown.push(failure);
        return object({ version: 9 });
      },
    },
    metrics: createControllerMetrics(registry),
    tracing,
    log,
  });
  store.put(object());
  /** The value of a metric with exactly these labels. */
  const metric = async (name: string, labels: string) => {
    const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(`${name}{${labels}} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  const results = (result: string) =>
    metric('controller_runtime_reconcile_total', `controller="IPPolicy",result="${result}"`);
  return { store, settled, queue, workers, shown, metric, results, levels: () => lines.map(levelOf).filter(Boolean) };
}

/** The label of metrics about the kind of the workers. */
export const OF_KIND = 'controller="IPPolicy"';
/** The level of a line about a failure; undefined for other lines. */
const levelOf = (line: string) => {
  const { level, reason }: { level: number; reason?: string } = JSON.parse(line);
  return reason && { 20: 'debug', 40: 'warn' }[level];
};
export const done = (of: KubeObject) => Promise.resolve({ object: of });
