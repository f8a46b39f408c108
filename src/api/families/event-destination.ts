/** Event destinations: which URLs they may have, and how they are opened to send events to them. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { eventDestination } from '../../resources/event-destination.ts';
import { storedTarget } from '../../resources/event-target.ts';
import { mount } from '../crud/mount.ts';
import { invalidByRule } from '../errors/errors.ts';
import { retryNow } from '../events/queue/requeue.ts';
import { eventGuard } from '../events/wire/event-guard.ts';
import type { Destination } from '../events/wire/targets.ts';
import type { Platform } from '../http/platform.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Database, Executor } from '../store/database.ts';
import { accountOf } from '../store/owning-account.ts';
import type { Row } from '../store/repository.ts';
import { addTest } from './event-destination-test.ts';
import { addPausing } from './event-pausing.ts';
import { addRotation, firstSecret, SIGNING_SECRETS, signingSecrets } from './event-signing-secret.ts';

export const eventDestinations = mount(eventDestination, {
  ...SIGNING_SECRETS,
  isVolatile: () => true,
  derive(after, before, { platform }) {
    checkUrl(after.target, before?.target, platform);
    return {};
  },
  async beforeUpdate({ tx }, before, after) {
    if (!isDeepStrictEqual(before.target, after.target)) await retryNow(tx, before.id);
  },
  prepare: async ({ signing_secret }, id, { secrets }) => firstSecret(secrets, id, signing_secret ?? undefined),
  async isSecret({ api, tx }, id, sent) {
    const [current] = await signingSecrets(tx, api.secrets, id);
    return current === sent;
  },
});

addPausing(eventDestinations);
addRotation(eventDestinations);
addTest(eventDestinations, ({ db, secrets }, row) => open(db, secrets, row));

/** Refuses a new URL that events would not be sent to. Host names are looked up only when something is sent. */
function checkUrl(target: unknown, before: unknown, { eventAllowNetworks, eventHttpHosts }: Platform): void {
  const urls = urlsOf(target);
  const known = urlsOf(before);
  const guard = eventGuard({ networks: eventAllowNetworks, httpHosts: eventHttpHosts });
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

/** The destination as events are sent to it, with its secrets; undefined if it is paused or does not exist. */
export async function openDestination(db: Database, secrets: Secrets, id: string): Promise<Destination | undefined> {
  const account = await accountOf(db, eventDestination, id);
  if (account === undefined) return undefined;
  const row = await eventDestinations.rows.get(db.within(account), id);
  return row && row.status !== 'paused' ? open(db, secrets, row) : undefined;
}

async function open(db: Executor, secrets: Secrets, row: Row): Promise<Destination> {
  const { id } = row;
  const { format, target } = opened.parse(eventDestinations.sealed.open(secrets, row));
  return { id, format, target, secrets: await signingSecrets(db, secrets, id) };
}

const opened = z.object({ format: eventDestination.view.shape.format, target: storedTarget });
