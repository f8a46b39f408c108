/** Probes: is the process alive, and can it serve. */
import type { FastifyInstance } from 'fastify';
import { overloaded, unavailable } from '../errors/errors.ts';
import type { Shutdown } from '../guard/shutdown.ts';
import type { Executor } from '../store/database.ts';
import { type Migration, migrations } from '../store/migrate.ts';

const APPLIED = { name: 'ready', text: 'select version from schema_migrations', values: [] };

export function addHealth(app: FastifyInstance, db: Executor, shutdown: Shutdown): void {
  let wanted: Migration[] | undefined;
  let asking: Promise<Set<number>> | undefined;

  /** One query for all requests that wait at the same time, since nothing limits these requests. */
  function versions(): Promise<Set<number>> {
    asking ??= db
      .query(APPLIED)
      .then((rows) => new Set(rows.map(({ version }) => Number(version))))
      .finally(() => {
        asking = undefined;
      });
    return asking;
  }

  app.get('/healthz', { config: { documentedPath: '/healthz' } }, async () => ({ status: 'ok' }));
  app.get('/readyz', { config: { documentedPath: '/readyz' } }, async () => {
    // Reported as an overload, not as a failure, so that it is logged only once.
    if (shutdown.hasBegun()) throw overloaded('The service is stopping.');
    wanted ??= await migrations();
    const applied = await versions();
    const missing = wanted.filter(({ version }) => !applied.has(version));
    if (missing.length > 0) throw unavailable('The database lacks migrations of this release.');
    return { status: 'ready' };
  });
}
