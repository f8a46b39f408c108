/** The environment of the rows: an API with its callers, and the values that placeholders of every row may name. */

import { certificates } from '../../dev/conformance/certificates.ts';
import type { Role, Row } from '../../dev/conformance/row.ts';
import type { Values } from '../../dev/fixtures/placeholders.ts';
import { numbered } from '../../dev/fixtures/samples.ts';
import { ec, ecLine, ed25519Line, edwards, point, rsa, rsaLine } from '../../dev/fixtures/ssh-keys.ts';
import type { Courier } from '../../src/api/events/wire/courier.ts';
import type { RateLimits } from '../../src/api/guard/rate-limit.ts';
import { createSecrets } from '../../src/api/secrets/sealing.ts';
import { BASE, type Caller, startTestApi, type TestApi, type TestApiOptions } from '../api/harness.ts';
import { makeDeliveries } from './deliveries.ts';

export interface World {
  readonly api: TestApi;
  readonly callers: Readonly<Record<Role, Caller>>;
  /** The values for one row; `{unique}` differs between rows. */
  values(): Values;
}

/** Requests are counted but never refused. */
const LIMITS: Omit<RateLimits, 'knownKeys'> = {
  perKey: 1_000_000,
  perOwner: 1_000_000,
  perAddress: 1_000_000,
  windowMs: 3_600_000,
};

/** What receives test events: one at this URL is broken, all others take them. */
const RECEIVERS: Pick<Courier, 'deliver'> = {
  deliver: async ({ target: { webhook } }) =>
    webhook?.url.startsWith('https://broken.')
      ? { delivered: false, status: 503, body: 'busy', error: 'the receiver answered 503' }
      : { delivered: true, status: 204 },
};

/** The server for a row with settings of its own. No window of its rate limits ends while a test runs. */
export function worldWith(settings: NonNullable<Row['settings']>): Promise<World> {
  const { RATE_LIMIT, RATE_LIMIT_PER_OWNER, RATE_LIMIT_UNAUTHENTICATED, ENCRYPTION_KEY } = settings;
  return createWorld({
    rateLimits: {
      perKey: Number(RATE_LIMIT ?? LIMITS.perKey),
      perOwner: Number(RATE_LIMIT_PER_OWNER ?? LIMITS.perOwner),
      perAddress: Number(RATE_LIMIT_UNAUTHENTICATED ?? LIMITS.perAddress),
    },
    ...(ENCRYPTION_KEY === '' ? { secrets: createSecrets(undefined) } : {}),
  });
}

export async function createWorld(options: TestApiOptions = {}): Promise<World> {
  const api = await startTestApi({ courier: RECEIVERS, ...options, rateLimits: { ...LIMITS, ...options.rateLimits } });
  const [user, bot] = await Promise.all([api.newUser(), api.newBot()]);
  const constant = {
    base: BASE,
    admin: { id: api.admin.id },
    user: { id: user.id },
    bot: { id: bot.id },
    pem: await certificates(),
    ssh: SSH_KEYS,
    delivery: options.secrets ? {} : await makeDeliveries(api),
  };
  let count = 0;
  return {
    api,
    callers: { admin: api.admin, user, bot, anonymous: api.anonymous },
    values() {
      const n = ++count;
      return { ...constant, now: times(), unique: `u${n}`, ...numbered(n), ...another(n) };
    },
  };
}

/** Values for a second resource in the same row. */
function another(n: number): Values {
  const { n: n_other, hex: hex_other } = numbered(n + 30_000);
  return { n_other, hex_other };
}

/** Public keys of hosts, which rows name as `{ssh.ed25519}` and so on. */
const SSH_KEYS = {
  ed25519: ed25519Line(edwards()),
  rsa: rsaLine(rsa(2048)),
  ecdsa256: ecLine('nistp256', point(ec('prime256v1'))),
  ecdsa384: ecLine('nistp384', point(ec('secp384r1'))),
  ecdsa521: ecLine('nistp521', point(ec('secp521r1'))),
};

/** When a row begins, to the minute (`{now.minute}`), and the next minute in case the clock moves on. */
function times() {
  const minute = (years: number, minutes: number) => {
    const time = new Date();
    time.setUTCFullYear(time.getUTCFullYear() + years);
    return new Date(time.getTime() + minutes * 60_000).toISOString().slice(0, '2026-11-21T10:00'.length);
  };
  return {
    minute: minute(0, 0),
    next_minute: minute(0, 1),
    year_later: minute(1, 0),
    year_later_next_minute: minute(1, 1),
  };
}
