/**
 * npm run test:clients [-- generator …]
 *
 * Generates clients from the OpenAPI document with each generator, compiles them, and lets each create, list, update and
 * delete one resource of every family, and replace, get and delete its modules. A generator that cannot be installed is
 * left out, with the reason; the run fails if a client does, or if none could run.
 */
import { GENERATORS } from '../dev/clients/generated.ts';
import { playClient } from '../dev/clients/play.ts';
import { ToolsUnavailable } from '../dev/clients/tools.ts';
import { createDatabase } from '../dev/database/databases.ts';
import { startPostgres } from '../dev/database/postgres.ts';
import { startTarget } from '../dev/fuzz/run.ts';

const chosen = process.argv.slice(2);
const names = chosen.length > 0 ? chosen : Object.keys(GENERATORS);
const counts = { passed: 0, failed: 0, skipped: 0 };
const say = (text: string) => process.stdout.write(`${text}\n`);

const postgres = await startPostgres();
try {
  for (const name of names) {
    // Each gets its own database, since their resources have the same names.
    const target = await startTarget(await createDatabase(postgres.url, `clients_${names.indexOf(name)}`));
    try {
      await playClient(name, { url: target.url, key: target.admin.key });
      say(`${name}: ok`);
      counts.passed++;
    } catch (error) {
      const skipped = error instanceof ToolsUnavailable;
      say(`${name}: ${skipped ? 'left out: ' : ''}${error instanceof Error ? error.message : error}`);
      counts[skipped ? 'skipped' : 'failed']++;
    } finally {
      await target.stop();
    }
  }
} finally {
  await postgres.stop();
}
if (counts.failed > 0 || counts.passed === 0) process.exitCode = 1;
say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
