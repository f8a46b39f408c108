/** Records when API keys were last used, to the hour. No request waits for it or fails because of it. */
import type { FastifyInstance } from 'fastify';
import type { Executor } from '../store/database.ts';
import { transientCondition } from '../store/database-errors.ts';

export interface LastUse {
  /** The key is in use, and that is not recorded yet. */
  note(keyId: string): void;
}

/** Collects keys for this long, so that an hour that begins does not cost a statement for each. */
const PAUSE_MS = 1_000;

const THIS_HOUR = "date_trunc('hour', now(), 'UTC')";

/** Whether the use of a key has not been recorded this hour. */
export const IS_DUE = `(last_used_at is null or last_used_at < ${THIS_HOUR})`;

/** Skips rows that are locked: the next request notes the key again. */
const RECORD = `
  update api_keys set last_used_at = ${THIS_HOUR}
   where id = any(array(select id from api_keys where id = any($1) and ${IS_DUE} for no key update skip locked))`;

export function recordLastUse(app: FastifyInstance, db: Executor): LastUse {
  const noted = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let written = Promise.resolve();

  async function write(): Promise<void> {
    timer = undefined;
    const ids = [...noted];
    noted.clear();
    try {
      await db.query({ name: 'api_keys.last_use', text: RECORD, values: [ids] });
    } catch (err) {
      const condition = transientCondition(err);
      app.logRefusal('could not record the use of API keys', { err, level: 'warn', condition, log: app.log });
    }
  }

  app.addHook('onClose', async () => {
    clearTimeout(timer);
    await written;
  });
  return {
    note(keyId) {
      noted.add(keyId);
      timer ??= setTimeout(() => {
        written = write();
      }, PAUSE_MS).unref();
    },
  };
}
