/** What the rows are played on: an API with its callers, and the values that placeholders of every row may name. */

import { certificates } from '../../dev/conformance/certificates.ts';
import type { Role, Row } from '../../dev/conformance/row.ts';
import type { Values } from '../../dev/fixtures/placeholders.ts';
import { numbered } from '../../dev/fixtures/samples.ts';
import type { AppOptions } from '../../src/api/app.ts';
import type { RateLimits } from '../../src/api/http/rate-limit.ts';
import { createSecrets } from '../../src/api/secrets/sealing.ts';
import { BASE, type Caller, startTestApi, type TestApi } from '../api/harness.ts';
import { SSH_KEYS } from './ssh-keys.ts';
import { times } from './times.ts';

export interface World {
  readonly api: TestApi;
  readonly callers: Readonly<Record<Role, Caller>>;
  /** For one row: `{unique}` is another one for each. */
  values(): Values;
}

/** Counted, but never refused. */
const LIMITS: Omit<RateLimits, 'knownKeys'> = {
  perKey: 1_000_000,
  perOwner: 1_000_000,
  perAddress: 1_000_000,
  windowMs: 3_600_000,
};

/** The server of a row with settings of its own. No window of its limits ends while a test runs. */
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

export async function createWorld(options: Partial<AppOptions> = {}): Promise<World> {
  const api = await startTestApi({ ...options, rateLimits: { ...LIMITS, ...options.rateLimits } });
  const [user, bot] = await Promise.all([api.newUser(), api.newBot()]);
  const constant = {
    base: BASE,
    admin: { id: api.admin.id },
    user: { id: user.id },
    bot: { id: bot.id },
    pem: await certificates(),
    ssh: SSH_KEYS,
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

/** For a second one in the same row. */
function another(n: number): Values {
  const { n: n_other, hex: hex_other } = numbered(n + 30_000);
  return { n_other, hex_other };
}
