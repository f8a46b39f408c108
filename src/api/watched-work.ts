/**
 * Shows the state of the work in the background in the metrics, also of processes that do none of it: if nobody does, an alert
 * fires.
 */
import type { FastifyBaseLogger } from 'fastify';
import { backlogOf } from './events/queue/backlog.ts';
import { failureLog } from './guard/refusal-log.ts';
import { certificateState } from './issuance/state.ts';
import type { Database } from './store/database.ts';
import { showCertificateState } from './telemetry/certificate-metrics.ts';
import { showBacklog } from './telemetry/event-metrics.ts';

/** About as often as metrics are scraped. */
const EVERY_MS = 15_000;

/** Returns a function that ends it. */
export function watchWork(db: Database, logger: FastifyBaseLogger | undefined): () => Promise<void> {
  const onError = logger && failureLog(logger);
  let measured: Promise<unknown> = Promise.resolve();
  const look = <T>(read: (db: Database) => Promise<T>, show: (known: T | undefined) => void, what: string) =>
    read(db).then(show, (error: unknown) => {
      show(undefined);
      onError?.(error, what);
    });
  const measure = () => {
    measured = Promise.all([
      look(backlogOf, showBacklog, 'count the events that wait'),
      look(certificateState, showCertificateState, 'look at the certificates'),
    ]);
  };
  measure();
  const timer = setInterval(measure, EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    await measured;
    showBacklog(undefined);
    showCertificateState(undefined);
  };
}
