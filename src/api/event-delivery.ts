/** Sends the events of this installation to their destinations. */
import { hostname } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import { DRAIN_MS, type Pump, startPump } from './events/delivery/pump.ts';
import { type Courier, createCourier } from './events/wire/courier.ts';
import { eventDestinations, openDestination } from './families/event-destination.ts';
import { pauseFailing } from './families/event-pausing.ts';
import { failureLog } from './guard/refusal-log.ts';
import type { Api } from './http/operation.ts';
import type { Platform } from './http/platform.ts';
import type { Database } from './store/database.ts';
import { countDeliveries } from './telemetry/event-metrics.ts';

/** What sends the events of this installation, one by one. */
export async function eventCourier(db: Database, { eventAllowNetworks, eventHttpHosts }: Platform): Promise<Courier> {
  return createCourier({
    source: `urn:tunnel-operator:${await installationId(db)}`,
    allowNetworks: eventAllowNetworks,
    httpHosts: eventHttpHosts,
  });
}

/**
 * Starts the delivery. Processes on the same database share the work.
 * @param deadlineMs within which a stop must have released the leases, even if a receiver hangs
 */
export function startEventDelivery(
  api: Api & { courier: Courier },
  { logger, deadlineMs }: { logger: FastifyBaseLogger | undefined; deadlineMs: number },
): Pump {
  const { db, secrets, courier } = api;
  return startPump({
    db,
    courier,
    open: (id) => openDestination(db, secrets, id),
    pause: (id, reason) => pauseFailing(api, eventDestinations, id, reason),
    holder: `${hostname()} ${process.pid}`,
    onError: logger ? failureLog(logger) : () => undefined,
    observe: countDeliveries,
    // The rest is for the statements that record results and release leases.
    drainMs: Math.min(DRAIN_MS, deadlineMs / 2),
  });
}

async function installationId(db: Database): Promise<string> {
  const [row] = await db.query({ text: 'select id from installation', values: [] });
  return String(row?.id);
}
