/** Event destinations: which URLs they may have, and their signing secrets, sealed and shown once. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { eventDestination, SIGNING_SECRET_PREFIX } from '../../resources/event-destination.ts';
import { storedTarget } from '../../resources/event-target.ts';
import { mount } from '../crud/mount.ts';
import { invalidByRule } from '../errors/errors.ts';
import { createAddressGuard } from '../events/wire/address-guard.ts';
import type { Platform } from '../http/platform.ts';

const SIGNING_SECRET = 'sealed_signing_secret';
const stored = z.object({ [SIGNING_SECRET]: z.string() });

const { table } = eventDestination;
const locationOf = (id: string) => ({ table, id, field: SIGNING_SECRET });

export const eventDestinations = mount(eventDestination, {
  columns: [SIGNING_SECRET],
  sealed: [SIGNING_SECRET],
  derive(after, before, { platform }) {
    checkUrl(after.target, before?.target, platform);
    return {};
  },
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

/** Refuses a new URL that events would not be sent to. Host names are looked up only when something is sent. */
function checkUrl(target: unknown, before: unknown, { eventAllowNetworks, eventHttpHosts }: Platform): void {
  const urls = urlsOf(target);
  const known = urlsOf(before);
  const guard = createAddressGuard({ networks: eventAllowNetworks, httpHosts: eventHttpHosts });
  for (const name of ['webhook', 'otlp_logs'] as const) {
    const url = urls[name];
    const problem = url === undefined || url === known[name] ? undefined : guard.refusalOfUrl(new URL(url));
    if (problem !== undefined) throw invalidByRule({ [`/target/${name}/url`]: problem });
  }
}

function urlsOf(target: unknown) {
  const { webhook, otlp_logs } = storedTarget.optional().parse(target) ?? {};
  return { webhook: webhook?.url, otlp_logs: otlp_logs?.url };
}
