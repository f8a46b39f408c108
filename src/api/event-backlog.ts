/** Shows what waits to be delivered in the metrics, also of processes that deliver nothing: if none does, an alert fires. */
import type { FastifyBaseLogger } from 'fastify';
import { backlogOf } from './events/queue/backlog.ts';
import { failureLog } from './guard/refusal-log.ts';
import type { Database } from './store/database.ts';
import { showBacklog } from './telemetry/event-metrics.ts';

/** About as often as metrics are scraped. */
const EVERY_MS = 15_000;

/** Returns a function that ends it. */
export function watchEventBacklog(db: Database, logger: FastifyBaseLogger | undefined): () => Promise<void> {
  const onError = logger && failureLog(logger);
  let measured = Promise.resolve();
  const measure = () => {
    measured = backlogOf(db).then(showBacklog, (error: unknown) => {
      showBacklog(undefined);
      onError?.(error, 'count the events that wait');
    });
  };
  measure();
  const timer = setInterval(measure, EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    await measured;
    showBacklog(undefined);
  };
}
