/** Probes: is the process alive, and can it serve. */
import type { FastifyInstance } from 'fastify';
import { overloaded, unavailable } from '../errors/errors.ts';
import type { Database } from '../store/database.ts';
import { type Migration, migrations } from '../store/migrate.ts';
import type { Shutdown } from './shutdown.ts';

const APPLIED = { name: 'ready', text: 'select version from schema_migrations', values: [] };

export function addHealth(app: FastifyInstance, db: Database, shutdown: Shutdown): void {
  let wanted: Migration[] | undefined;
  let asking: Promise<Set<number>> | undefined;

  /** One query for all who wait at the same time: anybody may ask, as often as they like. */
  function versions(): Promise<Set<number>> {
    asking ??= db
      .query(APPLIED)
      .then((rows) => new Set(rows.map(({ version }) => Number(version))))
      .finally(() => {
        asking = undefined;
      });
    return asking;
  }

  app.get('/healthz', async (request) => {
    request.documentedPath = '/healthz';
    return { status: 'ok' };
  });
  app.get('/readyz', async (request) => {
    request.documentedPath = '/readyz';
    // Not a failure, and asked very often: one line in the log says so, not one for each.
    if (shutdown.hasBegun()) throw overloaded('The service is stopping.');
    wanted ??= await migrations();
    const applied = await versions();
    const missing = wanted.filter(({ version }) => !applied.has(version));
    if (missing.length > 0) throw unavailable('The database lacks migrations of this release.');
    return { status: 'ready' };
  });
}
