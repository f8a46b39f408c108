/** Event destinations: their signing secrets, sealed and shown once. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { eventDestination, SIGNING_SECRET_PREFIX } from '../../resources/event-destination.ts';
import { mount } from '../crud/mount.ts';

const SIGNING_SECRET = 'sealed_signing_secret';
const stored = z.object({ [SIGNING_SECRET]: z.string() });

const { table } = eventDestination;
const locationOf = (id: string) => ({ table, id, field: SIGNING_SECRET });

export const eventDestinations = mount(eventDestination, {
  columns: [SIGNING_SECRET],
  sealed: [SIGNING_SECRET],
  async prepare({ signing_secret }, id, { secrets }) {
    const secret = signing_secret ?? SIGNING_SECRET_PREFIX + randomBytes(32).toString('base64');
    return { columns: { [SIGNING_SECRET]: secrets.seal(secret, locationOf(id)) }, token: secret };
  },
  async isSecret({ api, tx }, id, sent) {
    const text = `select ${SIGNING_SECRET} from ${table} where id = $1`;
    const [row] = await tx.query({ name: `${table}.signing_secret`, text, values: [id] });
    return api.secrets.open(stored.parse(row)[SIGNING_SECRET], locationOf(id)) === sent;
  },
});
