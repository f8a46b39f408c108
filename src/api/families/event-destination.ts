/** Event destinations: their signing secrets, sealed and shown once. */
import { randomBytes } from 'node:crypto';
import { eventDestination, SIGNING_SECRET_PREFIX } from '../../resources/event-destination.ts';
import { mount } from '../crud/mount.ts';

const SIGNING_SECRET = 'sealed_signing_secret';

export const eventDestinations = mount(eventDestination, {
  columns: [SIGNING_SECRET],
  sealed: [SIGNING_SECRET],
  async prepare({ signing_secret }, id, { secrets }) {
    const secret = signing_secret ?? SIGNING_SECRET_PREFIX + randomBytes(32).toString('base64');
    const sealed = secrets.seal(secret, { table: eventDestination.table, id, field: SIGNING_SECRET });
    return { columns: { [SIGNING_SECRET]: sealed }, token: secret };
  },
});
