/** What the rows are played on: an API with its callers, and the values that placeholders of every row may name. */

import { certificates } from '../../dev/conformance/certificates.ts';
import type { Role } from '../../dev/conformance/row.ts';
import { SSH_KEYS } from '../../dev/conformance/ssh-keys.ts';
import { times } from '../../dev/conformance/times.ts';
import type { Values } from '../../dev/fixtures/placeholders.ts';
import { numbered } from '../../dev/fixtures/samples.ts';
import { BASE, type Caller, startTestApi, type TestApi } from '../api/harness.ts';

export interface World {
  readonly api: TestApi;
  readonly callers: Readonly<Record<Role, Caller>>;
  /** For one row: `{unique}` is another one for each. */
  values(): Values;
}

export async function createWorld(options: { bodyLimit?: number } = {}): Promise<World> {
  const api = await startTestApi(options);
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
