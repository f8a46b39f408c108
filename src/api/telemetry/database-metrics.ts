/** How long the database takes and how often it fails. Of the process, since its database is opened before its server. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { DatabaseObserver } from '../store/database.ts';
import { transientCondition, violation } from '../store/database-errors.ts';

/** An observation takes some microseconds, and a create has five statements. */
const EVERY = 16;
let statements = 0;

const total = new Counter({
  name: 'tunnel_api_db_statements_total',
  help: 'Database statements, BEGIN and COMMIT included.',
  registers: [],
  collect() {
    this.reset();
    this.inc(statements);
  },
});

const duration = new Histogram({
  name: 'tunnel_api_db_statement_duration_seconds',
  help: `Duration of one in ${EVERY} database statements, by SQL command; "failed" for all those with an error.`,
  labelNames: ['command'] as const,
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  registers: [],
});

const errors = new Counter({
  name: 'tunnel_api_db_errors_total',
  help: 'Errors of the database and of connections to it, by condition; conflicts between resources do not count.',
  labelNames: ['condition'] as const,
  registers: [],
});

export function registerDatabaseMetrics(registry: Registry): void {
  registry.registerMetric(total);
  registry.registerMetric(duration);
  registry.registerMetric(errors);
}

/** By command, not by name: hundreds of names would make thousands of series. */
export const databaseObserver: DatabaseObserver = {
  ran(command, seconds) {
    const isMeasured = statements++ % EVERY === 0;
    if (command === undefined || isMeasured) duration.observe({ command: command ?? 'failed' }, seconds);
  },
  failed(error) {
    const condition = transientCondition(error);
    if (condition === undefined && violation(error)) return;
    errors.inc({ condition: condition ?? 'other' });
  },
};
